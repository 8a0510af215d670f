// What the two operations of the engine have in common: how it speaks, counts, and reaches the provider.
import type { Deferred, Effect } from "effect"
import type { RunnerEvent } from "../../../src/services/Pulumi/Protocol.ts"
import { CliError } from "./Errors.ts"
import type { Ledger } from "./Ledger.ts"
import type { Connection, ProviderError } from "./provider/Objects.ts"
import type { Properties, ResourceState } from "./Snapshot.ts"
import { unwrapped } from "./sdk/Output.ts"

export interface Run {
  readonly project: string
  readonly stack: string
  readonly ledger: Ledger
  readonly emit: (event: RunnerEvent) => void
  /** Has the provider's process do it; fails when that process is gone. */
  readonly remote: <A>(call: Effect.Effect<A, ProviderError>) => Effect.Effect<A, ProviderError>
  readonly connect: (kubeconfig: string, cancelled: Deferred.Deferred<void>) => Connection
  /** Completed by whoever stops the engine. */
  readonly cancelled: Deferred.Deferred<void>
  /** Of a preview: nothing is done, and this hears of what would be. */
  readonly dry?: (operation: string, resource: Told) => void
}

export const providerType = "pulumi:providers:kubernetes"
export const stackType = "pulumi:pulumi:Stack"

export const urnOf = (run: Run, type: string, name: string): string =>
  `urn:pulumi:${run.stack}::${run.project}::${type}::${name}`

export const stackUrn = (run: Run): string => urnOf(run, stackType, `${run.project}-${run.stack}`)

export const referenceOf = ({ urn, id }: ResourceState): string => `${urn}::${id}`

/** By the provider that a resource names. */
export const connectionOf = (run: Run, provider: ResourceState | undefined): Connection => {
  const kubeconfig = unwrapped(provider?.inputs?.kubeconfig)
  return run.connect(typeof kubeconfig === "string" ? kubeconfig : "", run.cancelled)
}

export type Counter = ReturnType<typeof makeCounter>

export const makeCounter = () => {
  const counts: Record<string, number> = {}
  return {
    counts,
    add: (operation: string) => {
      counts[operation] = (counts[operation] ?? 0) + 1
    },
  }
}

const releaseOf = ({ type, inputs, parent, provider }: Told) =>
  type === "kubernetes:helm.sh/v3:Release"
    ? {
        release: {
          name: plainText(inputs, "name"),
          namespace: plainText(inputs, "namespace"),
          ...(parent === undefined ? {} : { parent }),
          ...(provider === undefined ? {} : { provider }),
        },
      }
    : {}

export type Told = Pick<ResourceState, "urn" | "custom" | "type" | "inputs" | "parent" | "provider">

/** Tells of one step, as the engine's events do: components are never awaited. */
export const tell = (
  run: Run,
  resource: Told,
  state: "started" | "done" | "failed",
  operation: string,
): void => {
  if (state === "started") run.dry?.(operation, resource)
  run.emit(
    resource.custom
      ? {
          type: "resource",
          state,
          urn: resource.urn,
          operation,
          ...(state === "failed" && operation === "create" ? releaseOf(resource) : {}),
        }
      : { type: "engine", event: "component" },
  )
}

export const tellError = (run: Run, message: string): void =>
  run.emit({ type: "diagnostic", severity: "error", message })

export const isProvider = ({ type }: { readonly type: string }): boolean => type === providerType

/** What a failed operation of the CLI says last. */
export const failedUpdate = new CliError({ message: "error: update failed" })

export const plainText = (inputs: Properties | undefined, key: string): string => {
  const value = unwrapped(inputs?.[key])
  return typeof value === "string" ? value : ""
}

// The provider's two trades: objects, and Helm releases.
import { Effect, type Option } from "effect"
import type { Properties, ResourceState } from "../Snapshot.ts"
import {
  type Connection,
  createObject,
  deleteObject,
  diffObject,
  type Made,
  ProviderError,
  reach,
  readObject,
  updateObject,
} from "./Objects.ts"
import { createRelease, deleteRelease, diffRelease, readRelease, updateRelease } from "./Releases.ts"

const isRelease = (type: string) => type === "kubernetes:helm.sh/v3:Release"

export const create = (
  connection: Connection,
  { type, urn }: Pick<ResourceState, "type" | "urn">,
  inputs: Properties,
): Effect.Effect<Made, ProviderError> =>
  isRelease(type) ? createRelease(connection, inputs) : createObject(connection, urn, inputs)

export const update = (
  connection: Connection,
  old: ResourceState,
  inputs: Properties,
): Effect.Effect<Made, ProviderError> =>
  isRelease(old.type)
    ? updateRelease(connection, inputs)
    : updateObject(connection, old.urn, inputs, old.outputs ?? {})

export const destroy = (connection: Connection, old: ResourceState): Effect.Effect<void, ProviderError> =>
  isRelease(old.type)
    ? deleteRelease(connection, old.inputs ?? {})
    : deleteObject(connection, old.inputs ?? {})

export interface Seen {
  readonly made: Made
  /** Why it is not as it should be; the next `up` tries again. */
  readonly lacks: Option.Option<string>
}

export const read = (
  connection: Connection,
  old: ResourceState,
): Effect.Effect<Option.Option<Seen>, ProviderError> =>
  Effect.mapError(
    reach(connection),
    () =>
      new ProviderError({
        message:
          'failed to read resource state due to unreachable cluster. If the cluster was deleted, you can remove this resource from Pulumi state by rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"',
      }),
  ).pipe(
    Effect.andThen(
      isRelease(old.type)
        ? readRelease(connection, old)
        : readObject(connection, old.inputs ?? {}, old.outputs ?? {}),
    ),
  )

/** `provider`: what it is configured with. */
export const diff = (
  old: ResourceState,
  inputs: Properties,
  provider: Properties,
): "same" | "update" | "replace" =>
  isRelease(old.type)
    ? diffRelease(old.outputs ?? {}, inputs)
    : diffObject(old.inputs ?? {}, inputs, provider.enableSecretMutable === "true")

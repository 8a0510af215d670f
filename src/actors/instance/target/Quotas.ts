// Keeps the quota of each host namespace as it should be: applied where it is not known to be there, and again after somebody has
// changed it. A quota that an operator with another `--instance-quota` has left is made this one's, or goes.
import { isDeepStrictEqual } from "node:util"
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { LimitRange, ResourceQuota } from "../../../services/Kubernetes/Kinds.ts"
import {
  type KubeManifest,
  Kubernetes,
  type KubernetesClient,
  type ResourceKind,
} from "../../../services/Kubernetes/Kubernetes.ts"
import type { StoreChange } from "../../../services/Kubernetes/Store.ts"
import { applyWhole } from "./applyWhole.ts"
import { DEFAULTS_NAME, QUOTA_NAME } from "./quotaManifests.ts"
import { makeRefusals, refusedFor } from "./refusals.ts"

export const quotaKinds: ReadonlyArray<readonly [ResourceKind, string]> = [
  [LimitRange, DEFAULTS_NAME],
  [ResourceQuota, QUOTA_NAME],
]

interface Known {
  readonly manifests: ReadonlyArray<KubeManifest>
  /** Milliseconds since the epoch. */
  readonly until: number
}

const write = Effect.fnUntraced(function* (
  kubernetes: KubernetesClient,
  namespace: string,
  manifests: ReadonlyArray<KubeManifest>,
) {
  const manifestOf = ({ kind }: ResourceKind) => manifests.find((one) => one.kind === kind)
  // First what goes: a quota that is in the way goes also where the defaults are refused.
  for (const [kind, name] of quotaKinds) {
    if (manifestOf(kind) !== undefined) continue
    const found = yield* kubernetes.list(kind, { namespace, fieldSelector: `metadata.name=${name}` })
    for (const { metadata } of found)
      yield* kubernetes.delete(kind, { namespace, name }, { uid: metadata.uid })
  }
  for (const [kind] of quotaKinds) {
    const manifest = manifestOf(kind)
    if (manifest !== undefined) yield* applyWhole(kind, manifest)
  }
})

export class Quotas extends Context.Service<
  Quotas,
  {
    /** Whether this is what the namespace is known to have. Nothing is what one has that nobody has told of. */
    readonly areApplied: (namespace: string, manifests: ReadonlyArray<KubeManifest>) => Effect.Effect<boolean>
    /** A refusal is a warning: no instance fails for it. */
    readonly apply: (namespace: string, manifests: ReadonlyArray<KubeManifest>) => Effect.Effect<void>
    /** Whether the namespace has something else now than was applied. */
    readonly heard: (change: StoreChange) => Effect.Effect<boolean>
  }
>()("platform-operator/Quotas") {
  static readonly layer = Layer.effect(
    Quotas,
    Effect.gen(function* () {
      const kubernetes = yield* Kubernetes
      const known = new Map<string, Known>()
      const changed = new Set<string>()
      const refusals = makeRefusals("the quota of an instance was not written")
      return {
        areApplied: (namespace, manifests) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            if (changed.has(namespace)) return false
            const last = known.get(namespace)
            if (last === undefined) return manifests.length === 0
            return now < last.until && isDeepStrictEqual(last.manifests, manifests)
          }),
        apply: Effect.fn("Quotas.apply")(function* (namespace, manifests) {
          // Before anything is written: a change in the middle of it is one that it has not seen.
          changed.delete(namespace)
          const done = yield* Effect.provideService(
            refusals.attempt(namespace, write(kubernetes, namespace, manifests)),
            Kubernetes,
            kubernetes,
          )
          const now = yield* Clock.currentTimeMillis
          const until = done ? Number.POSITIVE_INFINITY : now + Duration.toMillis(refusedFor)
          known.set(namespace, { manifests, until })
        }),
        heard: (change) =>
          Effect.sync(() => {
            const { kind, metadata, spec } = change.object
            const { namespace = "", name } = metadata
            if (!quotaKinds.some(([, own]) => own === name)) return false
            const manifest = known.get(namespace)?.manifests.find((one) => one.kind === kind)
            const isSo =
              change._tag === "Deleted" ? manifest === undefined : isDeepStrictEqual(spec, manifest?.spec)
            if (!isSo) changed.add(namespace)
            return !isSo
          }),
      }
    }),
  )
}

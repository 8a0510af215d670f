// The instance as the server itself has it, when an actor begins with one life of it: after a start over the cache of a
// server that is behind, its status would be written anew from what it was some time ago. What an actor writes from then
// on it knows by itself.
import { Effect, Option } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, type KubeObject, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import { Views } from "./Views.ts"

/** What the cache has, or, when its UID is not yet `known`, what the server has: `None` when it is gone there. */
export const firstView = Effect.fnUntraced(function* (
  key: InstanceKey,
  cached: KubeObject,
  known: string | undefined,
): Effect.fn.Return<Option.Option<KubeObject>, KubeError, Kubernetes | Views> {
  const { uid, resourceVersion } = cached.metadata
  if (known === uid) return Option.some(cached)
  const live = yield* (yield* Kubernetes).get(Instances, key)
  const shown = Option.exists(
    live,
    ({ metadata }) => metadata.uid === uid && metadata.resourceVersion === resourceVersion,
  )
  if (!shown) yield* (yield* Views).distrust(Instances, key)
  return live
})

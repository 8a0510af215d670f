// Helm writes past the operator's client. What it has left is read live once and waited for in the caches: who decides
// from a record that still says `pending-install` removes a release that has just come up.
import { Effect } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { hostNamespace } from "../../../schema/Names.ts"
import { Secret } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes, type ResourceKind } from "../../../services/Kubernetes/Kubernetes.ts"
import { Views } from "../Views.ts"
import { CONTROL_PLANE_SELECTOR, RELEASE_SELECTOR } from "./observeTarget.ts"
import { RELEASE_KINDS, releaseNamespace } from "./releaseObjects.ts"

/** Waits, for a bounded time, until the caches show the release's records and objects as they are now. */
export const awaitRelease = Effect.fn("Target.awaitRelease")(function* (
  key: InstanceKey,
): Effect.fn.Return<void, KubeError, Kubernetes | Views> {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const namespace = hostNamespace(key)
  const shown = Effect.fnUntraced(function* (kind: ResourceKind, labelSelector: string) {
    const where = kind.namespaced ? { namespace } : {}
    const objects = yield* kubernetes.list(kind, { ...where, labelSelector, metadataOnly: true })
    const own = objects.filter((object) => kind.namespaced || releaseNamespace(object) === namespace)
    yield* Effect.forEach(own, (object) => views.awaitWrite(kind, object), {
      concurrency: "unbounded",
      discard: true,
    })
  })
  yield* Effect.all(
    [shown(Secret, RELEASE_SELECTOR), ...RELEASE_KINDS.map((kind) => shown(kind, CONTROL_PLANE_SELECTOR))],
    { concurrency: "unbounded", discard: true },
  )
})

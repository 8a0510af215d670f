// Helm writes past the operator's client. What it has left is read live once and waited for in the caches: who decides
// from a record that still says `pending-install` removes a release that has just come up.
import { Effect } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { hostNamespace } from "../../../schema/Names.ts"
import { Secret, Service, StatefulSet } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { Views } from "../Views.ts"
import { CONTROL_PLANE_SELECTOR, RELEASE_SELECTOR } from "./observeTarget.ts"

/** Waits, for a bounded time, until the caches show the release's records and objects as they are now. */
export const awaitRelease = Effect.fn("Target.awaitRelease")(function* (
  key: InstanceKey,
): Effect.fn.Return<void, KubeError, Kubernetes | Views> {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const namespace = hostNamespace(key)
  const shown = Effect.fnUntraced(function* (kind: typeof Secret, labelSelector: string) {
    const objects = yield* kubernetes.list(kind, { namespace, labelSelector, metadataOnly: true })
    yield* Effect.forEach(objects, (object) => views.awaitWrite(kind, object), {
      concurrency: "unbounded",
      discard: true,
    })
  })
  yield* Effect.all(
    [
      shown(Secret, RELEASE_SELECTOR),
      shown(Service, CONTROL_PLANE_SELECTOR),
      shown(StatefulSet, CONTROL_PLANE_SELECTOR),
    ],
    { concurrency: "unbounded", discard: true },
  )
})

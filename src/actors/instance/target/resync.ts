// The two steps of a resync: write down what is about to be done, then restart the control plane. A crash between
// them, or after them, goes on from what was written.
import { DateTime, Effect, Option } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { hostNamespace, kubeconfigSecretName } from "../../../schema/Names.ts"
import { formatTime } from "../../../schema/Time.ts"
import { Pod, Secret, Service } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import {
  type InstanceRecord,
  StateStore,
  type StateStoreError,
} from "../../../services/StateStore/StateStore.ts"
import { Views } from "../Views.ts"
import { ownerOf, publishedSource, SOURCE_SECRET } from "./Kubeconfig.ts"
import { CONTROL_PLANE_POD, RELEASE_NAME } from "./observeTarget.ts"

/**
 * Looks at Service, Secret and pod once more, live, because a restart costs the tenants their API for a while and a
 * cache may be behind. `None` when there is nothing to resync after all, else the record as it was written.
 */
export const beginResync = Effect.fn("Target.beginResync")(function* (
  key: InstanceKey,
  record: InstanceRecord,
): Effect.fn.Return<
  Option.Option<InstanceRecord>,
  KubeError | StateStoreError,
  Kubernetes | StateStore | Views
> {
  const kubernetes = yield* Kubernetes
  const store = yield* StateStore
  const views = yield* Views
  const namespace = hostNamespace(key)
  const service = yield* kubernetes.get(Service, { namespace, name: RELEASE_NAME })
  const secret = yield* kubernetes.get(Secret, { namespace, name: SOURCE_SECRET }, { metadataOnly: true })
  const pod = yield* kubernetes.get(Pod, { namespace, name: CONTROL_PLANE_POD })
  const own = { namespace: key.namespace, name: kubeconfigSecretName(key) }
  const published = yield* kubernetes.get(Secret, own, { metadataOnly: true })
  const serviceUID = Option.getOrUndefined(service)?.metadata.uid
  const owned = serviceUID !== undefined && Option.contains(Option.flatMap(secret, ownerOf), serviceUID)
  const known = record.serviceUID === undefined || record.serviceUID === serviceUID
  if (serviceUID === undefined || (owned && known)) {
    // The caches have shown something else: they are behind.
    yield* views.distrust(Service, { namespace, name: RELEASE_NAME })
    yield* views.distrust(Secret, { namespace, name: SOURCE_SECRET })
    return Option.none()
  }
  const begun: InstanceRecord = {
    ...record,
    resync: {
      serviceUID,
      startedAt: formatTime(yield* DateTime.now),
      ...Option.match(pod, { onNone: () => ({}), onSome: ({ metadata }) => ({ podUID: metadata.uid }) }),
      ...Option.match(Option.flatMap(published, publishedSource), {
        onNone: () => ({}),
        onSome: (source) => ({ source }),
      }),
    },
  }
  yield* store.writeRecord(key, begun)
  return Option.some(begun)
})

/** Only this very pod: one that is another already has the restart behind it. */
export const restartControlPlane = Effect.fn("Target.restartControlPlane")(function* (
  key: InstanceKey,
  podUID: string,
): Effect.fn.Return<void, KubeError, Kubernetes | Views> {
  const kubernetes = yield* Kubernetes
  const pod = { namespace: hostNamespace(key), name: CONTROL_PLANE_POD }
  yield* kubernetes.delete(Pod, pod, { uid: podUID }).pipe(
    Effect.catchIf(
      (error) => error.reason === "Conflict",
      () => Effect.succeed(false),
    ),
  )
  // A cache that still shows it running would have it deleted again and again, as if that took no effect.
  yield* (yield* Views).distrust(Pod, pod)
})

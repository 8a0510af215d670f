// The caches behind Views: one list-watch a kind and selector, over all namespaces.
import { Effect, Layer, Option, Stream } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import {
  hostNamespace,
  instanceHash,
  kubeconfigSecretName,
  LABEL_HOST_NAMESPACE,
  LABEL_INSTANCE_HASH,
} from "../../schema/Names.ts"
import * as Kinds from "../../services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../services/Kubernetes/Kubernetes.ts"
import { makeStore, type Store, type StoreChange } from "../../services/Kubernetes/Store.ts"
import { SOURCE_SECRET } from "./target/Kubeconfig.ts"
import { CONTROL_PLANE_SELECTOR, RELEASE_SELECTOR } from "./target/observeTarget.ts"
import { MANAGED_BY_SELECTOR } from "./target/ownership.ts"
import { POLICY_NAME, Protection } from "./target/Protection.ts"
import { Views, type Wakeup } from "./Views.ts"

const makeStores = Effect.gen(function* () {
  const metadataOnly = true
  return yield* Effect.all({
    instances: makeStore(Kinds.PlatformInstance),
    namespaces: makeStore(Kinds.Namespace, { labelSelector: `${LABEL_HOST_NAMESPACE}=true` }),
    networkPolicies: makeStore(Kinds.NetworkPolicy, { labelSelector: MANAGED_BY_SELECTOR }),
    releaseSecrets: makeStore(Kinds.Secret, { labelSelector: RELEASE_SELECTOR, metadataOnly }),
    sourceSecrets: makeStore(Kinds.Secret, { labelSelector: "app=vcluster", metadataOnly }),
    kubeconfigSecrets: makeStore(Kinds.Secret, { labelSelector: MANAGED_BY_SELECTOR, metadataOnly }),
    statefulSets: makeStore(Kinds.StatefulSet, { labelSelector: CONTROL_PLANE_SELECTOR }),
    services: makeStore(Kinds.Service, { labelSelector: CONTROL_PLANE_SELECTOR }),
    pods: makeStore(Kinds.Pod, { labelSelector: CONTROL_PLANE_SELECTOR }),
    cleanupJobs: makeStore(Kinds.Job, { labelSelector: LABEL_INSTANCE_HASH, metadataOnly }),
    cleanupPods: makeStore(Kinds.Pod, { labelSelector: LABEL_INSTANCE_HASH, metadataOnly }),
  })
})
type Stores = Effect.Success<typeof makeStores>

const keyOf = ({ metadata }: KubeObject): InstanceKey => ({
  namespace: metadata.namespace ?? "",
  name: metadata.name,
})

/** Which instance an object belongs to, from what is known of the instances there are. */
const makeOwners = () => {
  const byHostNamespace = new Map<string, InstanceKey>()
  const byHash = new Map<string, InstanceKey>()
  const bySecret = new Map<string, InstanceKey>()
  const follow = (change: StoreChange): InstanceKey => {
    const key = keyOf(change.object)
    const secret = `${key.namespace}/${kubeconfigSecretName(key)}`
    if (change._tag === "Deleted") {
      byHostNamespace.delete(hostNamespace(key))
      byHash.delete(instanceHash(key))
      bySecret.delete(secret)
    } else {
      byHostNamespace.set(hostNamespace(key), key)
      byHash.set(instanceHash(key), key)
      bySecret.set(secret, key)
    }
    return key
  }
  return {
    follow,
    ofNamespace: (object: KubeObject) => byHostNamespace.get(object.metadata.name),
    inNamespace: (object: KubeObject) => byHostNamespace.get(object.metadata.namespace ?? ""),
    ofSecret: (object: KubeObject) => bySecret.get(`${object.metadata.namespace}/${object.metadata.name}`),
    ofCleanup: (object: KubeObject) => byHash.get(object.metadata.labels?.[LABEL_INSTANCE_HASH] ?? ""),
  }
}

const wakeups = (stores: Stores): Stream.Stream<Wakeup> => {
  const owners = makeOwners()
  const instances = stores.instances.changes.pipe(
    Stream.map((change): Wakeup => ({ key: owners.follow(change), reason: "instance" })),
  )
  const dependents: ReadonlyArray<readonly [Store, string, (object: KubeObject) => InstanceKey | undefined]> =
    [
      [stores.namespaces, "namespace", owners.ofNamespace],
      [stores.networkPolicies, "network policy", owners.inNamespace],
      [stores.releaseSecrets, "release", owners.inNamespace],
      [stores.sourceSecrets, "kubeconfig", owners.inNamespace],
      [stores.kubeconfigSecrets, "published kubeconfig", owners.ofSecret],
      [stores.statefulSets, "statefulset", owners.inNamespace],
      [stores.services, "service", owners.inNamespace],
      [stores.pods, "pod", owners.inNamespace],
      [stores.cleanupJobs, "cleanup job", owners.ofCleanup],
      [stores.cleanupPods, "cleanup pod", owners.ofCleanup],
    ]
  const others = dependents.map(([store, reason, ownerOf]) =>
    store.changes.pipe(
      Stream.flatMap((change) => {
        const key = ownerOf(change.object)
        return key === undefined ? Stream.empty : Stream.succeed<Wakeup>({ key, reason })
      }),
    ),
  )
  return Stream.mergeAll([instances, ...others], { concurrency: "unbounded" })
}

/** The store that shows what was written, by the operator or by Helm, if one does. */
const storeOf = (stores: Stores, kind: ResourceKind, { metadata }: KubeObject): Store | undefined => {
  switch (kind) {
    case Kinds.PlatformInstance:
      return stores.instances
    case Kinds.Namespace:
      return stores.namespaces
    case Kinds.NetworkPolicy:
      return stores.networkPolicies
    case Kinds.Secret:
      return metadata.labels?.owner === "helm" ? stores.releaseSecrets : stores.kubeconfigSecrets
    case Kinds.Service:
      return stores.services
    case Kinds.StatefulSet:
      return stores.statefulSets
    default:
      return undefined
  }
}

/** A policy or binding that was removed or edited is applied again by the next pass of any instance: now. */
const protectionWakeups = Effect.fnUntraced(function* (stores: Stores) {
  const protection = yield* Protection
  const kinds = [Kinds.ValidatingAdmissionPolicy, Kinds.ValidatingAdmissionPolicyBinding]
  const followed = yield* Effect.forEach(kinds, (kind) =>
    makeStore(kind, { fieldSelector: `metadata.name=${POLICY_NAME}` }),
  )
  const changed = (change: StoreChange) =>
    change._tag === "Deleted" ||
    Option.exists(change.previous, (old) => old.metadata.generation !== change.object.metadata.generation)
  const everyInstance = Effect.map(stores.instances.list, (instances) =>
    instances.map((object): Wakeup => ({ key: keyOf(object), reason: "protection" })),
  )
  return followed.map((store) =>
    store.changes.pipe(
      Stream.filter(changed),
      Stream.mapEffect(() => Effect.andThen(protection.invalidate, everyInstance)),
      Stream.flatMap(Stream.fromIterable),
    ),
  )
})

export const ViewsLive = {
  layer: Layer.effect(
    Views,
    Effect.gen(function* () {
      const stores = yield* makeStores
      const protection = yield* protectionWakeups(stores)
      return Views.of({
        instance: (key) => stores.instances.get(key),
        read: (key) => {
          const namespace = hostNamespace(key)
          const own = { namespace: key.namespace, name: kubeconfigSecretName(key) }
          return Effect.all({
            hostNamespace: stores.namespaces.get({ name: namespace }),
            networkPolicies: stores.networkPolicies.byNamespace(namespace),
            releaseSecrets: stores.releaseSecrets.byNamespace(namespace),
            statefulSet: stores.statefulSets.get({ namespace, name: "vcluster" }),
            services: stores.services.byNamespace(namespace),
            controlPlanePods: stores.pods.byNamespace(namespace),
            sourceSecret: stores.sourceSecrets.get({ namespace, name: SOURCE_SECRET }),
            kubeconfigSecret: stores.kubeconfigSecrets.get(own),
          })
        },
        awaitWrite: (kind, written) => {
          const store = storeOf(stores, kind, written)
          if (store === undefined) return Effect.void
          return Effect.andThen(store.wrote(written), Effect.asVoid(store.settled(written.metadata)))
        },
        synced: Effect.forEach(Object.values(stores), (store) => store.synced, { discard: true }),
        wakeups: Stream.mergeAll([wakeups(stores), ...protection], { concurrency: "unbounded" }),
      })
    }),
  ),
}

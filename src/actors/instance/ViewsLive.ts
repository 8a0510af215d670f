// The caches behind Views: one list-watch a kind and selector, over all namespaces.
import { DateTime, Effect, Layer, Option, Stream } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import {
  hostNamespace,
  instanceHash,
  kubeconfigSecretName,
  LABEL_HOST_NAMESPACE,
  LABEL_INSTANCE_HASH,
} from "../../schema/Names.ts"
import { parseTime } from "../../schema/Time.ts"
import { changesWhereAllowed, listWhereAllowed } from "../../services/Kubernetes/changesWhereAllowed.ts"
import * as Kinds from "../../services/Kubernetes/Kinds.ts"
import {
  type KubeManifest,
  type KubeObject,
  Kubernetes,
  type ResourceKind,
} from "../../services/Kubernetes/Kubernetes.ts"
import { makeStore, type StoreChange } from "../../services/Kubernetes/Store.ts"
import { type FollowedStore, makeFollowedStore, nothingFollowed } from "./FollowedStore.ts"
import { Settings } from "./Settings.ts"
import { concernsPriority } from "./target/controlPlanePriority.ts"
import { SOURCE_SECRET } from "./target/Kubeconfig.ts"
import { SYNCED_LABEL } from "./target/NetworkPolicies.ts"
import { CONTROL_PLANE_SELECTOR, RELEASE_SELECTOR } from "./target/observeTarget.ts"
import { MANAGED_BY_SELECTOR } from "./target/ownership.ts"
import { Protection } from "./target/Protection.ts"
import { Quotas, quotaKinds } from "./target/Quotas.ts"
import { releaseNamespace } from "./target/releaseObjects.ts"
import { Views, type Wakeup } from "./Views.ts"

const makeStores = Effect.gen(function* () {
  const metadataOnly = true
  const { isolateInstanceNetwork } = yield* Settings
  return yield* Effect.all({
    instances: makeFollowedStore(Kinds.PlatformInstance),
    namespaces: makeFollowedStore(Kinds.Namespace, { labelSelector: `${LABEL_HOST_NAMESPACE}=true` }),
    networkPolicies: makeFollowedStore(Kinds.NetworkPolicy, { labelSelector: MANAGED_BY_SELECTOR }),
    // The policies of the operator that follow them are there only where they are asked for.
    innerNetworkPolicies: isolateInstanceNetwork
      ? makeFollowedStore(Kinds.NetworkPolicy, { labelSelector: SYNCED_LABEL })
      : Effect.succeed(nothingFollowed),
    releaseSecrets: makeFollowedStore(Kinds.Secret, { labelSelector: RELEASE_SELECTOR, metadataOnly }),
    sourceSecrets: makeFollowedStore(Kinds.Secret, { labelSelector: "app=vcluster", metadataOnly }),
    kubeconfigSecrets: makeFollowedStore(Kinds.Secret, { labelSelector: MANAGED_BY_SELECTOR, metadataOnly }),
    statefulSets: makeFollowedStore(Kinds.StatefulSet, { labelSelector: CONTROL_PLANE_SELECTOR }),
    services: makeFollowedStore(Kinds.Service, { labelSelector: CONTROL_PLANE_SELECTOR }),
    serviceAccounts: makeFollowedStore(Kinds.ServiceAccount, { labelSelector: CONTROL_PLANE_SELECTOR }),
    roles: makeFollowedStore(Kinds.Role, { labelSelector: CONTROL_PLANE_SELECTOR }),
    roleBindings: makeFollowedStore(Kinds.RoleBinding, { labelSelector: CONTROL_PLANE_SELECTOR }),
    clusterRoles: makeFollowedStore(Kinds.ClusterRole, { labelSelector: CONTROL_PLANE_SELECTOR }),
    clusterRoleBindings: makeFollowedStore(Kinds.ClusterRoleBinding, {
      labelSelector: CONTROL_PLANE_SELECTOR,
    }),
    pods: makeFollowedStore(Kinds.Pod, { labelSelector: CONTROL_PLANE_SELECTOR }),
    cleanupJobs: makeFollowedStore(Kinds.Job, { labelSelector: LABEL_INSTANCE_HASH, metadataOnly }),
    cleanupPods: makeFollowedStore(Kinds.Pod, { labelSelector: LABEL_INSTANCE_HASH, metadataOnly }),
  })
})
type Stores = Effect.Success<typeof makeStores>

/** Every object in this host namespace, or made from it, that carries the labels of a release. */
const releaseObjects = (stores: Stores, namespace: string) =>
  Effect.map(
    Effect.all([
      stores.sourceSecrets.byNamespace(namespace),
      stores.serviceAccounts.byNamespace(namespace),
      stores.services.byNamespace(namespace),
      stores.statefulSets.byNamespace(namespace),
      stores.roles.byNamespace(namespace),
      stores.roleBindings.byNamespace(namespace),
      Effect.map(Effect.all([stores.clusterRoles.all, stores.clusterRoleBindings.all]), (found) =>
        found.flat().filter((object) => releaseNamespace(object) === namespace),
      ),
    ]),
    (found) => found.flat(),
  )

const isMadeSince = ({ metadata }: KubeObject, since: DateTime.DateTime): boolean =>
  Option.exists(
    Option.flatMap(Option.fromUndefinedOr(metadata.creationTimestamp), parseTime),
    DateTime.isGreaterThanOrEqualTo(since),
  )

/** What they have of this instance's target is read live until they are seen to have caught up. */
const doubted = (key: InstanceKey, stores: ReadonlyArray<FollowedStore>) => {
  const name = hostNamespace(key)
  return Effect.forEach(stores, (store) => store.distrust({ namespace: name, name }), { discard: true })
}

/** The release's records, and what it consists of. */
const writtenByHelm = (stores: Stores): ReadonlyArray<FollowedStore> => [
  stores.releaseSecrets,
  stores.sourceSecrets,
  stores.statefulSets,
  stores.services,
  stores.serviceAccounts,
  stores.roles,
  stores.roleBindings,
  stores.clusterRoles,
  stores.clusterRoleBindings,
]

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
    ofRelease: (object: KubeObject) => byHostNamespace.get(releaseNamespace(object) ?? ""),
    ofSecret: (object: KubeObject) => bySecret.get(`${object.metadata.namespace}/${object.metadata.name}`),
    ofCleanup: (object: KubeObject) => byHash.get(object.metadata.labels?.[LABEL_INSTANCE_HASH] ?? ""),
  }
}

const wakeups = (stores: Stores): Stream.Stream<Wakeup> => {
  const owners = makeOwners()
  const instances = stores.instances.changes.pipe(
    Stream.map((change): Wakeup => ({ key: owners.follow(change), reason: "instance" })),
  )
  const dependents: ReadonlyArray<
    readonly [FollowedStore, string, (object: KubeObject) => InstanceKey | undefined]
  > = [
    [stores.namespaces, "namespace", owners.ofNamespace],
    [stores.networkPolicies, "network policy", owners.inNamespace],
    [stores.innerNetworkPolicies, "network policy", owners.inNamespace],
    [stores.releaseSecrets, "release", owners.inNamespace],
    [stores.sourceSecrets, "kubeconfig", owners.inNamespace],
    [stores.kubeconfigSecrets, "published kubeconfig", owners.ofSecret],
    [stores.statefulSets, "statefulset", owners.inNamespace],
    [stores.services, "service", owners.inNamespace],
    [stores.serviceAccounts, "release object", owners.inNamespace],
    [stores.roles, "release object", owners.inNamespace],
    [stores.roleBindings, "release object", owners.inNamespace],
    [stores.clusterRoles, "release object", owners.ofRelease],
    [stores.clusterRoleBindings, "release object", owners.ofRelease],
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
const storeOf = (
  stores: Stores,
  kind: ResourceKind,
  { metadata }: Pick<KubeManifest, "metadata">,
): FollowedStore | undefined => {
  switch (kind) {
    case Kinds.PlatformInstance:
      return stores.instances
    case Kinds.Namespace:
      return stores.namespaces
    case Kinds.NetworkPolicy:
      return stores.networkPolicies
    case Kinds.Secret:
      if (metadata.labels?.owner === "helm") return stores.releaseSecrets
      return metadata.labels?.app === "vcluster" ? stores.sourceSecrets : stores.kubeconfigSecrets
    case Kinds.Pod:
      return metadata.labels?.app === "vcluster" ? stores.pods : undefined
    case Kinds.ServiceAccount:
      return stores.serviceAccounts
    case Kinds.Role:
      return stores.roles
    case Kinds.RoleBinding:
      return stores.roleBindings
    case Kinds.ClusterRole:
      return stores.clusterRoles
    case Kinds.ClusterRoleBinding:
      return stores.clusterRoleBindings
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
    makeStore(kind, { labelSelector: MANAGED_BY_SELECTOR }),
  )
  const changed = (change: StoreChange) =>
    change._tag === "Deleted" ||
    Option.exists(change.previous, (old) => old.metadata.generation !== change.object.metadata.generation)
  const { controlPlanePriority } = yield* Settings
  // All of them: the cluster's default class is anybody's.
  const classes = controlPlanePriority
    ? [changesWhereAllowed(Kinds.PriorityClass, {}).pipe(Stream.filter(concernsPriority))]
    : []
  const everyInstance = Effect.map(stores.instances.list, (instances) =>
    instances.map((object): Wakeup => ({ key: keyOf(object), reason: "protection" })),
  )
  const again = Effect.andThen(protection.invalidate, everyInstance)
  const changes = [...followed.map((store) => Stream.filter(store.changes, changed)), ...classes].map(
    Stream.mapEffect(() => again),
  )
  // A server that had no policies has been upgraded: from now on they can be listed.
  const available = Effect.forEach(followed, ({ synced }) => synced).pipe(
    Effect.andThen(protection.state),
    Effect.flatMap((state) =>
      Option.exists(state, ({ installed }) => !installed) ? again : Effect.succeed([]),
    ),
  )
  return [...changes, Stream.fromEffect(available)].map(Stream.flatMap(Stream.fromIterable))
})

/**
 * A quota that somebody has edited or removed is put back. Where there is to be none, what an operator before has left goes: that
 * is looked for once.
 */
const quotaWakeups = Effect.fnUntraced(function* (stores: Stores) {
  const quotas = yield* Quotas
  const { instanceQuota } = yield* Settings
  const options = { labelSelector: MANAGED_BY_SELECTOR }
  return quotaKinds.map(([kind]) => {
    const changes =
      instanceQuota.size > 0
        ? changesWhereAllowed(kind, options)
        : Stream.fromEffect(listWhereAllowed(kind, options)).pipe(
            Stream.flatMap(Stream.fromIterable),
            Stream.map((object): StoreChange => ({ _tag: "Upserted", object, previous: Option.none() })),
          )
    return changes.pipe(
      Stream.filterEffect(quotas.heard),
      Stream.mapEffect(({ object }) =>
        Effect.map(stores.instances.list, (instances) =>
          instances
            .map(keyOf)
            .filter((key) => hostNamespace(key) === object.metadata.namespace)
            .map((key): Wakeup => ({ key, reason: "quota" })),
        ),
      ),
      Stream.flatMap(Stream.fromIterable),
    )
  })
})

export const ViewsLive = {
  layer: Layer.effect(
    Views,
    Effect.gen(function* () {
      const stores = yield* makeStores
      const protection = yield* protectionWakeups(stores)
      const quotas = yield* quotaWakeups(stores)
      const kubernetes = yield* Kubernetes
      return Views.of({
        // Without an answer the cache is the best there is.
        instance: (key) => Effect.catch(stores.instances.get(key), () => stores.instances.cached(key)),
        instances: stores.instances.list,
        read: (key) => {
          const namespace = hostNamespace(key)
          const own = { namespace: key.namespace, name: kubeconfigSecretName(key) }
          return Effect.all({
            hostNamespace: stores.namespaces.get({ name: namespace }),
            networkPolicies: stores.networkPolicies.byNamespace(namespace),
            innerNetworkPolicies: stores.innerNetworkPolicies.byNamespace(namespace),
            releaseSecrets: stores.releaseSecrets.byNamespace(namespace),
            statefulSet: stores.statefulSets.get({ namespace, name: "vcluster" }),
            services: stores.services.byNamespace(namespace),
            releaseObjects: releaseObjects(stores, namespace),
            controlPlanePods: stores.pods.byNamespace(namespace),
            sourceSecret: stores.sourceSecrets.get({ namespace, name: SOURCE_SECRET }),
            kubeconfigSecret: stores.kubeconfigSecrets.get(own),
            cleanups: Effect.map(Effect.all([stores.cleanupJobs.list, stores.cleanupPods.list]), (found) =>
              found
                .flat()
                .filter(({ metadata }) => metadata.labels?.[LABEL_INSTANCE_HASH] === instanceHash(key))
                .map(({ metadata }) => metadata.name),
            ),
          })
        },
        awaitWrite: (kind, written) => {
          const store = storeOf(stores, kind, written)
          return store === undefined ? Effect.void : store.awaitWrite(written)
        },
        distrust: (kind, ref) => {
          // Of Secrets those of the vCluster itself.
          const store = storeOf(stores, kind, {
            metadata: { ...ref, labels: { app: "vcluster" } },
          })
          return store === undefined ? Effect.void : store.distrust(ref)
        },
        awaitMade: (kind, manifest, since) => {
          const store = storeOf(stores, kind, manifest)
          return store === undefined
            ? Effect.void
            : store.awaitMade(manifest.metadata, (object) => isMadeSince(object, since))
        },
        doubt: (key) => doubted(key, [stores.namespaces, ...writtenByHelm(stores)]),
        doubtRecords: (key) => doubted(key, [stores.namespaces, stores.releaseSecrets]),
        synced: Effect.forEach(Object.values(stores), (store) => store.synced, { discard: true }),
        wakeups: Stream.mergeAll([wakeups(stores), ...protection, ...quotas], {
          concurrency: "unbounded",
        }).pipe(Stream.provideService(Kubernetes, kubernetes)),
      })
    }),
  ),
}

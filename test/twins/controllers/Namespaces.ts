// Namespaces: what each new one is given, and how a terminating one is emptied. Wording and waiting times are those of
// kube-controller-manager 1.35 (pkg/controller/namespace/deletion).
import { ConfigMap, Namespace, Pod, ServiceAccount } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { ApiStatus } from "../kubernetes/ApiServer.ts"
import { type Cluster, watchOwn } from "./Cluster.ts"
import { refOf } from "./Controller.ts"
import { kindsOf } from "./Kinds.ts"
import {
  type Condition,
  isOver,
  isTerminating,
  namespaceOf,
  podOf,
  timestamp,
  withCondition,
} from "./Shapes.ts"

const CA = "kube-root-ca.crt"

/** The default service account and the cluster's CA, in each namespace, also when somebody deletes them. */
export const runNamespaceDefaults = (cluster: Cluster, ca: string) => {
  const ensure = (
    kind: ResourceKind,
    namespace: string,
    name: string,
    content: Readonly<Record<string, unknown>>,
  ): undefined => {
    const home = cluster.client.get(Namespace, { name: namespace })
    if (home === undefined || isTerminating(home)) return
    if (cluster.client.get(kind, { namespace, name }) !== undefined) return
    cluster.client.create(kind, {
      apiVersion: "v1",
      kind: kind.kind,
      metadata: { name, namespace },
      ...content,
    })
  }
  const accounts = cluster.controller([5, 100], (namespace) =>
    ensure(ServiceAccount, namespace, "default", {}),
  )
  const maps = cluster.controller([5, 100], (namespace) =>
    ensure(ConfigMap, namespace, CA, { data: { "ca.crt": ca } }),
  )
  cluster.watch(Namespace, ({ metadata }) => {
    accounts.add(metadata.name)
    maps.add(metadata.name)
  })
  const back = (kind: ResourceKind, name: string, queue: typeof accounts) =>
    cluster.watch(kind, ({ metadata }, change) => {
      if (change === "DELETED" && metadata.name === name) queue.add(metadata.namespace ?? "")
    })
  back(ServiceAccount, "default", accounts)
  back(ConfigMap, CA, maps)
}

const FINE = [
  ["NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"],
  [
    "NamespaceDeletionGroupVersionParsingFailure",
    "ParsedGroupVersions",
    "All legacy kube types successfully parsed",
  ],
  [
    "NamespaceDeletionContentFailure",
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  ],
  ["NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"],
  ["NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"],
] as const

/** Seconds after which what holds a finalizer is looked at again, before it is halved. */
const FINALIZER_ESTIMATE = 15

interface Remains {
  /** Seconds until it may be gone; 0: nothing to wait for. */
  readonly estimate: number
  readonly count: number
  readonly finalizers: ReadonlyArray<string>
}

/** Deletes the content of terminating namespaces: the pods first, everything else when they are gone. */
export const runNamespaceLifecycle = (cluster: Cluster) => {
  const { client, tasks } = cluster

  /** The longest grace period of the pods there are, while it may still run. */
  const podsTake = (namespace: KubeObject): number => {
    const pods = client.list(Pod, { namespace: namespace.metadata.name }).filter((pod) => !isOver(pod))
    const longest = Math.max(0, ...pods.map((pod) => podOf(pod).spec.terminationGracePeriodSeconds ?? 30))
    const since = tasks.now() - Date.parse(namespace.metadata.deletionTimestamp ?? "")
    return since >= longest * 1000 ? 0 : longest
  }

  const empty = (namespace: KubeObject, kind: ResourceKind): Remains => {
    const selection = { namespace: namespace.metadata.name }
    const estimate = kind === Pod ? podsTake(namespace) : 0
    client.deleteCollection(kind, selection, { propagation: "Background" })
    const left = client.list(kind, selection)
    const finalizers = left.flatMap(({ metadata }) => metadata.finalizers ?? [])
    if (left.length === 0) return { estimate: 0, count: 0, finalizers }
    if (estimate === 0 && finalizers.length === 0)
      throw new ApiStatus(
        500,
        "InternalError",
        `unexpected items still remain in namespace: ${namespace.metadata.name} for gvr: ${kind.group}/${kind.version}, Resource=${kind.plural}`,
      )
    return { estimate: estimate === 0 ? FINALIZER_ESTIMATE : estimate, count: left.length, finalizers }
  }

  const tell = (namespace: KubeObject, told: ReadonlyArray<Condition>) => {
    const before = namespaceOf(namespace).status?.conditions ?? []
    let conditions: ReadonlyArray<Condition> = before
    for (const [type, reason, message] of FINE) {
      const condition = told.find((each) => each.type === type) ?? { type, status: "False", reason, message }
      const same = before.find((each) => each.type === type)
      if (same?.status === condition.status && same.message === condition.message) continue
      conditions = withCondition(conditions, { ...condition, lastTransitionTime: timestamp(tasks.now()) })
    }
    if (conditions === before) return
    const status = { phase: "Terminating", conditions }
    client.updateStatus(Namespace, { ...namespace, status })
  }

  const condition = (type: string, reason: string, message: string): Condition => ({
    type,
    status: "True",
    reason,
    message,
  })

  const emptyAll = (namespace: KubeObject): number => {
    const failures: Array<string> = []
    const tryEmpty = (kind: ResourceKind): Remains => {
      try {
        return empty(namespace, kind)
      } catch (error) {
        if (!(error instanceof ApiStatus)) throw error
        failures.push(error.message)
        return { estimate: 0, count: 0, finalizers: [] }
      }
    }
    const failed = () =>
      failures.length === 0
        ? []
        : [
            condition(
              "NamespaceDeletionContentFailure",
              "ContentDeletionFailed",
              `Failed to delete all resource types, ${failures.length} remaining: ${failures.toSorted().join(", ")}`,
            ),
          ]
    const end = (estimate: number) => {
      if (failures.length > 0) throw new ApiStatus(500, "InternalError", failures.join(", "))
      return estimate
    }
    // While pods remain the server's conditions say that nothing does: the totals come into them later only.
    const pods = tryEmpty(Pod)
    if (pods.count > 0) {
      tell(namespace, failed())
      return end(pods.estimate)
    }
    const rest = kindsOf(client)
      .filter((kind) => kind.namespaced && kind !== Pod)
      .map((kind) => ({ kind, ...tryEmpty(kind) }))
      .filter(({ count }) => count > 0)
    const told = failed()
    if (rest.length > 0) {
      const parts = rest.map(
        ({ kind, count }) => `${kind.plural}.${kind.group} has ${count} resource instances`,
      )
      const message = `Some resources are remaining: ${parts.toSorted().join(", ")}`
      told.push(condition("NamespaceContentRemaining", "SomeResourcesRemain", message))
    }
    const finalizers = new Map<string, number>()
    for (const name of rest.flatMap((each) => each.finalizers))
      finalizers.set(name, (finalizers.get(name) ?? 0) + 1)
    if (finalizers.size > 0) {
      const parts = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`)
      const message = `Some content in the namespace has finalizers remaining: ${parts.toSorted().join(", ")}`
      told.push(condition("NamespaceFinalizersRemaining", "SomeFinalizersRemain", message))
    }
    tell(namespace, told)
    return end(Math.max(0, ...rest.map(({ estimate }) => estimate)))
  }

  const finalize = (name: string) => {
    const namespace = client.get(Namespace, { name })
    if (namespace === undefined) return
    const finalizers = namespaceOf(namespace).spec?.finalizers?.filter((each) => each !== "kubernetes") ?? []
    const { status, body } = cluster.api.handle({
      user: client.user,
      method: "PUT",
      path: `/api/v1/namespaces/${name}/finalize`,
      body: { ...namespace, spec: { finalizers } },
    })
    if (status >= 300 && status !== 404)
      throw new ApiStatus(status, "Failed", `finalize ${name}: ${JSON.stringify(body)}`)
  }

  const queue = cluster.controller([10, 150], (key) => {
    const { name } = refOf(key)
    const namespace = client.get(Namespace, { name })
    if (namespace === undefined || !isTerminating(namespace)) return
    if ((namespaceOf(namespace).spec?.finalizers ?? []).length === 0) return
    const estimate = emptyAll(namespace)
    if (estimate > 0) return (Math.floor(estimate / 2) + 1) * 1000
    finalize(name)
  })
  watchOwn(cluster, Namespace, queue)
}

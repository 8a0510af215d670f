// The control planes of vClusters: a StatefulSet's pod, and the process in it. A process reads its owner Service once,
// when it starts, and writes its kubeconfig Secret once; what is lost after that only another process brings back.
import { Duration, Effect, Predicate, type Scope } from "effect"
import { Namespace, Pod, Secret, Service, StatefulSet } from "../../../src/services/Kubernetes/Kinds.ts"
import type { Cluster } from "./Cluster.ts"

const BOOT_TAKES = Duration.seconds(19)
/** A StatefulSet is ready some time before the Secret is there. */
const SECRET_TAKES = Duration.seconds(1)
/** A process without its Service exits, and is started again by its pod. */
const CRASH_PAUSE = Duration.seconds(10)
const POD_ENDS = Duration.seconds(3)
/** Holds a pod that was asked to end until its process has. */
const KUBELET = "test/kubelet"

export const podName = "vcluster-0"
const labels = { app: "vcluster", release: "vcluster" }

export interface Start {
  readonly namespace: string
  readonly podUID: string
  /** Of the Service that everything this process makes will be owned by. */
  readonly ownerUID: string
}

export const runControlPlanes = Effect.fnUntraced(function* (cluster: Cluster): Effect.fn.Return<
  {
    /** The processes that found their Service, in order. */
    readonly starts: ReadonlyArray<Start>
    /** A control plane whose process does not come up while its namespace is in here. */
    readonly broken: Set<string>
    /** A control plane whose node does not answer while its namespace is in here: its pod does not end. */
    readonly cutOff: Set<string>
    /** Charts whose control plane does not come up, and those behind which another cluster comes up. */
    readonly brokenCharts: Set<string>
    readonly strangeCharts: Set<string>
    /** The UID of `kube-system` behind this kubeconfig, when its API answers. */
    readonly answers: (kubeconfig: string) => string | undefined
  },
  never,
  Scope.Scope
> {
  const scope = yield* Effect.scope
  const context = yield* Effect.context()
  const later = (duration: Duration.Duration, act: () => void) => {
    Effect.runForkWith(context)(
      Effect.forkIn(Effect.andThen(Effect.sleep(duration), Effect.sync(act)), scope),
    )
  }
  const starts: Array<Start> = []
  const broken = new Set<string>()
  const cutOff = new Set<string>()
  const brokenCharts = new Set<string>()
  const strangeCharts = new Set<string>()
  /** The pods whose process serves, by namespace. */
  const serving = new Map<string, string>()

  const podOf = (namespace: string) => cluster.find(Pod, { namespace, name: podName })
  const chartOf = (object: unknown): string => String(Object(Object(object).spec).template?.chart ?? "")
  const setOf = (namespace: string) => cluster.find(StatefulSet, { namespace, name: "vcluster" })
  // The data lies on a claim in the namespace: another namespace is another cluster.
  const kubeconfigOf = (namespace: string) =>
    `kubeconfig of ${namespace} behind ${cluster.find(Namespace, { name: namespace })?.metadata.uid}`

  const showReady = (namespace: string, readyReplicas: number) => {
    const statefulSet = setOf(namespace)
    if (statefulSet === undefined) return
    const { generation } = statefulSet.metadata
    const status = {
      observedGeneration: generation,
      readyReplicas,
      currentRevision: "a",
      updateRevision: "a",
    }
    cluster.put(StatefulSet, statefulSet, { ...statefulSet, status })
  }

  const writeSecret = (namespace: string, ownerUID: string) => {
    const metadata = {
      name: "vc-vcluster",
      namespace,
      labels: { app: "vcluster" },
      ownerReferences: [{ apiVersion: "v1", kind: "Service", name: "vcluster", uid: ownerUID }],
    }
    const data = { config: Buffer.from(kubeconfigOf(namespace)).toString("base64") }
    cluster.apply(Secret, { apiVersion: "v1", kind: "Secret", metadata, data })
    // The garbage collector: an owner that is gone takes along what is made in its name.
    const owned = cluster.all(Service, { namespace }).some(({ metadata: { uid } }) => uid === ownerUID)
    if (!owned) cluster.end(Secret, { namespace, name: "vc-vcluster" })
  }

  const start = (namespace: string, podUID: string) => {
    const lives = () => podOf(namespace)?.metadata.uid === podUID
    if (!lives()) return
    const ownerUID = cluster.find(Service, { namespace, name: "vcluster" })?.metadata.uid
    if (ownerUID === undefined || broken.has(namespace) || brokenCharts.has(chartOf(podOf(namespace)))) {
      later(CRASH_PAUSE, () => start(namespace, podUID))
      return
    }
    starts.push({ namespace, podUID, ownerUID })
    later(BOOT_TAKES, () => {
      if (!lives()) return
      serving.set(namespace, podUID)
      showReady(namespace, 1)
      later(SECRET_TAKES, () => {
        if (lives()) writeSecret(namespace, ownerUID)
      })
    })
  }

  /** The StatefulSet controller, for one pod. */
  const reconcile = (namespace: string) => {
    const statefulSet = setOf(namespace)
    const home = cluster.find(Namespace, { name: namespace })
    if (statefulSet === undefined) return
    if (Object(statefulSet.spec).replicas === 0) {
      if (podOf(namespace) === undefined) return
      // It is told to end, and serves nobody from then on.
      if (serving.delete(namespace)) showReady(namespace, 0)
      return cluster.end(Pod, { namespace, name: podName })
    }
    const running = podOf(namespace)
    if (running !== undefined && chartOf(running) !== chartOf(statefulSet)) {
      if (running.metadata.deletionTimestamp !== undefined) return
      if (serving.delete(namespace)) showReady(namespace, 0)
      return cluster.end(Pod, { namespace, name: podName })
    }
    if (running !== undefined) return
    if (home === undefined || home.metadata.deletionTimestamp !== undefined) return
    const { uid } = statefulSet.metadata
    const ownerReferences = [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "vcluster", uid }]
    const metadata = { name: podName, namespace, labels, ownerReferences, finalizers: [KUBELET] }
    const spec = { template: { chart: chartOf(statefulSet) } }
    const pod = cluster.create(Pod, { apiVersion: "v1", kind: "Pod", metadata, spec })
    start(namespace, pod.metadata.uid)
  }

  const ending = new Set<string>()
  cluster.listeners.push(({ kind, object, deleted }) => {
    const { namespace = "", name, uid, deletionTimestamp } = object.metadata
    if (kind === StatefulSet && !deleted) {
      // The controller has seen this generation; what it was ready with stays.
      const { status } = object
      const seen = Predicate.hasProperty(status, "observedGeneration") && status.observedGeneration
      if (seen !== false && seen !== object.metadata.generation)
        showReady(namespace, serving.has(namespace) ? 1 : 0)
      return reconcile(namespace)
    }
    if (kind !== Pod || name !== podName) return
    if (deleted) {
      if (serving.get(namespace) === uid) serving.delete(namespace)
      showReady(namespace, 0)
      return reconcile(namespace)
    }
    if (deletionTimestamp === undefined || ending.has(uid)) return
    ending.add(uid)
    later(POD_ENDS, () => {
      if (cutOff.has(namespace)) return
      const live = podOf(namespace)
      if (live?.metadata.uid === uid) cluster.remove(Pod, live)
    })
  })

  return {
    starts,
    broken,
    cutOff,
    brokenCharts,
    strangeCharts,
    answers: (kubeconfig) => {
      const namespace = / of (\S+) /.exec(kubeconfig)?.[1] ?? ""
      const serves = serving.has(namespace) && kubeconfig === kubeconfigOf(namespace)
      const stranger = strangeCharts.has(chartOf(podOf(namespace))) ? " that is another one" : ""
      return serves ? `kube-system ${kubeconfig.slice(kubeconfig.indexOf("behind"))}${stranger}` : undefined
    },
  }
})
export type ControlPlanes = Effect.Success<ReturnType<typeof runControlPlanes>>

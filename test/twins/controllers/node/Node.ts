// The one node of the cluster: scheduler, volumes, kubelet. Its power can fail; its disks keep what is on them.
import { Effect, type Scope } from "effect"
import { Pod } from "../../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiServer } from "../../kubernetes/ApiServer.ts"
import { makeCluster } from "../Cluster.ts"
import { Node } from "../Kinds.ts"
import { makeRecorder } from "../Recorder.ts"
import { isOver, isTerminating, podOf } from "../Shapes.ts"
import { makeTasks } from "../Tasks.ts"
import { runProvisioner } from "../Volumes.ts"
import { NodeFiles } from "./Files.ts"
import { Images } from "./Images.ts"
import { type NodeParts, type PodWorker, startPod } from "./PodWorker.ts"
import { runScheduler } from "./Scheduler.ts"
import { Storage } from "./Storage.ts"

export interface NodeTwin {
  readonly name: string
  readonly images: Images
  readonly storage: Storage
  readonly files: NodeFiles
  /** Every container is dead at once, and the API hears nothing of it. */
  readonly powerOff: () => void
  /** Every pod that was on it starts again, under its UID, with new containers. */
  readonly powerOn: () => void
  readonly isOn: () => boolean
  /** No new pod is scheduled. */
  readonly cordon: () => void
  readonly uncordon: () => void
}

export const runNode = Effect.fnUntraced(function* (
  api: ApiServer,
  options: { readonly name?: string } = {},
): Effect.fn.Return<NodeTwin, never, Scope.Scope> {
  const name = options.name ?? "node1"
  const tasks = yield* makeTasks
  const cluster = makeCluster(api, tasks)
  yield* Effect.addFinalizer(() => Effect.sync(cluster.close))
  const client = api.as(`system:node:${name}`, "kubelet")
  const images = new Images()
  const storage = new Storage()
  const files = new NodeFiles()
  let addresses = 1
  const parts: NodeParts = {
    client,
    tasks,
    images,
    storage,
    files,
    recorder: makeRecorder(client, tasks),
    hostIP: "10.240.0.1",
    newPodIP: () => {
      addresses += 1
      return `10.244.${Math.floor(addresses / 250) % 250}.${(addresses % 250) + 2}`
    },
    newContainerId: () => {
      const random = Array.from({ length: 8 }, () =>
        Math.floor(tasks.random() * 0xffffffff)
          .toString(16)
          .padStart(8, "0"),
      )
      return random.join("")
    },
  }
  let on = true
  const workers = new Map<string, PodWorker>()

  const isOurs = (pod: KubeObject) => podOf(pod).spec.nodeName === name

  const start = (pod: KubeObject, restarts: ReadonlyMap<string, number>) => {
    const { uid } = pod.metadata
    workers.set(
      uid,
      startPod(parts, pod, restarts, () => workers.delete(uid)),
    )
  }

  const remove = (pod: KubeObject) =>
    client.delete(Pod, pod.metadata, { uid: pod.metadata.uid, gracePeriodSeconds: 0 })

  const see = (pod: KubeObject, gone: boolean) => {
    if (!on || !isOurs(pod)) return
    const worker = workers.get(pod.metadata.uid)
    // By force: the object is gone, and its containers end with the grace they were promised.
    if (gone) return worker?.stop(podOf(pod).spec.terminationGracePeriodSeconds ?? 30)
    if (isTerminating(pod)) {
      if (worker !== undefined) return worker.stop(podOf(pod).metadata.deletionGracePeriodSeconds ?? 30)
      remove(pod)
      return
    }
    if (worker === undefined && !isOver(pod)) start(pod, new Map())
  }
  // The kubelet hears of a change a moment later.
  cluster.watch(Pod, (pod, type) => {
    if (isOurs(pod))
      tasks.after([10, 120], () => {
        const live = client.get(Pod, pod.metadata)
        const same = live?.metadata.uid === pod.metadata.uid
        see(same && live !== undefined ? live : pod, type === "DELETED" || !same)
      })
  })

  const labels = {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
  }
  if (client.get(Node, { name }) === undefined) {
    const created = client.create(Node, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels },
      spec: {},
    })
    const status = {
      conditions: [
        { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" },
      ],
    }
    client.updateStatus(Node, { ...created, status })
  }
  runScheduler(cluster)
  runProvisioner(cluster, storage)

  const restartsOf = (pod: KubeObject) => {
    const { containerStatuses = [], initContainerStatuses = [] } = podOf(pod).status ?? {}
    return new Map(
      [...initContainerStatuses, ...containerStatuses].map((each) => [each.name, each.restartCount + 1]),
    )
  }
  const setUnschedulable = (unschedulable: boolean) =>
    client.patch(Node, { name }, { type: "merge", patch: { spec: { unschedulable } } })

  return {
    name,
    images,
    storage,
    files,
    isOn: () => on,
    powerOff: () => {
      on = false
      for (const worker of workers.values()) worker.cut()
      workers.clear()
    },
    powerOn: () => {
      on = true
      for (const pod of client.list(Pod).filter(isOurs)) {
        if (isTerminating(pod)) remove(pod)
        else if (!isOver(pod)) start(pod, restartsOf(pod))
      }
    },
    cordon: () => setUnschedulable(true),
    uncordon: () => setUnschedulable(false),
  }
})

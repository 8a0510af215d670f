// The scheduler for one node: a pod goes there, or says why it does not.
import { PersistentVolumeClaim, Pod } from "../../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import type { Cluster } from "../Cluster.ts"
import { keyOf, makeController, refOf } from "../Controller.ts"
import { Node } from "../Kinds.ts"
import { makeRecorder } from "../Recorder.ts"
import { claimOf, isTerminating, nodeOf, podOf, timestamp, withCondition } from "../Shapes.ts"
import { claimsOf } from "../Volumes.ts"

/** As kube-scheduler 1.35.4 ends its sentences. */
const NO_HELP =
  "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."

export const runScheduler = (cluster: Cluster) => {
  const { api, tasks } = cluster
  const client = api.as("system:kube-scheduler", "kube-scheduler")
  const recorder = makeRecorder(client, tasks)

  /** Why no node takes it; `wait` when something else is on its way. */
  const obstacle = (pod: KubeObject, nodes: ReadonlyArray<KubeObject>): string | undefined => {
    const namespace = pod.metadata.namespace ?? ""
    for (const name of claimsOf(pod)) {
      const claim = client.get(PersistentVolumeClaim, { namespace, name })
      const trouble =
        claim === undefined ? "not found" : isTerminating(claim) ? "is being deleted" : undefined
      if (trouble !== undefined)
        return `0/${nodes.length} nodes are available: persistentvolumeclaim "${name}" ${trouble}. not found`
    }
    if (nodes.length === 0) return "no nodes available to schedule pods"
    const node = nodes[0]
    if (node !== undefined && nodeOf(node).spec?.unschedulable === true)
      return `0/1 nodes are available: 1 node(s) were unschedulable. ${NO_HELP}`
    const wanted = Object.entries(podOf(pod).spec.nodeSelector ?? {})
    if (node !== undefined && wanted.some(([key, value]) => node.metadata.labels?.[key] !== value))
      return `0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. ${NO_HELP}`
    return undefined
  }

  const refuse = (pod: KubeObject, message: string) => {
    const condition = {
      type: "PodScheduled",
      status: "False",
      reason: "Unschedulable",
      message,
      lastTransitionTime: timestamp(tasks.now()),
    }
    const status = {
      ...Object(pod.status),
      phase: "Pending",
      conditions: withCondition(podOf(pod).status?.conditions, condition),
    }
    if (JSON.stringify(status) !== JSON.stringify(pod.status)) client.updateStatus(Pod, { ...pod, status })
    recorder.event(pod, "Warning", "FailedScheduling", message)
  }

  const queue = makeController(tasks, [5, 80], (key) => {
    const pod = client.get(Pod, refOf(key))
    if (pod === undefined || isTerminating(pod) || podOf(pod).spec.nodeName !== undefined) return undefined
    const nodes = client.list(Node)
    const message = obstacle(pod, nodes)
    const node = nodes[0]
    if (message !== undefined || node === undefined) {
      refuse(pod, message ?? "no nodes available to schedule pods")
      // What is unschedulable is looked at again after five minutes, or when something changes.
      return 300_000
    }
    const namespace = pod.metadata.namespace ?? ""
    const unbound = claimsOf(pod).some((name) => {
      const claim = client.get(PersistentVolumeClaim, { namespace, name })
      return claim === undefined || claimOf(claim).spec.volumeName === undefined
    })
    // The provisioner is at work.
    if (unbound) return 500
    client.update(Pod, { ...pod, spec: { ...Object(pod.spec), nodeName: node.metadata.name } })
    recorder.event(
      pod,
      "Normal",
      "Scheduled",
      `Successfully assigned ${namespace}/${pod.metadata.name} to ${node.metadata.name}`,
    )
    return undefined
  })
  const all = () => {
    for (const pod of client.list(Pod))
      if (podOf(pod).spec.nodeName === undefined) queue.add(keyOf(pod.metadata))
  }
  cluster.watch(Pod, (pod, type) => {
    if (type !== "DELETED" && podOf(pod).spec.nodeName === undefined) queue.add(keyOf(pod.metadata))
  })
  cluster.watch(Node, all)
  cluster.watch(PersistentVolumeClaim, all)
}

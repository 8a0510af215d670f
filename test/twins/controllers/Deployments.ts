// Deployments and their ReplicaSets, as far as platform workloads need them: a rollout replaces pods when new ones are
// ready, `Recreate` ends the old ones first.
import { Deployment, Pod } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { type Cluster, watchOwn, watchOwned } from "./Cluster.ts"
import { refOf } from "./Controller.ts"
import { ReplicaSet } from "./Kinds.ts"
import { controllerReference, createPod, hashOf, isActive, podManifest, podsOf, writeStatus } from "./Pods.ts"
import {
  type Condition,
  isOver,
  isReady,
  isTerminating,
  ownedBy,
  timestamp,
  withCondition,
  workloadOf,
} from "./Shapes.ts"

const HASH = "pod-template-hash"
const REVISION = "deployment.kubernetes.io/revision"

export const runReplicaSets = (cluster: Cluster) => {
  const { client } = cluster
  const scale = (set: KubeObject, missing: number, active: ReadonlyArray<KubeObject>) => {
    const { name, namespace = "" } = set.metadata
    const { template } = workloadOf(set).spec
    for (let n = 0; n < missing; n++) {
      const metadata = { generateName: `${name}-`, namespace }
      createPod(cluster, set, podManifest(template, controllerReference(ReplicaSet, set), metadata), {
        created: (created) => `Created pod: ${created}`,
        failed: (message) => `Error creating: ${message}`,
      })
    }
    // Those that are not ready go first.
    const surplus = active
      .toSorted((a, b) => Number(isReady(a)) - Number(isReady(b)))
      .slice(0, Math.max(0, -missing))
    for (const pod of surplus) {
      client.delete(Pod, pod.metadata, { uid: pod.metadata.uid })
      cluster.recorder.event(set, "Normal", "SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`)
    }
  }
  const queue = cluster.controller([10, 120], (key) => {
    const set = client.get(ReplicaSet, refOf(key))
    if (set === undefined) return
    const active = podsOf(cluster, set).filter(isActive)
    const missing = (workloadOf(set).spec.replicas ?? 1) - active.length
    try {
      if (!isTerminating(set)) scale(set, missing, active)
    } finally {
      const live = client.get(ReplicaSet, refOf(key))
      if (live !== undefined) {
        const pods = podsOf(cluster, live).filter(isActive)
        const ready = pods.filter(isReady).length
        const status = {
          replicas: pods.length,
          ...(pods.length > 0 ? { fullyLabeledReplicas: pods.length } : {}),
          ...(ready > 0 ? { readyReplicas: ready, availableReplicas: ready } : {}),
          terminatingReplicas: podsOf(cluster, live).filter((pod) => isTerminating(pod) && !isOver(pod))
            .length,
          observedGeneration: live.metadata.generation,
        }
        writeStatus(cluster, ReplicaSet, live, status)
      }
    }
  })
  watchOwn(cluster, ReplicaSet, queue)
  watchOwned(cluster, Pod, "ReplicaSet", queue)
}

export const runDeployments = (cluster: Cluster) => {
  const { client, tasks, recorder } = cluster

  const setsOf = (deployment: KubeObject) =>
    client
      .list(ReplicaSet, { namespace: deployment.metadata.namespace ?? "" })
      .filter(ownedBy(deployment.metadata.uid))

  const revisionOf = (set: KubeObject) => Number(set.metadata.annotations?.[REVISION] ?? 0)
  const wantedOf = (set: KubeObject) => workloadOf(set).spec.replicas ?? 0

  /** What a set says of the rollout it belongs to; a quarter more than wanted may be there, at least one. */
  const marksOf = (deployment: KubeObject) => {
    const { replicas = 1, strategy } = workloadOf(deployment).spec
    const surge = strategy?.type === "Recreate" ? 0 : Math.ceil(replicas / 4)
    return {
      "deployment.kubernetes.io/desired-replicas": String(replicas),
      "deployment.kubernetes.io/max-replicas": String(replicas + surge),
    }
  }

  const newSet = (deployment: KubeObject, sets: ReadonlyArray<KubeObject>): KubeObject => {
    const { name, namespace = "" } = deployment.metadata
    const { spec } = workloadOf(deployment)
    const hash = hashOf(spec.template)
    const found = sets.find(({ metadata }) => metadata.labels?.[HASH] === hash)
    const revision = String(Math.max(0, ...sets.filter((set) => set !== found).map(revisionOf)) + 1)
    if (deployment.metadata.annotations?.[REVISION] !== revision) {
      const annotations = { ...deployment.metadata.annotations, [REVISION]: revision }
      client.patch(Deployment, deployment.metadata, { type: "merge", patch: { metadata: { annotations } } })
    }
    if (found !== undefined) {
      if (found.metadata.annotations?.[REVISION] === revision) return found
      const patch = { metadata: { annotations: { [REVISION]: revision } } }
      return client.patch(ReplicaSet, found.metadata, { type: "merge", patch })
    }
    const labels = { ...spec.template.metadata?.labels, [HASH]: hash }
    const replicas = firstReplicas(deployment, sets)
    const set = client.create(ReplicaSet, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name: `${name}-${hash}`,
        namespace,
        labels,
        annotations: { ...marksOf(deployment), [REVISION]: revision },
        ownerReferences: [controllerReference(Deployment, deployment)],
      },
      spec: {
        replicas,
        selector: { matchLabels: { ...spec.selector.matchLabels, [HASH]: hash } },
        template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
      },
    })
    const note = `Scaled up replica set ${set.metadata.name} from 0 to ${replicas}`
    if (replicas > 0) recorder.event(deployment, "Normal", "ScalingReplicaSet", note)
    return set
  }

  /** How many of a new set's pods may be there beside those of the others. */
  const firstReplicas = (deployment: KubeObject, others: ReadonlyArray<KubeObject>) => {
    const { replicas = 1, strategy } = workloadOf(deployment).spec
    const there = others.reduce((sum, each) => sum + wantedOf(each), 0)
    if (strategy?.type === "Recreate") return there === 0 ? replicas : 0
    return Math.max(0, Math.min(replicas, replicas + Math.ceil(replicas / 4) - there))
  }

  const scale = (deployment: KubeObject, set: KubeObject, replicas: number) => {
    const before = wantedOf(set)
    if (before === replicas) return
    client.patch(ReplicaSet, set.metadata, { type: "merge", patch: { spec: { replicas } } })
    const way = replicas > before ? "up" : "down"
    const note = `Scaled ${way} replica set ${set.metadata.name} from ${before} to ${replicas}`
    recorder.event(deployment, "Normal", "ScalingReplicaSet", note)
  }

  const roll = (deployment: KubeObject, set: KubeObject, old: ReadonlyArray<KubeObject>) => {
    const { replicas = 1, strategy } = workloadOf(deployment).spec
    if (strategy?.type === "Recreate") {
      for (const each of old) scale(deployment, each, 0)
      if (old.every((each) => podsOf(cluster, each).length === 0)) scale(deployment, set, replicas)
      return
    }
    const wanted =
      wantedOf(set) > replicas ? replicas : Math.max(wantedOf(set), firstReplicas(deployment, old))
    scale(deployment, set, wanted)
    const ready = workloadOf(set).status?.readyReplicas ?? 0
    // As many of the old ones go as new ones are ready; a quarter may be missing (maxUnavailable 25 %, rounded down).
    let keep = Math.max(0, replicas - Math.floor(replicas / 4) - ready)
    for (const each of old) {
      const kept = Math.min(wantedOf(each), keep)
      keep -= kept
      scale(deployment, each, kept)
    }
  }

  const conditionsOf = (deployment: KubeObject, available: boolean, complete: boolean, name: string) => {
    const lastTransitionTime = timestamp(tasks.now())
    const before = workloadOf(deployment).status?.conditions
    const minimum: Condition = available
      ? {
          type: "Available",
          status: "True",
          reason: "MinimumReplicasAvailable",
          message: "Deployment has minimum availability.",
        }
      : {
          type: "Available",
          status: "False",
          reason: "MinimumReplicasUnavailable",
          message: "Deployment does not have minimum availability.",
        }
    const started = before?.find(({ type }) => type === "Progressing")
    const since = Date.parse(started?.lastTransitionTime ?? lastTransitionTime)
    const limit = (workloadOf(deployment).spec.progressDeadlineSeconds ?? 600) * 1000
    const late = !complete && tasks.now() - since >= limit
    const progress: Condition = complete
      ? {
          type: "Progressing",
          status: "True",
          reason: "NewReplicaSetAvailable",
          message: `ReplicaSet "${name}" has successfully progressed.`,
        }
      : late
        ? {
            type: "Progressing",
            status: "False",
            reason: "ProgressDeadlineExceeded",
            message: `ReplicaSet "${name}" has timed out progressing.`,
          }
        : {
            type: "Progressing",
            status: "True",
            reason: "ReplicaSetUpdated",
            message: `ReplicaSet "${name}" is progressing.`,
          }
    return [minimum, progress].reduce(
      (list, condition) => withCondition(list, { ...condition, lastTransitionTime }),
      before ?? [],
    )
  }

  const report = (deployment: KubeObject) => {
    const sets = setsOf(deployment)
    const hash = hashOf(workloadOf(deployment).spec.template)
    const newest = sets.find(({ metadata }) => metadata.labels?.[HASH] === hash)
    const { replicas = 1 } = workloadOf(deployment).spec
    const count = (
      list: ReadonlyArray<KubeObject>,
      field: "replicas" | "readyReplicas" | "terminatingReplicas",
    ) => list.reduce((sum, set) => sum + (workloadOf(set).status?.[field] ?? 0), 0)
    const total = count(sets, "replicas")
    const ready = count(sets, "readyReplicas")
    const updated = newest === undefined ? 0 : count([newest], "replicas")
    const complete = updated === replicas && total === replicas && ready === replicas
    const least = replicas - (replicas > 1 ? Math.floor(replicas / 4) : 0)
    const status = {
      observedGeneration: deployment.metadata.generation,
      ...(total > 0 ? { replicas: total } : {}),
      ...(updated > 0 ? { updatedReplicas: updated } : {}),
      ...(ready > 0 ? { readyReplicas: ready, availableReplicas: ready } : {}),
      ...(ready < replicas ? { unavailableReplicas: replicas - ready } : {}),
      terminatingReplicas: count(sets, "terminatingReplicas"),
      conditions: conditionsOf(deployment, ready >= least, complete, newest?.metadata.name ?? ""),
    }
    writeStatus(cluster, Deployment, deployment, status)
    return complete
  }

  const queue = cluster.controller([10, 120], (key) => {
    const deployment = client.get(Deployment, refOf(key))
    if (deployment === undefined) return
    if (!isTerminating(deployment)) {
      const sets = setsOf(deployment)
      const set = newSet(deployment, sets)
      roll(
        deployment,
        set,
        sets.filter(({ metadata }) => metadata.uid !== set.metadata.uid),
      )
      clean(deployment)
    }
    const live = client.get(Deployment, refOf(key))
    if (live === undefined || report(live)) return
    // The deadline of the rollout is noticed without any change.
    return (workloadOf(live).spec.progressDeadlineSeconds ?? 600) * 1000
  })

  const clean = (deployment: KubeObject) => {
    const { revisionHistoryLimit = 10 } = workloadOf(deployment).spec
    const old = setsOf(deployment)
      .filter((set) => wantedOf(set) === 0 && (workloadOf(set).status?.replicas ?? 0) === 0)
      .toSorted((a, b) => revisionOf(a) - revisionOf(b))
    for (const set of old.slice(0, Math.max(0, old.length - revisionHistoryLimit - 1)))
      client.delete(ReplicaSet, set.metadata, { uid: set.metadata.uid })
  }

  watchOwn(cluster, Deployment, queue)
  watchOwned(cluster, ReplicaSet, "Deployment", queue)
}

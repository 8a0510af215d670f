// StatefulSets with parallel or ordered pods: revisions, claims with their retention policy, rolling updates. After
// kube-controller-manager 1.35 (pkg/controller/statefulset).
import { PersistentVolumeClaim, Pod, StatefulSet } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, OwnerReference } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { type Cluster, watchOwn, watchOwned } from "./Cluster.ts"
import { refOf } from "./Controller.ts"
import { ControllerRevision } from "./Kinds.ts"
import { controllerReference, createPod, hashOf, podManifest, podsOf, writeStatus } from "./Pods.ts"
import {
  isOver,
  isReady,
  isTerminating,
  phaseOf,
  podOf,
  revisionOf,
  type StatefulSetShape,
  statefulSetOf,
  withOwners,
} from "./Shapes.ts"

const REVISION = "controller-revision-hash"

interface Revision {
  readonly name: string
  readonly template: StatefulSetShape["spec"]["template"]
}

const ordinalOf = (set: KubeObject, pod: KubeObject): number => {
  const suffix = pod.metadata.name.slice(set.metadata.name.length + 1)
  return /^\d+$/.test(suffix) ? Number(suffix) : -1
}

export const runStatefulSets = (cluster: Cluster) => {
  const { client } = cluster

  const revisionsOf = (set: KubeObject) =>
    client
      .list(ControllerRevision, { namespace: set.metadata.namespace ?? "" })
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid))
      .toSorted((a, b) => revisionOf(a).revision - revisionOf(b).revision)

  /** The revision of the template there is: a stored one, the newest of which it becomes, or a new one. */
  const updateRevision = (set: KubeObject, { spec }: StatefulSetShape): KubeObject => {
    const revisions = revisionsOf(set)
    const data = { spec: { template: spec.template } }
    const same = revisions.find(
      (revision) => JSON.stringify(revisionOf(revision).data) === JSON.stringify(data),
    )
    const newest = revisions.at(-1)
    const revision = (newest === undefined ? 0 : revisionOf(newest).revision) + 1
    if (same !== undefined && same === newest) return same
    if (same !== undefined) return client.update(ControllerRevision, { ...same, revision })
    const hash = hashOf(data)
    return client.create(ControllerRevision, {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: {
        name: `${set.metadata.name}-${hash}`,
        namespace: set.metadata.namespace ?? "",
        labels: { ...spec.template.metadata?.labels, "controller.kubernetes.io/hash": hash },
        ownerReferences: [controllerReference(StatefulSet, set)],
      },
      data,
      revision,
    })
  }

  const templateOf = (revision: KubeObject, { spec }: StatefulSetShape): Revision => {
    const { data } = revisionOf(revision)
    const stored = statefulSetOf({ ...revision, spec: { ...spec, ...Object(data).spec } })
    return { name: revision.metadata.name, template: stored.spec.template }
  }

  const claimName = (set: KubeObject, template: string, ordinal: number) =>
    `${template}-${set.metadata.name}-${ordinal}`

  /** Who the claims belong to, by the policy: the set, the pod of one that is scaled down, or nobody. */
  const claimOwners = (
    set: KubeObject,
    { spec }: StatefulSetShape,
    pod: KubeObject | undefined,
  ): ReadonlyArray<OwnerReference> => {
    const { whenDeleted = "Retain", whenScaled = "Retain" } = spec.persistentVolumeClaimRetentionPolicy ?? {}
    if (whenScaled === "Delete" && pod !== undefined && ordinalOf(set, pod) >= (spec.replicas ?? 1)) {
      return [{ apiVersion: "v1", kind: "Pod", name: pod.metadata.name, uid: pod.metadata.uid }]
    }
    return whenDeleted === "Delete" ? [controllerReference(StatefulSet, set)] : []
  }

  const ensureClaims = (
    set: KubeObject,
    shape: StatefulSetShape,
    ordinal: number,
    pod: KubeObject | undefined,
  ) => {
    const { namespace = "" } = set.metadata
    for (const template of shape.spec.volumeClaimTemplates ?? []) {
      const name = claimName(set, template.metadata.name, ordinal)
      const claim = client.get(PersistentVolumeClaim, { namespace, name })
      const ownerReferences = claimOwners(set, shape, pod)
      if (claim === undefined) {
        const labels = { ...template.metadata.labels, ...shape.spec.selector.matchLabels }
        client.create(PersistentVolumeClaim, {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name, namespace, labels, ...(ownerReferences.length === 0 ? {} : { ownerReferences }) },
          spec: template.spec,
        })
      } else if (!isTerminating(claim)) {
        const others = (claim.metadata.ownerReferences ?? []).filter(
          ({ uid }) => uid !== set.metadata.uid && uid !== pod?.metadata.uid,
        )
        const wanted = [...others, ...ownerReferences]
        const same =
          wanted.map(({ uid }) => uid).join() ===
          (claim.metadata.ownerReferences ?? []).map(({ uid }) => uid).join()
        if (!same) client.update(PersistentVolumeClaim, withOwners(claim, wanted))
      }
    }
  }

  const create = (set: KubeObject, shape: StatefulSetShape, revision: Revision, ordinal: number) => {
    const { name, namespace = "" } = set.metadata
    const podName = `${name}-${ordinal}`
    ensureClaims(set, shape, ordinal, undefined)
    const claims = (shape.spec.volumeClaimTemplates ?? []).map((template) => ({
      name: template.metadata.name,
      persistentVolumeClaim: { claimName: claimName(set, template.metadata.name, ordinal) },
    }))
    const kept = (
      podOf({ ...set, metadata: { ...set.metadata }, spec: revision.template.spec }).spec.volumes ?? []
    ).filter((volume) => claims.every((claim) => claim.name !== volume.name))
    const labels = {
      [REVISION]: revision.name,
      "statefulset.kubernetes.io/pod-name": podName,
      "apps.kubernetes.io/pod-index": String(ordinal),
    }
    const manifest = podManifest(
      revision.template,
      controllerReference(StatefulSet, set),
      { name: podName, namespace, labels },
      { hostname: podName, subdomain: shape.spec.serviceName ?? "", volumes: [...claims, ...kept] },
    )
    createPod(cluster, set, manifest, {
      created: (created) => `Create Pod ${created} in StatefulSet ${name} successful`,
      failed: (message) => `Create Pod ${podName} in StatefulSet ${name} failed error: ${message}`,
    })
  }

  const end = (set: KubeObject, pod: KubeObject) => {
    const { name } = set.metadata
    if (client.delete(Pod, pod.metadata, { uid: pod.metadata.uid }))
      cluster.recorder.event(
        set,
        "Normal",
        "SuccessfulDelete",
        `Delete Pod ${pod.metadata.name} in StatefulSet ${name} successful`,
      )
  }

  const revisionLabel = (pod: KubeObject) => pod.metadata.labels?.[REVISION]
  const serves = (pod: KubeObject) => isReady(pod) && !isTerminating(pod) && phaseOf(pod) === "Running"

  /** One pass over the pods, which ends where it has to wait for one. */
  const converge = (set: KubeObject, shape: StatefulSetShape, update: Revision): void => {
    const { spec } = shape
    const replicas = spec.replicas ?? 1
    const ordered = spec.podManagementPolicy !== "Parallel"
    const pods = podsOf(cluster, set).toSorted((a, b) => ordinalOf(set, a) - ordinalOf(set, b))
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const pod = pods.find((each) => ordinalOf(set, each) === ordinal)
      if (pod === undefined) {
        create(set, shape, update, ordinal)
        if (ordered) return
        continue
      }
      if (isOver(pod)) {
        if (!isTerminating(pod)) end(set, pod)
        return
      }
      ensureClaims(set, shape, ordinal, pod)
      if (ordered && !serves(pod)) return
    }
    const condemned = pods.filter((pod) => ordinalOf(set, pod) >= replicas).toReversed()
    for (const pod of condemned) {
      ensureClaims(set, shape, ordinalOf(set, pod), pod)
      if (!isTerminating(pod)) end(set, pod)
      if (ordered) return
    }
    if (spec.updateStrategy?.type === "OnDelete") return
    for (const pod of pods.filter((each) => ordinalOf(set, each) < replicas).toReversed()) {
      const outdated = revisionLabel(pod) !== update.name && !isTerminating(pod)
      if (outdated) end(set, pod)
      if (outdated || !serves(pod)) return
    }
  }

  const report = (set: KubeObject, shape: StatefulSetShape, current: Revision, update: Revision) => {
    const pods = podsOf(cluster, set)
    const ready = pods.filter((pod) => isReady(pod) && phaseOf(pod) === "Running")
    const of = (revision: string) =>
      pods.filter((pod) => !isTerminating(pod) && revisionLabel(pod) === revision).length
    const counts = { current: of(current.name), updated: of(update.name) }
    const done =
      counts.updated === pods.length &&
      ready.length === pods.length &&
      (shape.spec.replicas ?? 1) === pods.length
    const status = {
      observedGeneration: set.metadata.generation,
      replicas: pods.length,
      ...(ready.length === 0 ? {} : { readyReplicas: ready.length }),
      availableReplicas: ready.length,
      ...(done || counts.current > 0 ? { currentReplicas: done ? counts.updated : counts.current } : {}),
      ...(counts.updated > 0 ? { updatedReplicas: counts.updated } : {}),
      currentRevision: done ? update.name : current.name,
      updateRevision: update.name,
      collisionCount: 0,
    }
    const clean = Object.fromEntries(
      Object.entries(status).filter(
        ([key, value]) =>
          value !== 0 || key === "replicas" || key === "availableReplicas" || key === "collisionCount",
      ),
    )
    writeStatus(cluster, StatefulSet, set, clean)
  }

  const queue = cluster.controller([10, 120], (key) => {
    const set = client.get(StatefulSet, refOf(key))
    if (set === undefined) return
    const shape = statefulSetOf(set)
    const newest = updateRevision(set, shape)
    const update = templateOf(newest, shape)
    const stored = revisionsOf(set).find(({ metadata }) => metadata.name === shape.status?.currentRevision)
    const current = stored === undefined ? update : templateOf(stored, shape)
    try {
      if (!isTerminating(set)) converge(set, shape, update)
    } finally {
      const live = client.get(StatefulSet, refOf(key))
      if (live !== undefined) report(live, shape, current, update)
    }
  })
  watchOwn(cluster, StatefulSet, queue)
  watchOwned(cluster, Pod, "StatefulSet", queue)
}

// Claims and their volumes: a claim is bound when a pod that uses it is scheduled, is kept while one uses it, and takes
// its volume along when it goes. What is in a volume lies on the node (node/Storage.ts) under the volume's name.
import { PersistentVolumeClaim, Pod } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { type Cluster, watchOwn } from "./Cluster.ts"
import { refOf } from "./Controller.ts"
import { PersistentVolume } from "./Kinds.ts"
import { claimOf, isOver, isTerminating, podOf, volumeOf, withoutFinalizer } from "./Shapes.ts"

const PROTECTION = "kubernetes.io/pvc-protection"

export const claimsOf = (pod: KubeObject): ReadonlyArray<string> =>
  (podOf(pod).spec.volumes ?? []).flatMap(
    ({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [],
  )

/** A claim that is being deleted stays while a pod uses it. */
export const runClaimProtection = (cluster: Cluster) => {
  const { client } = cluster
  const inUse = (namespace: string, name: string) =>
    client
      .list(Pod, { namespace })
      .some((pod) => !isOver(pod) && podOf(pod).spec.nodeName !== undefined && claimsOf(pod).includes(name))
  const queue = cluster.controller([20, 200], (key) => {
    const claim = client.get(PersistentVolumeClaim, refOf(key))
    if (claim === undefined) return
    const finalizers = claim.metadata.finalizers ?? []
    const protect = finalizers.includes(PROTECTION)
    if (!isTerminating(claim)) {
      const metadata = { ...claim.metadata, finalizers: [...finalizers, PROTECTION] }
      if (!protect) client.update(PersistentVolumeClaim, { ...claim, metadata })
    } else if (protect && !inUse(refOf(key).namespace, refOf(key).name)) {
      client.update(PersistentVolumeClaim, withoutFinalizer(claim, PROTECTION))
    }
  })
  watchOwn(cluster, PersistentVolumeClaim, queue)
  cluster.watch(Pod, (pod) => {
    for (const name of claimsOf(pod)) queue.add(`${pod.metadata.namespace ?? ""}/${name}`)
  })
}

/** A volume for each claim that a scheduled pod waits for, and the end of volumes whose claim is gone. */
export const runProvisioner = (cluster: Cluster, storage: { readonly drop: (volume: string) => void }) => {
  const { client } = cluster

  const provision = (claim: KubeObject) => {
    const { name, namespace = "", uid } = claim.metadata
    const volume = `pvc-${uid}`
    const { spec } = claimOf(claim)
    if (client.get(PersistentVolume, { name: volume }) === undefined) {
      const created = client.create(PersistentVolume, {
        apiVersion: "v1",
        kind: "PersistentVolume",
        metadata: { name: volume },
        spec: {
          accessModes: spec.accessModes ?? ["ReadWriteOnce"],
          capacity: spec.resources?.requests ?? {},
          claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
          persistentVolumeReclaimPolicy: "Delete",
          volumeMode: "Filesystem",
        },
      })
      client.updateStatus(PersistentVolume, { ...created, status: { phase: "Bound" } })
    }
    const bound = client.update(PersistentVolumeClaim, {
      ...claim,
      spec: { ...Object(claim.spec), volumeName: volume },
    })
    const status = { phase: "Bound", accessModes: spec.accessModes, capacity: spec.resources?.requests }
    client.updateStatus(PersistentVolumeClaim, { ...bound, status })
  }

  const queue = cluster.controller([300, 2_000], (key) => {
    const claim = client.get(PersistentVolumeClaim, refOf(key))
    if (claim === undefined || isTerminating(claim) || claimOf(claim).spec.volumeName !== undefined) return
    provision(claim)
  })
  cluster.watch(Pod, (pod, type) => {
    if (type === "DELETED" || podOf(pod).spec.nodeName !== undefined) return
    for (const name of claimsOf(pod)) queue.add(`${pod.metadata.namespace ?? ""}/${name}`)
  })

  const reclaim = cluster.controller([200, 2_000], (key) => {
    const volume = client.get(PersistentVolume, { name: refOf(key).name })
    const claimRef = volume === undefined ? undefined : volumeOf(volume).spec.claimRef
    if (volume === undefined || claimRef === undefined) return
    if (client.get(PersistentVolumeClaim, claimRef)?.metadata.uid === claimRef.uid) return
    storage.drop(volume.metadata.name)
    client.delete(PersistentVolume, { name: volume.metadata.name })
  })
  cluster.watch(PersistentVolumeClaim, (claim, type) => {
    const volume = claimOf(claim).spec.volumeName
    if (type === "DELETED" && volume !== undefined) reclaim.add(`/${volume}`)
  })
}

// What the controllers that make pods have in common.
import { Pod } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, OwnerReference, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { ApiStatus, type Writable } from "../kubernetes/ApiServer.ts"
import type { Cluster } from "./Cluster.ts"
import { apiVersionOf } from "./Kinds.ts"
import { admitPod } from "./PodSecurity.ts"
import { isOver, isTerminating, ownedBy, type Template } from "./Shapes.ts"

export const controllerReference = (kind: ResourceKind, owner: KubeObject): OwnerReference => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
})

/** The pods whose controller this owner is. */
export const podsOf = (cluster: Cluster, owner: KubeObject): ReadonlyArray<KubeObject> =>
  cluster.client.list(Pod, { namespace: owner.metadata.namespace ?? "" }).filter(ownedBy(owner.metadata.uid))

export const isActive = (pod: KubeObject): boolean => !isOver(pod) && !isTerminating(pod)

/** Letters and digits without vowels and what looks like another, as Kubernetes has them in names. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
export const randomSuffix = ({ tasks }: Cluster, length = 5): string =>
  Array.from({ length }, () => ALPHABET[Math.floor(tasks.random() * ALPHABET.length)] ?? "b").join("")

/** A hash of a pod template in that alphabet: the same template has the same one. FNV-1a; the real one has other letters. */
export const hashOf = (value: unknown): string => {
  let hash = 2166136261
  for (const character of JSON.stringify(value)) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 16777619) >>> 0
  }
  let text = ""
  for (let left = hash, n = 0; n < 9; n++, left = Math.floor(left / ALPHABET.length) || hash % 997) {
    text += ALPHABET[left % ALPHABET.length] ?? "b"
  }
  return text
}

export const podManifest = (
  template: Template,
  owner: OwnerReference,
  metadata: Writable["metadata"],
  spec: Readonly<Record<string, unknown>> = {},
): Writable => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    ...metadata,
    labels: { ...template.metadata?.labels, ...metadata.labels },
    ...(template.metadata?.annotations === undefined ? {} : { annotations: template.metadata.annotations }),
    ownerReferences: [owner],
  },
  spec: { ...template.spec, ...spec },
})

/** Creates the pod, or says with the controller's own words that it cannot, and fails. */
export const createPod = (
  cluster: Cluster,
  owner: KubeObject,
  manifest: Writable,
  told: { readonly created: (name: string) => string; readonly failed: (message: string) => string },
): KubeObject => {
  try {
    admitPod(cluster.client, manifest)
    const pod = cluster.client.create(Pod, manifest)
    cluster.recorder.event(owner, "Normal", "SuccessfulCreate", told.created(pod.metadata.name))
    return pod
  } catch (error) {
    if (error instanceof ApiStatus)
      cluster.recorder.event(owner, "Warning", "FailedCreate", told.failed(error.message))
    throw error
  }
}

/** Writes the status if it is another one. */
export const writeStatus = (
  cluster: Cluster,
  kind: ResourceKind,
  object: KubeObject,
  status: Readonly<Record<string, unknown>>,
) => {
  if (JSON.stringify(object.status) === JSON.stringify(status)) return
  cluster.client.updateStatus(kind, { ...object, status })
}

// The host namespace of an instance: made new, marked as the instance's, never taken over.
import { Option } from "effect"
import { formatKey, type InstanceKey } from "../../../schema/InstanceKey.ts"
import {
  ANNOTATION_INSTANCE,
  ANNOTATION_STORAGE_ROOT,
  hostNamespace,
  LABEL_HOST_NAMESPACE,
} from "../../../schema/Names.ts"
import type { KubeManifest, KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import type { NamespaceState } from "./TargetState.ts"

/**
 * Tenant data lies on hostPath and the vCluster runs as root: both need the privileged Pod Security level. What its pods may
 * mount is in `storageRoot`, which an admission policy reads (`AdmissionPolicies.ts`).
 */
export const hostNamespaceManifest = (key: InstanceKey, storageRoot: string): KubeManifest => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name: hostNamespace(key),
    labels: {
      [LABEL_HOST_NAMESPACE]: "true",
      "pod-security.kubernetes.io/enforce": "privileged",
    },
    annotations: { [ANNOTATION_INSTANCE]: formatKey(key), [ANNOTATION_STORAGE_ROOT]: storageRoot },
  },
})

/** What a person reads of a namespace that is somebody else's. */
export const foreignNamespace = (name: string, owner: Option.Option<string>): string =>
  `${name} belongs to ${Option.getOrElse(owner, () => "nobody this operator knows")} and is not taken over; remove it, or give this instance another name`

export const namespaceState = (key: InstanceKey, found: Option.Option<KubeObject>): NamespaceState => {
  if (Option.isNone(found)) return { _tag: "Missing" }
  const { annotations, deletionTimestamp } = found.value.metadata
  const owner = annotations?.[ANNOTATION_INSTANCE]
  if (owner !== formatKey(key)) return { _tag: "Foreign", owner: Option.fromNullishOr(owner) }
  return deletionTimestamp === undefined ? { _tag: "Ours" } : { _tag: "Terminating" }
}

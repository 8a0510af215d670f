// What virtual objects are called on the host, and how they are marked there.
import { createHash } from "node:crypto"
import type {
  KubeObject,
  ObjectRef,
  OwnerReference,
  ResourceKind,
} from "../../../src/services/Kubernetes/Kubernetes.ts"

export const MANAGED_BY = "vcluster.loft.sh/managed-by"
export const NAMESPACE_LABEL = "vcluster.loft.sh/namespace"
const ANNOTATION = "vcluster.loft.sh/object-"

export const hostName = ({ namespace = "", name }: ObjectRef, vcluster: string): string => {
  const full = `${name}-x-${namespace}-x-${vcluster}`
  if (full.length <= 63) return full
  const digest = createHash("sha256").update(full).digest("hex").slice(0, 10)
  return `${full.slice(0, 52)}-${digest}`.replaceAll(".-", "-")
}

export interface Place {
  readonly vcluster: string
  readonly namespace: string
  /** The Service that was there when the process started. */
  readonly owner: KubeObject
  /** `experimental.syncSettings.setOwner`. */
  readonly setOwner: boolean
}

/** As Go writes a kind: `/v1, Kind=Pod`. */
const kindText = ({ group, version, kind }: ResourceKind) => `${group}/${version}, Kind=${kind}`

export const ownerOf = ({ owner }: Place, controller = false): OwnerReference => ({
  apiVersion: "v1",
  kind: "Service",
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller,
})

/** The metadata of the host object of a virtual one. */
export const hostMetadata = (place: Place, kind: ResourceKind, virtual: KubeObject) => {
  const { name, namespace = "", uid, labels, annotations } = virtual.metadata
  const host = hostName({ name, namespace }, place.vcluster)
  const controlled = virtual.metadata.ownerReferences?.some(({ controller }) => controller === true) === true
  return {
    name: host,
    namespace: place.namespace,
    labels: { ...labels, [MANAGED_BY]: place.vcluster, [NAMESPACE_LABEL]: namespace },
    annotations: {
      ...annotations,
      [`${ANNOTATION}name`]: name,
      [`${ANNOTATION}namespace`]: namespace,
      [`${ANNOTATION}uid`]: uid,
      [`${ANNOTATION}kind`]: kindText(kind),
      [`${ANNOTATION}host-name`]: host,
      [`${ANNOTATION}host-namespace`]: place.namespace,
    },
    ...(place.setOwner ? { ownerReferences: [ownerOf(place, controlled)] } : {}),
  }
}

/** The virtual object that a host object stands for, if it is one of that kind. */
export const virtualOf = (
  kind: ResourceKind,
  host: KubeObject,
):
  | { readonly ref: { readonly namespace: string; readonly name: string }; readonly uid: string | undefined }
  | undefined => {
  const { annotations = {}, labels = {}, name } = host.metadata
  const virtual = annotations[`${ANNOTATION}name`]
  const namespace = annotations[`${ANNOTATION}namespace`]
  if (labels[MANAGED_BY] === undefined || virtual === undefined || namespace === undefined) return undefined
  if (annotations[`${ANNOTATION}kind`] !== kindText(kind) || annotations[`${ANNOTATION}host-name`] !== name)
    return undefined
  return { ref: { namespace, name: virtual }, uid: annotations[`${ANNOTATION}uid`] }
}

// The kinds that the server serves, by their place under its root.
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Json } from "./Json.ts"
import { builtinListTypes, type ListTypes } from "./ListTypes.ts"

/** What the server knows of a kind. */
export interface Resource {
  readonly kind: ResourceKind
  /** It has the status subresource: `status` is written there alone. */
  readonly status: boolean
  /** Counts changes of its spec. */
  readonly generation: boolean
  /** A deletion answers the object, not a `Status` (`ReturnDeletedObject`). */
  readonly returnsDeleted: boolean
  /** A PUT may do without a resourceVersion. */
  readonly unconditionalUpdate: boolean
  /** How its lists and maps merge. */
  readonly listTypes: ListTypes
  /** As kubectl takes it in place of the plural: `po`. */
  readonly shortNames: ReadonlyArray<string>
  /** Lists of kinds that it is in: `kubectl get all`. */
  readonly categories: ReadonlyArray<string>
  /** Default: the kind in small letters. */
  readonly singular?: string
  /** Of a custom resource: `additionalPrinterColumns`. */
  readonly columns?: ReadonlyArray<Json>
  /** Of a custom resource: the schema of the served version. */
  readonly schema?: Json
}

export interface Traits {
  readonly status?: boolean
  readonly generation?: boolean
  readonly returnsDeleted?: boolean
}

const namespaced = (group: string, plural: string, kind: string): ResourceKind => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced: true,
})
const clusterScoped = (group: string, plural: string, kind: string): ResourceKind => ({
  ...namespaced(group, plural, kind),
  namespaced: false,
})

export const ReplicaSet = namespaced("apps", "replicasets", "ReplicaSet")
export const ControllerRevision = namespaced("apps", "controllerrevisions", "ControllerRevision")
export const DaemonSet = namespaced("apps", "daemonsets", "DaemonSet")
export const Node = clusterScoped("", "nodes", "Node")
export const PersistentVolume = clusterScoped("", "persistentvolumes", "PersistentVolume")
export const Endpoints = namespaced("", "endpoints", "Endpoints")
export const EndpointSlice = namespaced("discovery.k8s.io", "endpointslices", "EndpointSlice")
export const StorageClass = clusterScoped("storage.k8s.io", "storageclasses", "StorageClass")
export const CoreEvent = namespaced("", "events", "Event")
export const LimitRange = namespaced("", "limitranges", "LimitRange")
export const ResourceQuota = namespaced("", "resourcequotas", "ResourceQuota")
export const CronJob = namespaced("batch", "cronjobs", "CronJob")
export const PodDisruptionBudget = namespaced("policy", "poddisruptionbudgets", "PodDisruptionBudget")
export const PriorityClass = clusterScoped("scheduling.k8s.io", "priorityclasses", "PriorityClass")
export const Ingress = namespaced("networking.k8s.io", "ingresses", "Ingress")
export const IngressClass = clusterScoped("networking.k8s.io", "ingressclasses", "IngressClass")

const workload: Traits = { status: true, generation: true }

const BUILTIN: ReadonlyArray<readonly [ResourceKind, Traits]> = [
  [Kinds.Namespace, { status: true }],
  [Kinds.Secret, {}],
  [Kinds.ConfigMap, {}],
  [Kinds.Service, { status: true, returnsDeleted: true }],
  [Kinds.ServiceAccount, { returnsDeleted: true }],
  [Kinds.Pod, { status: true, generation: true, returnsDeleted: true }],
  [Kinds.PersistentVolumeClaim, { status: true, returnsDeleted: true }],
  [PersistentVolume, { status: true, returnsDeleted: true }],
  [Node, { status: true }],
  [Endpoints, {}],
  [LimitRange, {}],
  [ResourceQuota, { status: true, returnsDeleted: true }],
  [EndpointSlice, { generation: true }],
  [StorageClass, { returnsDeleted: true }],
  [Kinds.StatefulSet, workload],
  [Kinds.Deployment, workload],
  [ReplicaSet, workload],
  [ControllerRevision, {}],
  [DaemonSet, workload],
  [Kinds.Job, workload],
  [CronJob, workload],
  [PodDisruptionBudget, workload],
  [PriorityClass, { generation: true }],
  [Ingress, workload],
  [IngressClass, { generation: true }],
  [Kinds.NetworkPolicy, { generation: true }],
  [Kinds.Lease, {}],
  [Kinds.Role, {}],
  [Kinds.RoleBinding, {}],
  [Kinds.ClusterRole, {}],
  [Kinds.ClusterRoleBinding, {}],
  [Kinds.Event, {}],
  [CoreEvent, {}],
  [Kinds.ValidatingAdmissionPolicy, { status: true, generation: true }],
  [Kinds.ValidatingAdmissionPolicyBinding, { generation: true }],
  [Kinds.CustomResourceDefinition, { status: true, generation: true }],
]

const SHORT_NAMES: Readonly<Record<string, ReadonlyArray<string>>> = {
  configmaps: ["cm"],
  cronjobs: ["cj"],
  customresourcedefinitions: ["crd", "crds"],
  daemonsets: ["ds"],
  deployments: ["deploy"],
  endpoints: ["ep"],
  events: ["ev"],
  ingresses: ["ing"],
  limitranges: ["limits"],
  namespaces: ["ns"],
  networkpolicies: ["netpol"],
  nodes: ["no"],
  persistentvolumeclaims: ["pvc"],
  persistentvolumes: ["pv"],
  poddisruptionbudgets: ["pdb"],
  pods: ["po"],
  priorityclasses: ["pc"],
  replicasets: ["rs"],
  resourcequotas: ["quota"],
  serviceaccounts: ["sa"],
  services: ["svc"],
  statefulsets: ["sts"],
  storageclasses: ["sc"],
}

/** What `kubectl get all` shows. */
const IN_ALL = new Set([
  ...["pods", "services", "statefulsets", "deployments", "replicasets", "daemonsets", "jobs", "cronjobs"],
])

/** `apps/v1/statefulsets`, `/v1/pods`. */
export const resourceKey = (group: string, version: string, plural: string): string =>
  `${group}/${version}/${plural}`

export const keyOf = (kind: ResourceKind): string => resourceKey(kind.group, kind.version, kind.plural)

const ALWAYS = new Set([
  "/v1",
  "admissionregistration.k8s.io/v1",
  "authentication.k8s.io/v1",
  "authorization.k8s.io/v1",
])

const isAdmission = (kind: ResourceKind) => kind.plural.startsWith("validatingadmissionpolic")

export class Resources {
  readonly #byKey = new Map<string, Resource>()

  constructor(options: { readonly admissionPolicies: boolean }) {
    for (const [kind, traits] of BUILTIN) {
      if (isAdmission(kind) && !options.admissionPolicies) continue
      this.add({
        kind,
        status: traits.status === true,
        generation: traits.generation === true,
        returnsDeleted: traits.returnsDeleted === true,
        unconditionalUpdate: true,
        listTypes: builtinListTypes(kind),
        shortNames: SHORT_NAMES[kind.plural] ?? [],
        categories: IN_ALL.has(kind.plural) ? ["all"] : [],
      })
    }
  }

  add(resource: Resource): void {
    this.#byKey.set(keyOf(resource.kind), resource)
  }

  remove(kind: ResourceKind): void {
    this.#byKey.delete(keyOf(kind))
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#byKey.get(resourceKey(group, version, plural))
  }

  all(): ReadonlyArray<Resource> {
    return [...this.#byKey.values()]
  }

  /** Whether there is the group in that version: of one without kinds (left out, or of objects never stored) too. */
  serves(group: string, version: string): boolean {
    return (
      ALWAYS.has(`${group}/${version}`) ||
      this.all().some(({ kind }) => kind.group === group && kind.version === version)
    )
  }
}

export const isCustom = (resource: Resource): boolean => resource.schema !== undefined

/** `configmaps`, as errors name the kind; `name` when there is one. */
export const about = (resource: Resource, name?: string) => ({
  name,
  group: resource.kind.group,
  kind: resource.kind.plural,
})

/** The same for errors of validation, which name the Kind. */
export const aboutKind = (resource: Resource, name?: string) => ({
  name,
  group: resource.kind.group,
  kind: resource.kind.kind,
})

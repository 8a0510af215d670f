// The kinds of the Kubernetes API that the operator reads or writes.
import type { ResourceKind } from "./Kubernetes.ts"

const namespaced = (group: string, version: string, plural: string, kind: string): ResourceKind => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
})

const clusterScoped = (group: string, version: string, plural: string, kind: string): ResourceKind => ({
  group,
  version,
  plural,
  kind,
  namespaced: false,
})

const RBAC = "rbac.authorization.k8s.io"
const ADMISSION = "admissionregistration.k8s.io"

export const Namespace = clusterScoped("", "v1", "namespaces", "Namespace")
export const Node = clusterScoped("", "v1", "nodes", "Node")
export const Secret = namespaced("", "v1", "secrets", "Secret")
export const ConfigMap = namespaced("", "v1", "configmaps", "ConfigMap")
export const Service = namespaced("", "v1", "services", "Service")
export const ServiceAccount = namespaced("", "v1", "serviceaccounts", "ServiceAccount")
export const Pod = namespaced("", "v1", "pods", "Pod")
export const PersistentVolumeClaim = namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
export const ResourceQuota = namespaced("", "v1", "resourcequotas", "ResourceQuota")
export const LimitRange = namespaced("", "v1", "limitranges", "LimitRange")
export const StatefulSet = namespaced("apps", "v1", "statefulsets", "StatefulSet")
export const Deployment = namespaced("apps", "v1", "deployments", "Deployment")
export const Job = namespaced("batch", "v1", "jobs", "Job")
export const NetworkPolicy = namespaced("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
export const Lease = namespaced("coordination.k8s.io", "v1", "leases", "Lease")
export const Role = namespaced(RBAC, "v1", "roles", "Role")
export const RoleBinding = namespaced(RBAC, "v1", "rolebindings", "RoleBinding")
export const ClusterRole = clusterScoped(RBAC, "v1", "clusterroles", "ClusterRole")
export const ClusterRoleBinding = clusterScoped(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding")

export const PriorityClass = clusterScoped("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass")

/** The newer of the two Event APIs; both show the same objects. */
export const Event = namespaced("events.k8s.io", "v1", "events", "Event")

/** The older of the two, whose fields an Event can be selected by. */
export const CoreEvent = namespaced("", "v1", "events", "Event")
export const EndpointSlice = namespaced("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")

export const ValidatingAdmissionPolicy = clusterScoped(
  ADMISSION,
  "v1",
  "validatingadmissionpolicies",
  "ValidatingAdmissionPolicy",
)
export const ValidatingAdmissionPolicyBinding = clusterScoped(
  ADMISSION,
  "v1",
  "validatingadmissionpolicybindings",
  "ValidatingAdmissionPolicyBinding",
)
export const CustomResourceDefinition = clusterScoped(
  "apiextensions.k8s.io",
  "v1",
  "customresourcedefinitions",
  "CustomResourceDefinition",
)

export const PlatformInstance = namespaced(
  "platform.di-framework.dev",
  "v1alpha1",
  "platforminstances",
  "PlatformInstance",
)

/** Secrets are the one kind that is never listed or watched whole. */
export const isSecret = (kind: ResourceKind): boolean => kind.group === "" && kind.plural === "secrets"

/** `<plural>.<group>`, or the plural alone for the core group: how kinds are named in logs and metrics. */
export const resourceName = (kind: ResourceKind): string =>
  kind.group === "" ? kind.plural : `${kind.plural}.${kind.group}`

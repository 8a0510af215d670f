// What the server decides itself about an object, after defaults and owners: addresses of Services, selectors of Jobs,
// protection finalizers, and what a status begins with.
import { at, isJson, type Json, listOf, objectOf, stringsOf, withPath } from "./Json.ts"
import type { Resource } from "./Resources.ts"

export interface Allocator {
  readonly clusterIP: () => string
  readonly nodePort: () => number
  readonly now: () => string
}

const merged = (object: Json, path: ReadonlyArray<string>, values: Json): Json =>
  withPath(object, path, { ...objectOf(at(object, ...path)), ...values })

const jobSelector = (object: Json): Json => {
  const spec = objectOf(object.spec)
  if (spec.manualSelector === true) return object
  const uid = at(object, "metadata", "uid")
  const name = at(object, "metadata", "name")
  const labels = {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
  }
  // The Job gets the labels of its template when it has none of its own.
  const labelled =
    at(object, "metadata", "labels") === undefined ? merged(object, ["metadata", "labels"], labels) : object
  return merged(
    withPath(labelled, ["spec", "selector"], { matchLabels: { "batch.kubernetes.io/controller-uid": uid } }),
    ["spec", "template", "metadata", "labels"],
    labels,
  )
}

const ports = (object: Json, allocator: Allocator): Json => {
  const spec = objectOf(object.spec)
  if (spec.type !== "NodePort" && spec.type !== "LoadBalancer") return object
  return withPath(
    object,
    ["spec", "ports"],
    listOf(spec.ports).map((port) =>
      isJson(port) && !port.nodePort ? { ...port, nodePort: allocator.nodePort() } : port,
    ),
  )
}

/** Addresses that a Service has keep with it: an update that is silent about them changes nothing. */
const service = (object: Json, before: Json | undefined, allocator: Allocator): Json => {
  const spec = objectOf(object.spec)
  if (spec.type === "ExternalName") return object
  const old = objectOf(before?.spec)
  const clusterIP = spec.clusterIP || old.clusterIP || allocator.clusterIP()
  const addressed = merged(object, ["spec"], {
    clusterIP,
    clusterIPs: spec.clusterIPs ?? [clusterIP],
    ipFamilies: spec.ipFamilies ?? old.ipFamilies ?? ["IPv4"],
    ipFamilyPolicy: spec.ipFamilyPolicy ?? old.ipFamilyPolicy ?? "SingleStack",
  })
  return ports(addressed, allocator)
}

const qosClass = (object: Json): string => {
  const all = listOf(at(object, "spec", "containers")).map((it) => objectOf(at(it, "resources")))
  const asks = (resources: Json) => isJson(resources.limits) || isJson(resources.requests)
  if (!all.some(asks)) return "BestEffort"
  const guaranteed = all.every((resources) =>
    ["cpu", "memory"].every((unit) => {
      const limit = at(resources, "limits", unit)
      return limit !== undefined && limit === at(resources, "requests", unit)
    }),
  )
  return guaranteed ? "Guaranteed" : "Burstable"
}

const tolerations = ["not-ready", "unreachable"].map((condition) => ({
  key: `node.kubernetes.io/${condition}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300,
}))

const pod = (object: Json): Json =>
  withPath(
    merged(object, ["spec"], {
      tolerations: [...listOf(at(object, "spec", "tolerations")), ...tolerations],
    }),
    ["status"],
    { phase: "Pending", qosClass: qosClass(object) },
  )

const established = (object: Json, now: string): Json => {
  const names = at(object, "spec", "names")
  const condition = (type: string, reason: string, message: string) => ({
    type,
    status: "True",
    lastTransitionTime: now,
    reason,
    message,
  })
  return {
    ...object,
    status: {
      conditions: [
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
      ],
      acceptedNames: names,
      storedVersions: listOf(at(object, "spec", "versions")).flatMap((version) =>
        isJson(version) && version.storage === true ? [version.name] : [],
      ),
    },
  }
}

const withFinalizer = (object: Json, finalizer: string): Json =>
  withPath(
    object,
    ["metadata", "finalizers"],
    [...stringsOf(at(object, "metadata", "finalizers")), finalizer],
  )

/** At creation. */
export const prepareCreate = (resource: Resource, object: Json, allocator: Allocator): Json => {
  switch (resource.kind.kind) {
    case "Namespace":
      return { ...object, spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } }
    case "Service":
      return { ...service(object, undefined, allocator), status: { loadBalancer: {} } }
    case "Job":
      return { ...jobSelector(object), status: {} }
    case "Pod":
      return pod(object)
    case "PersistentVolumeClaim":
      return { ...withFinalizer(object, "kubernetes.io/pvc-protection"), status: { phase: "Pending" } }
    case "StatefulSet":
      return { ...object, status: { replicas: 0, availableReplicas: 0 } }
    case "ReplicaSet":
      return { ...object, status: { replicas: 0 } }
    case "Deployment":
    case "ValidatingAdmissionPolicy":
      return { ...object, status: {} }
    case "Event":
      return {
        deprecatedSource: {},
        deprecatedFirstTimestamp: null,
        deprecatedLastTimestamp: null,
        ...object,
      }
    case "CustomResourceDefinition":
      return established(object, allocator.now())
    default:
      return object
  }
}

/** At an update of the object itself. */
export const prepareUpdate = (resource: Resource, object: Json, before: Json, allocator: Allocator): Json => {
  switch (resource.kind.kind) {
    case "Service":
      return service(object, before, allocator)
    case "Namespace":
      // Its finalizers are written by /finalize alone.
      return { ...object, spec: before.spec }
    default:
      return object
  }
}

// How lists and maps of the built-in kinds merge (`x-kubernetes-list-type` and its siblings in the API's types).
// A list that is not named here is atomic, a map that is not named merges key by key.
import type { ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { at, isJson, type Json, listOf, objectOf, stringsOf, textOf } from "./Json.ts"

/** The keys of a list that is a map of its items; `set`: of scalars; `atomic`: replaced as a whole. */
export type ListType = ReadonlyArray<string> | "set" | "atomic"

/** By path: fields joined by dots, `[]` for the items of a list: `spec.containers[].ports`. */
export type ListTypes = ReadonlyMap<string, ListType>

const METADATA: ReadonlyArray<readonly [string, ListType]> = [
  ["metadata.finalizers", "set"],
  ["metadata.ownerReferences", ["uid"]],
  ["metadata.ownerReferences[]", "atomic"],
]

const CONTAINER: ReadonlyArray<readonly [string, ListType]> = [
  ["ports", ["containerPort", "protocol"]],
  ["env", ["name"]],
  ["env[].valueFrom.configMapKeyRef", "atomic"],
  ["env[].valueFrom.secretKeyRef", "atomic"],
  ["env[].valueFrom.fieldRef", "atomic"],
  ["env[].valueFrom.resourceFieldRef", "atomic"],
  ["volumeMounts", ["mountPath"]],
  ["volumeDevices", ["devicePath"]],
  ["resources.claims", ["name"]],
]

const under = (
  prefix: string,
  types: ReadonlyArray<readonly [string, ListType]>,
): ReadonlyArray<readonly [string, ListType]> => types.map(([path, type]) => [`${prefix}.${path}`, type])

const POD_SPEC: ReadonlyArray<readonly [string, ListType]> = [
  ...["containers", "initContainers", "ephemeralContainers"].flatMap((list) => [
    [list, ["name"]] as const,
    ...under(`${list}[]`, CONTAINER),
  ]),
  ["volumes", ["name"]],
  ["imagePullSecrets", ["name"]],
  ["imagePullSecrets[]", "atomic"],
  ["hostAliases", ["ip"]],
  ["nodeSelector", "atomic"],
  ["topologySpreadConstraints", ["topologyKey", "whenUnsatisfiable"]],
  ["readinessGates", "atomic"],
  ["resourceClaims", ["name"]],
  ["schedulingGates", ["name"]],
  ["securityContext.supplementalGroups", "atomic"],
]

const CONDITIONS: ReadonlyArray<readonly [string, ListType]> = [["status.conditions", ["type"]]]

const WORKLOAD: ReadonlyArray<readonly [string, ListType]> = [
  ["spec.selector", "atomic"],
  ...under("spec.template.spec", POD_SPEC),
  ...under("spec.template", METADATA),
  ...CONDITIONS,
]

const ADMISSION_POLICY: ReadonlyArray<readonly [string, ListType]> = [
  ["spec.paramKind", "atomic"],
  ["spec.matchConstraints", "atomic"],
  ["spec.matchConditions", ["name"]],
  ["spec.variables", ["name"]],
  ["spec.variables[]", "atomic"],
  ["status.conditions", ["type"]],
]

const BY_KIND: Readonly<Record<string, ReadonlyArray<readonly [string, ListType]>>> = {
  Namespace: CONDITIONS,
  Service: [
    ["spec.ports", ["port", "protocol"]],
    ["spec.selector", "atomic"],
    ["status.conditions", ["type"]],
  ],
  ServiceAccount: [
    ["secrets", ["name"]],
    ["secrets[]", "atomic"],
  ],
  Pod: [...under("spec", POD_SPEC), ["status.podIPs", ["ip"]], ["status.hostIPs", "atomic"], ...CONDITIONS],
  PersistentVolumeClaim: [["spec.selector", "atomic"], ...CONDITIONS],
  Node: [...CONDITIONS, ["status.addresses", ["type"]], ["spec.podCIDRs", "set"]],
  StatefulSet: WORKLOAD,
  Deployment: WORKLOAD,
  ReplicaSet: WORKLOAD,
  DaemonSet: WORKLOAD,
  // A Job's conditions are atomic.
  Job: WORKLOAD.map(([path, type]) => [path, path === "status.conditions" ? "atomic" : type]),
  NetworkPolicy: [["spec.podSelector", "atomic"]],
  EndpointSlice: [["ports", "atomic"]],
  RoleBinding: [["roleRef", "atomic"]],
  ClusterRoleBinding: [["roleRef", "atomic"]],
  ClusterRole: [["aggregationRule.clusterRoleSelectors", "atomic"]],
  Event: [
    ["involvedObject", "atomic"],
    ["regarding", "atomic"],
    ["related", "atomic"],
  ],
  ValidatingAdmissionPolicy: ADMISSION_POLICY,
  ValidatingAdmissionPolicyBinding: [
    ["spec.paramRef", "atomic"],
    ["spec.matchResources.namespaceSelector", "atomic"],
    ["spec.matchResources.objectSelector", "atomic"],
    ["spec.validationActions", "set"],
  ],
  CustomResourceDefinition: [...CONDITIONS.map(([path]) => [path, ["type"]] as const)],
}

export const builtinListTypes = (kind: ResourceKind): ListTypes =>
  new Map([...METADATA, ...(BY_KIND[kind.kind] ?? [])])

const fromSchema = (schema: unknown, path: string, into: Map<string, ListType>): void => {
  if (!isJson(schema)) return
  const type = textOf(schema["x-kubernetes-list-type"])
  if (type === "map") into.set(path, stringsOf(schema["x-kubernetes-list-map-keys"]))
  if (type === "set") into.set(path, "set")
  if (schema["x-kubernetes-map-type"] === "atomic") into.set(path, "atomic")
  const field = (name: string) => (path === "" ? name : `${path}.${name}`)
  for (const [name, inner] of Object.entries(objectOf(schema.properties)))
    fromSchema(inner, field(name), into)
  fromSchema(schema.items, `${path}[]`, into)
}

/** Of a custom resource, out of its structural schema. */
export const customListTypes = (schema: Json): ListTypes => {
  const types = new Map<string, ListType>(METADATA)
  fromSchema(schema, "", types)
  return types
}

/** The default of a key that an item leaves out: protocols are TCP. */
export const keyValue = (item: unknown, key: string): unknown =>
  at(item, key) ?? (key === "protocol" ? "TCP" : undefined)

/** What tells an item of a list from the others: `k:{"name":"c"}`, `v:"finalizer"`. */
export const itemKey = (type: ReadonlyArray<string> | "set", item: unknown): string => {
  if (type === "set") return `v:${JSON.stringify(item)}`
  const keys = [...type].sort().flatMap((key) => {
    const value = keyValue(item, key)
    return value === undefined ? [] : [[key, value] as const]
  })
  return `k:${JSON.stringify(Object.fromEntries(keys))}`
}

/** Two items of one list that have the same key; undefined when there are none. */
export const duplicateOf = (type: ReadonlyArray<string> | "set", list: unknown): number | undefined => {
  const seen = new Set<string>()
  for (const [index, item] of listOf(list).entries()) {
    const key = itemKey(type, item)
    if (seen.has(key)) return index
    seen.add(key)
  }
  return undefined
}

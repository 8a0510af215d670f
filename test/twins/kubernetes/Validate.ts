// What is wrong with an object of a built-in kind, as far as the product can come to it: names, labels, finalizers, and
// fields that cannot change.
import { at, equal, isJson, isList, type Json, listOf, objectOf, stringsOf, textOf, without } from "./Json.ts"
import type { Resource } from "./Resources.ts"
import type { Cause } from "./Status.ts"

const SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
const VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"

const invalid = (field: string, value: unknown, why: string): Cause => ({
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  field,
})

export const required = (field: string, why?: string): Cause => ({
  reason: "FieldValueRequired",
  message: why === undefined ? "Required value" : `Required value: ${why}`,
  field,
})

const forbidden = (field: string, why: string): Cause => ({
  reason: "FieldValueForbidden",
  message: `Forbidden: ${why}`,
  field,
})

interface NameRule {
  readonly pattern: string
  readonly longest: number
  readonly text: string
}

const subdomain: NameRule = {
  pattern: SUBDOMAIN,
  longest: 253,
  text: `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`,
}
const label: NameRule = {
  pattern: LABEL,
  longest: 63,
  text: `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL}')`,
}
const label1035: NameRule = {
  pattern: LABEL_1035,
  longest: 63,
  text: `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${LABEL_1035}')`,
}

const nameRule = (kind: string): NameRule | undefined => {
  if (kind === "Namespace") return label
  if (kind === "Service") return label1035
  // The names of RBAC may have colons.
  return /^(Cluster)?Role(Binding)?$/.test(kind) ? undefined : subdomain
}

const nameCauses = (kind: string, name: string): ReadonlyArray<Cause> => {
  const rule = nameRule(kind)
  if (rule === undefined) return []
  if (name.length > rule.longest)
    return [invalid("metadata.name", name, `must be no more than ${rule.longest} bytes`)]
  if (rule !== subdomain && name.includes("."))
    return [invalid("metadata.name", name, "must not contain dots")]
  return new RegExp(`^${rule.pattern}$`).test(name) ? [] : [invalid("metadata.name", name, rule.text)]
}

const labelCauses = (object: Json): ReadonlyArray<Cause> =>
  Object.values(objectOf(at(object, "metadata", "labels"))).flatMap((value) =>
    typeof value === "string" && value.length <= 63 && new RegExp(`^${VALUE}$`).test(value)
      ? []
      : [
          invalid(
            "metadata.labels",
            value,
            `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${VALUE}')`,
          ),
        ],
  )

const IMMUTABLE = "field is immutable"

const unchanged =
  (field: string, ...path: ReadonlyArray<string>) =>
  (object: Json, before: Json): ReadonlyArray<Cause> =>
    equal(at(object, ...path), at(before, ...path)) ? [] : [invalid(field, at(object, ...path), IMMUTABLE)]

const STATEFUL_SET_MAY_CHANGE = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
]

const statefulSet = (object: Json, before: Json): ReadonlyArray<Cause> => {
  const fixed = (it: Json) => without(objectOf(it.spec), ...STATEFUL_SET_MAY_CHANGE)
  return equal(fixed(object), fixed(before))
    ? []
    : [
        forbidden(
          "spec",
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
      ]
}

/** A reference as Go prints its struct. */
const reference = (ref: unknown) => ({
  APIGroup: at(ref, "apiGroup"),
  Kind: at(ref, "kind"),
  Name: at(ref, "name"),
})

const roleRef = (object: Json, before: Json): ReadonlyArray<Cause> =>
  equal(object.roleRef, before.roleRef)
    ? []
    : [invalid("roleRef", reference(object.roleRef), "cannot change roleRef")]

const secretChange = (object: Json, before: Json): ReadonlyArray<Cause> => [
  ...unchanged("type", "type")(object, before),
  ...(before.immutable === true && !equal(object.data, before.data)
    ? [forbidden("data", "field is immutable when `immutable` is set")]
    : []),
]

const podChange = (object: Json, before: Json): ReadonlyArray<Cause> => {
  const fixed = (it: Json) => {
    const spec = without(
      objectOf(it.spec),
      "nodeName",
      "tolerations",
      "activeDeadlineSeconds",
      "terminationGracePeriodSeconds",
    )
    return {
      ...spec,
      containers: listOf(spec.containers).map((one) => without(objectOf(one), "image", "resources")),
    }
  }
  return equal(fixed(object), fixed(before))
    ? []
    : [
        forbidden(
          "spec",
          "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ),
      ]
}

type Change = (object: Json, before: Json) => ReadonlyArray<Cause>

const CHANGES: Readonly<Record<string, Change>> = {
  StatefulSet: statefulSet,
  Deployment: unchanged("spec.selector", "spec", "selector"),
  ReplicaSet: unchanged("spec.selector", "spec", "selector"),
  Job: (object, before) => [
    ...unchanged("spec.selector", "spec", "selector")(object, before),
    ...unchanged("spec.template", "spec", "template")(object, before),
  ],
  RoleBinding: roleRef,
  ClusterRoleBinding: roleRef,
  Secret: secretChange,
  Pod: podChange,
}

const containers =
  (field: string, ...path: ReadonlyArray<string>) =>
  (object: Json): ReadonlyArray<Cause> => {
    const list = at(object, ...path)
    if (!isList(list) || list.length === 0) return [required(field)]
    return list.flatMap((one, index) =>
      textOf(at(one, "image")) ? [] : [required(`${field}[${index}].image`)],
    )
  }

const template = containers("spec.template.spec.containers", "spec", "template", "spec", "containers")

const LONGEST_NOTE = 1024

const event = (object: Json): ReadonlyArray<Cause> => {
  const missing = ["reportingController", "reportingInstance", "action", "reason", "type"].filter(
    (field) => object[field] === undefined || object[field] === "",
  )
  const note = textOf(object.note) ?? ""
  return [
    ...missing.map((field) => required(field)),
    ...(Buffer.byteLength(note) > LONGEST_NOTE
      ? [invalid("note", "", `can have at most ${LONGEST_NOTE} characters`)]
      : []),
  ]
}

const policy = (object: Json): ReadonlyArray<Cause> =>
  listOf(at(object, "spec", "validations")).length === 0 &&
  at(object, "spec", "auditAnnotations") === undefined
    ? ["spec.validations", "spec.auditAnnotations"].map((field) =>
        required(field, "validations or auditAnnotations must contain at least one item"),
      )
    : []

const KEY = "[-._a-zA-Z0-9]+"

const dataKeys = (object: Json): ReadonlyArray<Cause> =>
  Object.keys(objectOf(object.data)).flatMap((key) =>
    new RegExp(`^${KEY}$`).test(key)
      ? []
      : [
          invalid(
            `data[${key}]`,
            key,
            `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '${KEY}')`,
          ),
        ],
  )

/** The default of --service-node-port-range. */
const NODE_PORTS = { first: 30_000, last: 32_767 }

const nodePorts = (object: Json): ReadonlyArray<Cause> =>
  listOf(at(object, "spec", "ports")).flatMap((port, index) => {
    const asked = at(port, "nodePort")
    const { first, last } = NODE_PORTS
    if (typeof asked !== "number" || asked === 0 || (asked >= first && asked <= last)) return []
    const why = `provided port is not in the valid range. The range of valid ports is ${first}-${last}`
    return [invalid(`spec.ports[${index}].nodePort`, asked, why)]
  })

const duplicate = (field: string, value: unknown): Cause => ({
  reason: "FieldValueDuplicate",
  message: `Duplicate value: ${JSON.stringify(value)}`,
  field,
})

const portNames = (object: Json): ReadonlyArray<Cause> => {
  const names = listOf(at(object, "spec", "ports")).map((port) => textOf(at(port, "name")) ?? "")
  return names.flatMap((name, index) =>
    name !== "" && names.indexOf(name) < index ? [duplicate(`spec.ports[${index}].name`, name)] : [],
  )
}

const SHAPES: Readonly<Record<string, (object: Json) => ReadonlyArray<Cause>>> = {
  ConfigMap: dataKeys,
  Secret: dataKeys,
  Pod: containers("spec.containers", "spec", "containers"),
  Service: (object) => [...portNames(object), ...nodePorts(object)],
  StatefulSet: template,
  Deployment: template,
  ReplicaSet: template,
  Job: template,
  Event: event,
  ValidatingAdmissionPolicy: policy,
}

const finalizerCauses = (object: Json, before: Json | undefined): ReadonlyArray<Cause> => {
  if (at(before, "metadata", "deletionTimestamp") === undefined) return []
  const old = new Set(stringsOf(at(before, "metadata", "finalizers")))
  const added = stringsOf(at(object, "metadata", "finalizers")).filter((it) => !old.has(it))
  if (added.length === 0) return []
  const list = added.map((it) => JSON.stringify(it)).join(", ")
  return [
    forbidden(
      "metadata.finalizers",
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
    ),
  ]
}

const ownerCauses = (object: Json): ReadonlyArray<Cause> =>
  listOf(at(object, "metadata", "ownerReferences")).flatMap((owner) =>
    ["apiVersion", "kind", "name", "uid"].flatMap((field) =>
      isJson(owner) && textOf(owner[field])
        ? []
        : [invalid(`metadata.ownerReferences.${field}`, "", "must not be empty")],
    ),
  )

/** Of the metadata of any kind. The server tells what is wrong in an update twice. */
export const metadataCauses = (
  resource: Resource,
  object: Json,
  before: Json | undefined,
): ReadonlyArray<Cause> => {
  const metadata = objectOf(object.metadata)
  const uid = at(before, "metadata", "uid")
  const changed =
    before !== undefined && metadata.uid !== uid ? [invalid("metadata.uid", metadata.uid, IMMUTABLE)] : []
  const causes = [
    ...changed,
    ...labelCauses(object),
    ...ownerCauses(object),
    ...finalizerCauses(object, before),
  ]
  if (before !== undefined) return causes
  return [...nameCauses(resource.kind.kind, textOf(metadata.name) ?? ""), ...causes]
}

export const shapeCauses = (
  resource: Resource,
  object: Json,
  before: Json | undefined,
): ReadonlyArray<Cause> => {
  const kind = resource.kind.kind
  return [
    ...(SHAPES[kind]?.(object) ?? []),
    ...(before === undefined ? [] : (CHANGES[kind]?.(object, before) ?? [])),
  ]
}

// What a table shows of the built-in kinds: kubectl prints its columns as the server names and fills them.
import { age, humanDuration } from "./Age.ts"
import { at, isJson, type Json, listOf, objectOf, stringsOf, textOf } from "./Json.ts"

export interface Column {
  readonly name: string
  /** Shown with `-o wide` alone. */
  readonly wide?: true
  readonly of: (object: Json, now: number) => unknown
}

const text = (value: unknown, none = "<none>"): string =>
  value === undefined || value === null || value === "" ? none : String(value)

const field = (name: string, path: string, none?: string): Column => ({
  name,
  of: (object) => text(at(object, ...path.split(".")), none),
})
const number = (name: string, path: string): Column => ({
  name,
  of: (object) => Number(at(object, ...path.split(".")) ?? 0),
})
const wide = (column: Column): Column => ({ ...column, wide: true })

const AGE: Column = {
  name: "Age",
  of: (object, now) => age(at(object, "metadata", "creationTimestamp"), now),
}
export const NAME: Column = { name: "Name", of: (object) => at(object, "metadata", "name") }

const containers = (object: Json): ReadonlyArray<Json> =>
  listOf(at(object, "spec", "template", "spec", "containers") ?? at(object, "spec", "containers")).filter(
    isJson,
  )

const selector = (value: unknown): string =>
  text(
    Object.entries(objectOf(value))
      .map(([key, it]) => `${key}=${it}`)
      .join(","),
  )

const TEMPLATE: ReadonlyArray<Column> = [
  wide({
    name: "Containers",
    of: (object) =>
      containers(object)
        .map((it) => it.name)
        .join(","),
  }),
  wide({
    name: "Images",
    of: (object) =>
      containers(object)
        .map((it) => it.image)
        .join(","),
  }),
]
const SELECTOR = wide({
  name: "Selector",
  of: (object) => selector(at(object, "spec", "selector", "matchLabels")),
})

const ratio = (name: string, have: string, want: string): Column => ({
  name,
  of: (object) => `${at(object, ...have.split(".")) ?? 0}/${at(object, ...want.split(".")) ?? 0}`,
})

const keys = (name: string): Column => ({
  name,
  of: (object) => Object.keys(objectOf(object.data)).length + Object.keys(objectOf(object.binaryData)).length,
})

const statuses = (pod: Json): ReadonlyArray<Json> =>
  listOf(at(pod, "status", "containerStatuses")).filter(isJson)

/** As kubectl users know it: the reason of a container that is not well, else the phase. */
const podStatus = (pod: Json): string => {
  const reasons = statuses(pod).flatMap(({ state }) => [
    textOf(at(state, "waiting", "reason")),
    textOf(at(state, "terminated", "reason")),
  ])
  if (at(pod, "metadata", "deletionTimestamp") !== undefined) return "Terminating"
  return (
    reasons.find((it) => it !== undefined) ?? text(at(pod, "status", "reason") ?? at(pod, "status", "phase"))
  )
}

const portsOf = (service: Json): string =>
  listOf(at(service, "spec", "ports"))
    .filter(isJson)
    .map(({ nodePort, port, protocol = "TCP" }) => `${port}${nodePort ? `:${nodePort}` : ""}/${protocol}`)
    .join(",")

const jobState = (job: Json): string => {
  const is = (type: string) =>
    listOf(at(job, "status", "conditions")).some(
      (it) => at(it, "type") === type && at(it, "status") === "True",
    )
  if (is("Complete")) return "Complete"
  if (is("Failed")) return "Failed"
  return at(job, "metadata", "deletionTimestamp") === undefined ? "Running" : "Terminating"
}

const duration: Column = {
  name: "Duration",
  of: (job, now) => {
    const from = Date.parse(String(at(job, "status", "startTime") ?? ""))
    const to = Date.parse(String(at(job, "status", "completionTime") ?? ""))
    return Number.isNaN(from) ? "" : humanDuration((Number.isNaN(to) ? now : to) - from)
  },
}

const subjectsOf = (name: string, kind: string): Column =>
  wide({
    name,
    of: ({ subjects }) =>
      listOf(subjects)
        .filter(isJson)
        .filter((subject) => subject.kind === kind)
        .map((subject) => (kind === "ServiceAccount" ? `${subject.namespace}/${subject.name}` : subject.name))
        .join(", "),
  })

const SUBJECTS: ReadonlyArray<Column> = [
  subjectsOf("Users", "User"),
  subjectsOf("Groups", "Group"),
  subjectsOf("ServiceAccounts", "ServiceAccount"),
]

const ROLE: Column = { name: "Role", of: ({ roleRef }) => `${at(roleRef, "kind")}/${at(roleRef, "name")}` }
const CREATED: Column = field("Created At", "metadata.creationTimestamp")

/** The newest of the times that an event may carry. */
const lastSeen = (event: Json): unknown =>
  at(event, "series", "lastObservedTime") ??
  event.lastTimestamp ??
  event.deprecatedLastTimestamp ??
  event.eventTime ??
  at(event, "metadata", "creationTimestamp")

/** Who says it, and which one of them. */
const source = (event: Json): string => {
  const { component, host } = objectOf(event.source ?? event.deprecatedSource)
  const who = [
    component || event.reportingComponent || event.reportingController,
    host || event.reportingInstance,
  ]
  return who.filter((it) => it !== undefined && it !== "").join(", ")
}

const EVENT: ReadonlyArray<Column> = [
  { name: "Last Seen", of: (event, now) => age(lastSeen(event), now) },
  field("Type", "type"),
  field("Reason", "reason"),
  {
    name: "Object",
    of: (event) => {
      const about = objectOf(event.involvedObject ?? event.regarding)
      return `${String(about.kind).toLowerCase()}/${about.name}`
    },
  },
  wide({ name: "Subobject", of: (event) => text(at(event, "involvedObject", "fieldPath"), "") }),
  wide({ name: "Source", of: source }),
  { name: "Message", of: (event) => text(event.message ?? event.note, "").trim() },
  wide({
    name: "First Seen",
    of: (event, now) => age(event.firstTimestamp ?? event.deprecatedFirstTimestamp ?? event.eventTime, now),
  }),
  wide({
    name: "Count",
    of: (event) => Number(at(event, "series", "count") ?? event.count ?? event.deprecatedCount ?? 1),
  }),
  wide(NAME),
]

/** What a claim has got, once it has a volume. */
const bound = (name: string, of: (status: Json) => unknown): Column => ({
  name,
  of: (claim) => (at(claim, "spec", "volumeName") ? text(of(objectOf(claim.status)), "") : ""),
})

const CLAIM: ReadonlyArray<Column> = [
  NAME,
  field("Status", "status.phase", ""),
  field("Volume", "spec.volumeName", ""),
  bound("Capacity", (status) => at(status, "capacity", "storage")),
  bound("Access Modes", (status) => accessModes(status.accessModes)),
  field("StorageClass", "spec.storageClassName", ""),
  field("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
  AGE,
  wide(field("VolumeMode", "spec.volumeMode", "<unset>")),
]

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
}
const accessModes = (modes: unknown): string =>
  stringsOf(modes)
    .map((mode) => SHORT_MODES[mode] ?? mode)
    .join(",")

const isReady = (node: Json): boolean =>
  listOf(at(node, "status", "conditions")).some(
    (it) => at(it, "type") === "Ready" && at(it, "status") === "True",
  )

const DEFAULT: ReadonlyArray<Column> = [NAME, AGE]

const BY_KIND: Readonly<Record<string, ReadonlyArray<Column>>> = {
  Namespace: [NAME, field("Status", "status.phase"), AGE],
  Secret: [NAME, field("Type", "type", "Opaque"), keys("Data"), AGE],
  ConfigMap: [NAME, keys("Data"), AGE],
  Service: [
    NAME,
    field("Type", "spec.type"),
    field("Cluster-IP", "spec.clusterIP"),
    { name: "External-IP", of: () => "<none>" },
    { name: "Port(s)", of: (service) => text(portsOf(service)) },
    AGE,
    wide({ name: "Selector", of: (service) => selector(at(service, "spec", "selector")) }),
  ],
  Pod: [
    NAME,
    {
      name: "Ready",
      of: (pod) => `${statuses(pod).filter(({ ready }) => ready === true).length}/${containers(pod).length}`,
    },
    { name: "Status", of: podStatus },
    {
      name: "Restarts",
      of: (pod) => String(statuses(pod).reduce((sum, it) => sum + Number(it.restartCount ?? 0), 0)),
    },
    AGE,
    wide(field("IP", "status.podIP")),
    wide(field("Node", "spec.nodeName")),
    wide(field("Nominated Node", "status.nominatedNodeName")),
    wide({ name: "Readiness Gates", of: () => "<none>" }),
  ],
  PersistentVolumeClaim: CLAIM,
  PersistentVolume: [
    NAME,
    field("Capacity", "spec.capacity.storage", ""),
    { name: "Access Modes", of: (volume) => accessModes(at(volume, "spec", "accessModes")) },
    field("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", ""),
    field("Status", "status.phase", ""),
    {
      name: "Claim",
      of: (volume) => {
        const claim = objectOf(at(volume, "spec", "claimRef"))
        return claim.name === undefined ? "" : `${claim.namespace}/${claim.name}`
      },
    },
    field("StorageClass", "spec.storageClassName", ""),
    AGE,
  ],
  Node: [
    NAME,
    {
      name: "Status",
      of: (node) =>
        `${isReady(node) ? "Ready" : "NotReady"}${at(node, "spec", "unschedulable") === true ? ",SchedulingDisabled" : ""}`,
    },
    { name: "Roles", of: () => "<none>" },
    AGE,
    field("Version", "status.nodeInfo.kubeletVersion", ""),
  ],
  StatefulSet: [NAME, ratio("Ready", "status.readyReplicas", "spec.replicas"), AGE, ...TEMPLATE],
  Deployment: [
    NAME,
    ratio("Ready", "status.readyReplicas", "spec.replicas"),
    number("Up-to-date", "status.updatedReplicas"),
    number("Available", "status.availableReplicas"),
    AGE,
    ...TEMPLATE,
    SELECTOR,
  ],
  ReplicaSet: [
    NAME,
    number("Desired", "spec.replicas"),
    number("Current", "status.replicas"),
    number("Ready", "status.readyReplicas"),
    AGE,
    ...TEMPLATE,
    SELECTOR,
  ],
  DaemonSet: [
    NAME,
    number("Desired", "status.desiredNumberScheduled"),
    number("Current", "status.currentNumberScheduled"),
    number("Ready", "status.numberReady"),
    number("Up-to-date", "status.updatedNumberScheduled"),
    number("Available", "status.numberAvailable"),
    {
      name: "Node Selector",
      of: (set) => selector(at(set, "spec", "template", "spec", "nodeSelector")),
    },
    AGE,
    ...TEMPLATE,
    SELECTOR,
  ],
  Job: [
    NAME,
    { name: "Status", of: jobState },
    ratio("Completions", "status.succeeded", "spec.completions"),
    duration,
    AGE,
    ...TEMPLATE,
    SELECTOR,
  ],
  NetworkPolicy: [
    NAME,
    { name: "Pod-Selector", of: (policy) => selector(at(policy, "spec", "podSelector", "matchLabels")) },
    AGE,
  ],
  Lease: [NAME, field("Holder", "spec.holderIdentity", ""), AGE],
  Role: [NAME, CREATED],
  ClusterRole: [NAME, CREATED],
  RoleBinding: [NAME, ROLE, AGE, ...SUBJECTS],
  ClusterRoleBinding: [NAME, ROLE, AGE, ...SUBJECTS],
  CustomResourceDefinition: [NAME, CREATED],
  StorageClass: [
    NAME,
    field("Provisioner", "provisioner"),
    field("ReclaimPolicy", "reclaimPolicy", "Delete"),
    field("VolumeBindingMode", "volumeBindingMode", "Immediate"),
    { name: "AllowVolumeExpansion", of: ({ allowVolumeExpansion }) => allowVolumeExpansion === true },
    AGE,
  ],
  Event: EVENT,
}

/** The columns of a built-in kind. */
export const columnsOf = (kind: string): ReadonlyArray<Column> => BY_KIND[kind] ?? DEFAULT

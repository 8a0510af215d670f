// What a world has come to, in a form in which two worlds can be compared. What is another one in each run by its
// nature (UIDs, versions, times, addresses, random parts of names) is left out, or named by where it is first seen:
// what was the same value in two places has the same name in both.
import { Predicate } from "effect"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { kindsOf } from "../controllers/Kinds.ts"
import type { ApiServer } from "../kubernetes/ApiServer.ts"

export interface EndState {
  /** `host Secret team-a/shop-kubeconfig` to its JSON. */
  readonly objects: ReadonlyMap<string, string>
  /** How many objects of that kind and name there have ever been. */
  readonly made: ReadonlyMap<string, number>
  /** Paths, with what is known of each. */
  readonly files: ReadonlyMap<string, string>
}

const uidPattern = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** What is another one in each run, and says nothing. */
const meaningless: ReadonlyArray<readonly [RegExp, string]> = [
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z/g, "<time>"],
  // Seconds and milliseconds since the epoch.
  [/\b1[78]\d{8}(\d{3})?\b/g, "<time>"],
  [/"repairEarly":[\d.e-]+/g, "<chance>"],
  [/\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/g, "<address>"],
  [/\b[0-9a-f]{64}\b/g, "<hex>"],
  [/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g, "<certificate>"],
  // The random part that the server or a controller puts at the end of a name; synced objects go on behind it.
  [/-[bcdfghjklmnpqrstvwxz2456789]{5}(?=$|-x-)/g, "-<random>"],
]

/** Names what is the same in two places by the place where it is first seen. */
class Names {
  private readonly uids = new Map<string, string>()
  private readonly values = new Map<string, string>()

  learn(uid: string, key: string): void {
    this.uids.set(uid, key)
  }

  /** A UID by the object it is of; what follows a dot behind it is a version. */
  text(text: string): string {
    const named = text.replaceAll(uidPattern, (uid) => `<uid of ${this.uids.get(uid) ?? "nobody"}>`)
    return meaningless
      .reduce((result, [pattern, name]) => result.replaceAll(pattern, name), named)
      .replaceAll(/(<uid of [^>]*(?:<random>)?[^>]*>)\.\d+/g, "$1")
  }

  value(value: string, place: string): string {
    const known = this.values.get(value) ?? `<value of ${place}>`
    this.values.set(value, known)
    return known
  }
}

/** Of no meaning by themselves, or counters of how often something was done. */
const dropped = new Set([
  "resourceVersion",
  "managedFields",
  "creationTimestamp",
  "generation",
  "observedGeneration",
  "restartCount",
  "nodePort",
  "healthCheckNodePort",
])

/** Conditions are a set by their types: their order says only which came first. */
const isConditions = (value: ReadonlyArray<unknown>): boolean =>
  value.every((each) => Predicate.isObject(each) && "type" in each && "status" in each)

const normalValue = (names: Names, value: unknown): unknown => {
  if (typeof value === "string") return names.text(value)
  if (Array.isArray(value) && isConditions(value)) {
    const normal = value.map((each) => normalValue(names, each))
    return normal.sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1))
  }
  if (Array.isArray(value)) return value.map((each) => normalValue(names, each))
  if (!Predicate.isObject(value)) return value
  const entries = Object.entries(value)
    .filter(([key]) => !dropped.has(key))
    .sort(([left], [right]) => (left < right ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, normalValue(names, each)]))
}

/** A Helm record holds the times of its release, compressed; its labels say what it is. */
const isHelmRecord = (object: KubeObject) => object.type === "helm.sh/release.v1"

/** The values of a Secret are not shown, only which of them are the same. */
const normalObject = (names: Names, key: string, object: KubeObject): unknown => {
  if (object.kind !== "Secret" || !Predicate.isObject(object.data)) return normalValue(names, object)
  const data = Object.entries(object.data).map(([field, value]) => [
    field,
    isHelmRecord(object) ? "<record>" : names.value(String(value), `${key} ${field}`),
  ])
  return normalValue(names, { ...object, data: Object.fromEntries(data) })
}

const randomNamed = new Set(["Pod", "EndpointSlice"])

/** A volume is called after the UID of its claim, which is another one in each run: here after the claim itself. */
const claimOf = ({ kind, spec }: KubeObject): string | undefined => {
  const claim = kind === "PersistentVolume" && Predicate.isObject(spec) ? spec.claimRef : undefined
  if (!Predicate.isObject(claim)) return undefined
  const { namespace, name }: Readonly<Record<string, unknown>> = { ...claim }
  return `of ${namespace}/${name}`
}

const keyOf = (server: string, object: KubeObject): string => {
  const { kind, metadata } = object
  const claim = claimOf(object)
  if (claim !== undefined) return `${server} ${kind} ${claim}`
  const name = randomNamed.has(kind)
    ? metadata.name.replace(/-[bcdfghjklmnpqrstvwxz2456789]{5}(?=$|-x-)/, "-<random>")
    : metadata.name.replaceAll(uidPattern, "<uid>").replace(/-\d{6,}$/, "-<number>")
  return `${server} ${kind} ${metadata.namespace === undefined ? name : `${metadata.namespace}/${name}`}`
}

/** Told, not made: how often depends on the way, not on the end. The operator's own pod is what dies. */
const isLeftOut = ({ kind, metadata }: KubeObject) =>
  kind === "Event" ||
  kind === "Lease" ||
  (kind === "ConfigMap" && metadata.name.endsWith("-history")) ||
  metadata.labels?.["app.kubernetes.io/name"] === "platform-operator"

/** Keeps the books of one server: what is there, and what has ever been. */
export interface Ledger {
  readonly server: string
  readonly present: () => Iterable<KubeObject>
  readonly made: ReadonlyMap<string, number>
  /** The keys of all objects that have ever been, by their UIDs. */
  readonly uids: ReadonlyMap<string, string>
}

export const keepLedger = (api: ApiServer): Ledger => {
  const present = new Map<string, KubeObject>()
  const made = new Map<string, number>()
  const uids = new Map<string, string>()
  const see = (object: KubeObject) => {
    if (isLeftOut(object)) return
    const key = keyOf(api.name, object)
    // What was listed may also be on its way as an event: the server tells its followers of a write later.
    const isNew = !uids.has(object.metadata.uid)
    present.set(object.metadata.uid, object)
    uids.set(object.metadata.uid, key)
    if (isNew) made.set(key, (made.get(key) ?? 0) + 1)
  }
  const client = api.as("kubernetes-admin")
  for (const kind of kindsOf(client)) for (const object of client.list(kind)) see(object)
  api.subscribe(({ type, object }) => {
    if (type === "DELETED") present.delete(object.metadata.uid)
    else see(object)
  })
  return { server: api.name, present: () => present.values(), made, uids }
}

/** A file of which is known what it says, or only that it is there. */
export interface FoundFile {
  readonly path: string
  readonly about: string
}

/** Times and counters in the names of files. */
const stablePath = (path: string) =>
  path.replaceAll(/\d{10,}/g, "<number>").replaceAll(/\b[0-9a-f]{12}\b/g, "<hex>")

export const endState = (ledgers: ReadonlyArray<Ledger>, files: Iterable<FoundFile>): EndState => {
  const names = new Names()
  for (const { uids } of ledgers) for (const [uid, key] of uids) names.learn(uid, key)
  const objects = ledgers
    .flatMap((ledger) =>
      [...ledger.present()].map((object) => ({ key: keyOf(ledger.server, object), object })),
    )
    .sort((left, right) => (left.key < right.key ? -1 : 1))
    .map(({ key, object }) => [key, JSON.stringify(normalObject(names, key, object), null, 1)] as const)
  const made = ledgers.flatMap((ledger) => [...ledger.made])
  const found = [...files].map(
    ({ path, about }) => [names.text(stablePath(path)), names.text(about)] as const,
  )
  return { objects: new Map(objects), made: new Map(made), files: new Map(found.sort()) }
}

/** The lines of two texts that differ. */
const differentLines = (expected: string, found: string): ReadonlyArray<string> => {
  const left = expected.split("\n")
  const right = found.split("\n")
  const onlyIn = (lines: ReadonlyArray<string>, others: ReadonlyArray<string>) => {
    const known = new Set(others)
    return lines.filter((line) => !known.has(line)).map((line) => line.trim())
  }
  return [
    ...onlyIn(left, right).map((line) => `- ${line}`),
    ...onlyIn(right, left).map((line) => `+ ${line}`),
  ]
}

const compare = (
  what: string,
  expected: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
  explain: (expected: string, found: string) => string | undefined,
): ReadonlyArray<string> =>
  [...new Set([...expected.keys(), ...found.keys()])].sort().flatMap((key) => {
    const before = expected.get(key)
    const after = found.get(key)
    if (before === undefined) return [`${what} ${key}: is there, and should not be`]
    if (after === undefined) return [`${what} ${key}: is missing`]
    const difference = explain(before, after)
    return difference === undefined ? [] : [`${what} ${key}: ${difference}`]
  })

/** What was made more often: to be made less often is no harm, and what is missing in the end is said beside it. */
const madeAgain = (
  expected: ReadonlyMap<string, number>,
  found: ReadonlyMap<string, number>,
): ReadonlyArray<string> =>
  [...found].sort().flatMap(([key, times]) => {
    const before = expected.get(key) ?? 0
    return times > before ? [`made ${key}: ${times} times instead of ${before}`] : []
  })

/** Each difference in a line or two that can be read; none when the worlds came to the same end. */
export const differences = (expected: EndState, found: EndState): ReadonlyArray<string> => {
  const lines = (left: string, right: string) =>
    left === right ? undefined : differentLines(left, right).join(" ")
  return [
    ...compare("object", expected.objects, found.objects, lines),
    ...madeAgain(expected.made, found.made),
    ...compare("file", expected.files, found.files, lines),
  ]
}

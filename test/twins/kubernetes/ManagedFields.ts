// Who owns which field of an object: `metadata.managedFields`.
import {
  compare,
  difference,
  EMPTY,
  type FieldSet,
  fieldsOf,
  intersection,
  isEmpty,
  pathsOf,
  union,
  withoutIdentity,
  withoutPath,
} from "./FieldSets.ts"
import { at, equal, isJson, type Json, listOf, objectOf, textOf, withPath } from "./Json.ts"
import { mergeObject, pruneObject } from "./Merge.ts"
import type { Resource } from "./Resources.ts"
import { applyConflict } from "./Status.ts"

export interface Writer {
  readonly manager: string
  readonly operation: "Apply" | "Update"
  /** Of the version that it wrote. */
  readonly apiVersion: string
  readonly subresource: string | undefined
  /** RFC 3339, to the second. */
  readonly time: string | undefined
}

interface Entry extends Writer {
  readonly fields: FieldSet
}

const same = (left: Writer, right: Writer): boolean =>
  left.manager === right.manager &&
  left.operation === right.operation &&
  left.apiVersion === right.apiVersion &&
  left.subresource === right.subresource

const readEntries = (object: Json): ReadonlyArray<Entry> =>
  listOf(at(object, "metadata", "managedFields"))
    .filter(isJson)
    .map((entry) => ({
      manager: textOf(entry.manager) ?? "",
      operation: entry.operation === "Apply" ? "Apply" : "Update",
      apiVersion: textOf(entry.apiVersion) ?? "",
      subresource: textOf(entry.subresource),
      time: textOf(entry.time),
      fields: objectOf(entry.fieldsV1),
    }))

const byText = (a = "", b = ""): number => {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Applies first, then updates; the older first (one that changed nothing has no time), then by name. */
const order = (a: Entry, b: Entry): number =>
  byText(a.operation, b.operation) ||
  byText(a.time, b.time) ||
  byText(a.manager, b.manager) ||
  byText(a.apiVersion, b.apiVersion) ||
  byText(a.subresource, b.subresource)

const writeEntries = (object: Json, entries: ReadonlyArray<Entry>): Json => {
  const written = [...entries]
    .filter((entry) => !isEmpty(entry.fields) || entry.operation === "Apply")
    .sort(order)
    .map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
      manager,
      operation,
      apiVersion,
      ...(time !== undefined && { time }),
      fieldsType: "FieldsV1",
      fieldsV1: fields,
      ...(subresource !== undefined && { subresource }),
    }))
  return withPath(object, ["metadata", "managedFields"], written.length === 0 ? undefined : written)
}

const withoutOwners = (object: Json): Json => withPath(object, ["metadata", "managedFields"], undefined)

/** Fields that a request to this place does not write. */
const reset = (resource: Resource, subresource: string | undefined, fields: FieldSet): FieldSet => {
  const owned = withoutIdentity(fields)
  if (!resource.status) return owned
  if (subresource !== "status") return withoutPath(owned, ["f:status"])
  const written = withoutPath(owned, ["f:spec"])
  return resource.kind.kind === "Deployment" ? withoutPath(written, ["f:metadata", "f:labels"]) : written
}

/** What an empty object of the kind consists of: its structs are there and belong to nobody. */
const blank = (resource: Resource): Json => {
  if (resource.schema !== undefined) return { metadata: {} }
  const podTemplate = { metadata: {}, spec: { containers: null } }
  const spec: Readonly<Record<string, Json>> = {
    Pod: { containers: null },
    Deployment: { template: podTemplate, strategy: {} },
    ReplicaSet: { template: podTemplate },
    DaemonSet: { template: podTemplate, updateStrategy: {} },
    StatefulSet: { template: podTemplate, updateStrategy: {} },
    Job: { template: podTemplate },
    PersistentVolumeClaim: { resources: {} },
    NetworkPolicy: { podSelector: {} },
  }
  return {
    metadata: {},
    spec: spec[resource.kind.kind] ?? {},
    status: resource.kind.kind === "Service" ? { loadBalancer: {} } : {},
    roleRef: {},
    rules: null,
    involvedObject: {},
    regarding: {},
    source: {},
  }
}

/** The object with its owners after a create, a PUT or a patch by `writer`. */
export const ownByUpdate = (
  resource: Resource,
  before: Json | undefined,
  after: Json,
  writer: Writer,
): Json => {
  const entries = before === undefined ? [] : readEntries(after)
  const bare = withoutOwners(after)
  // An object that nobody owned a field of stays so (1.35, seen).
  if (before !== undefined && entries.length === 0) return bare
  const change = compare(
    resource.listTypes,
    before === undefined ? blank(resource) : withoutOwners(before),
    bare,
  )
  const mine = reset(resource, writer.subresource, union(change.added, change.modified))
  const old = entries.find((entry) => same(entry, writer))
  const fields = union(difference(old?.fields ?? EMPTY, change.removed), mine)
  const touched = union(mine, withoutIdentity(change.removed))
  const others = entries
    .filter((entry) => entry !== old)
    .map((entry) => ({ ...entry, fields: difference(entry.fields, touched) }))
    .filter((entry) => !isEmpty(entry.fields))
  const unchanged = old !== undefined && equal(old.fields, fields)
  return writeEntries(bare, [...others, { ...writer, time: unchanged ? old.time : writer.time, fields }])
}

const conflictText = (entry: Entry): string => {
  const by = `conflict with ${JSON.stringify(entry.manager)}`
  const subresource =
    entry.subresource === undefined ? "" : ` with subresource ${JSON.stringify(entry.subresource)}`
  return entry.operation === "Apply" ? `${by}${subresource}` : `${by}${subresource} using ${entry.apiVersion}`
}

const refuseConflicts = (conflicts: ReadonlyArray<readonly [Entry, FieldSet]>): void => {
  const causes = conflicts.flatMap(([entry, fields]) =>
    pathsOf(fields).map((field) => ({ reason: "FieldManagerConflict", message: conflictText(entry), field })),
  )
  if (causes.length === 0) return
  const lines =
    causes.length === 1
      ? ` 1 conflict: ${causes[0]?.message}: ${causes[0]?.field}`
      : ` ${causes.length} conflicts: ${[...Map.groupBy(causes, ({ message }) => message)]
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([message, group]) =>
            [`${message.replace("conflict", "conflicts")}:`, ...group.map(({ field }) => `- ${field}`)].join(
              "\n",
            ),
          )
          .join("\n")}`
  throw applyConflict(`Apply failed with${lines}`, causes)
}

/** The owners of a live object; of one without any, all its fields belong to "before-first-apply". */
const ownersOf = (resource: Resource, live: Json, writer: Writer): ReadonlyArray<Entry> => {
  const entries = readEntries(live)
  if (entries.length > 0) return entries
  const fields = reset(resource, undefined, fieldsOf(resource.listTypes, live))
  return [{ ...writer, manager: "before-first-apply", operation: "Update", subresource: undefined, fields }]
}

/**
 * The object after a server-side apply. Throws the conflict with other managers, unless it is forced. An apply that
 * changes nothing keeps its time.
 */
export const ownByApply = (
  resource: Resource,
  live: Json | undefined,
  manifest: Json,
  writer: Writer,
  force: boolean,
): Json => {
  const types = resource.listTypes
  const entries = live === undefined ? [] : ownersOf(resource, live, writer)
  const before = live === undefined ? undefined : withoutOwners(live)
  const applied = withoutOwners(manifest)
  const fields = reset(resource, writer.subresource, fieldsOf(types, applied))
  const old = entries.find((entry) => same(entry, writer))
  const others = entries.filter((entry) => entry !== old)
  const kept = others.reduce((set, entry) => union(set, entry.fields), fields)
  const merged = before === undefined ? applied : mergeObject(types, before, applied)
  const pruned = pruneObject(types, merged, old?.fields ?? EMPTY, kept)
  const change = compare(types, before ?? {}, pruned)
  const written = union(change.added, change.modified)
  const conflicts = others.map((entry) => [entry, intersection(entry.fields, written)] as const)
  if (!force) refuseConflicts(conflicts)
  const left = conflicts
    .map(([entry, lost]) => ({
      ...entry,
      fields: difference(difference(entry.fields, lost), withoutIdentity(change.removed)),
    }))
    .filter((entry) => !isEmpty(entry.fields))
  // An apply that changes nothing of the object leaves the time as it was, or none at all.
  const changed = !isEmpty(written) || !isEmpty(change.removed)
  const mine = { ...writer, time: changed ? writer.time : old?.time, fields }
  return writeEntries(pruned, [...left, mine])
}

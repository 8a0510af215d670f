// Why an edit was refused although nothing in it is wrong: what somebody else has changed since the form was opened, and
// who it was, by the object's managedFields.
import { equal } from "./cel.ts"
import { diff } from "./patch.ts"
import { isList, isObject, type Json, type JsonObject, type Path, pathText, valueAt } from "./schema.ts"

export interface Change {
  /** `spec.platform.tenants[0].name` */
  readonly field: string
  readonly before: Json | undefined
  readonly after: Json | undefined
  /** Who owns the field now; several when they share it, none when nobody is recorded. */
  readonly by: ReadonlyArray<Author>
}
export interface Author {
  readonly manager: string
  readonly time: string | undefined
}
export type Conflict =
  | { readonly kind: "none" }
  | { readonly kind: "gone" }
  | { readonly kind: "replaced" }
  | { readonly kind: "deleting" }
  | {
      readonly kind: "changed"
      readonly changes: ReadonlyArray<Change>
      readonly authors: ReadonlyArray<Author>
    }

interface Entry extends Author {
  readonly fields: Json
}

const text = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined)

const entriesOf = (object: JsonObject): ReadonlyArray<Entry> => {
  const managed = valueAt(object, ["metadata", "managedFields"])
  if (!isList(managed)) return []
  return managed.flatMap((entry) => {
    if (!isObject(entry) || entry.subresource === "status") return []
    const manager = text(entry.manager)
    return manager === undefined ? [] : [{ manager, time: text(entry.time), fields: entry.fieldsV1 ?? {} }]
  })
}

/** The name that managedFields have for a step: a field, or the entry of a map list by its key. */
const stepName = (object: JsonObject, path: Path, depth: number): string => {
  const key = path[depth]
  if (typeof key === "string") return `f:${key}`
  const entry = valueAt(object, path.slice(0, depth + 1))
  const by = isObject(entry) ? (["name", "tenant", "type"].find((name) => name in entry) ?? "") : ""
  return `k:${JSON.stringify({ [by]: valueAt(entry, [by]) ?? null })}`
}

/** Whether an entry owns a place, or something in or around it that can have changed there. */
const owns = (fields: Json, object: JsonObject, path: Path): boolean => {
  let node: Json | undefined = fields
  for (let depth = 0; depth < path.length; depth++) {
    const next: Json | undefined = valueAt(node, [stepName(object, path, depth)])
    // `{}` is a leaf: the whole value belongs to the entry.
    if (next === undefined) return depth > 0 && isObject(node) && Object.keys(node).length === 0
    node = next
  }
  return true
}

const pathOf = (pointer: string, object: JsonObject): Path => {
  const path: Array<string | number> = []
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~")
    path.push(isList(valueAt(object, path)) ? Number(key) : key)
  }
  return path
}

const since = (base: ReadonlyArray<Entry>, entry: Entry): boolean =>
  !base.some(
    (old) => old.manager === entry.manager && old.time === entry.time && equal(old.fields, entry.fields),
  )

/** `base`: as the form was opened on. `current`: as it is stored now, undefined when it is not. */
export const conflictOf = (base: JsonObject, current: JsonObject | undefined): Conflict => {
  if (current === undefined) return { kind: "gone" }
  if (valueAt(base, ["metadata", "uid"]) !== valueAt(current, ["metadata", "uid"]))
    return { kind: "replaced" }
  if (valueAt(current, ["metadata", "deletionTimestamp"]) !== undefined) return { kind: "deleting" }
  const operations = diff(base.spec ?? {}, current.spec ?? {}, ["spec"])
  if (
    operations.length === 0 &&
    valueAt(base, ["metadata", "generation"]) === valueAt(current, ["metadata", "generation"])
  )
    return { kind: "none" }
  const [oldEntries, entries] = [entriesOf(base), entriesOf(current)]
  const later = entries.filter((entry) => since(oldEntries, entry))
  const author = ({ manager, time }: Entry): Author => ({ manager, time })
  const changes = operations.map((operation): Change => {
    const path = pathOf(operation.path, operation.op === "add" ? current : base)
    const by = later.filter(({ fields }) => operation.op !== "remove" && owns(fields, current, path))
    return {
      field: pathText(path),
      before: operation.op === "add" ? undefined : valueAt(base, path),
      after: operation.op === "remove" ? undefined : valueAt(current, path),
      // A field that is gone has no owner: it was one of those who have written since.
      by: (by.length > 0 ? by : later).map(author),
    }
  })
  return { kind: "changed", changes, authors: later.map(author) }
}

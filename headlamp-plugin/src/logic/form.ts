// What a form holds and how it becomes the object that is sent. A draft has the object's own shape, so that what the
// form does not show (fields of a newer CRD, labels) goes through it untouched; only a number that does not read as one
// is kept as the text that was typed.
import {
  apiVersion,
  isList,
  isObject,
  type Json,
  type JsonObject,
  kind,
  type Path,
  rootSchema,
  type Schema,
  schemaAt,
  valueAt,
} from "./schema.ts"

export type Draft = JsonObject

/** What a new instance begins with: what is required and can only be one thing, and the defaults that a user should see. */
export const newDraft = (namespace: string, version: string): Draft => ({
  apiVersion,
  kind,
  metadata: { name: "", namespace },
  spec: {
    version,
    target: { type: schemaAt(["spec", "target", "type"])?.enum?.[0] ?? "" },
    deletionPolicy: schemaAt(["spec", "deletionPolicy"])?.default ?? "Delete",
  },
})

/** The draft of a stored object: what a user may change, and what identifies it. */
export const draftOf = (stored: JsonObject): Draft => {
  const metadata = isObject(stored.metadata) ? stored.metadata : {}
  const kept = ["name", "namespace"].flatMap((key): Array<[string, Json]> => {
    const value = metadata[key]
    return value === undefined ? [] : [[key, value]]
  })
  return {
    apiVersion,
    kind,
    metadata: Object.fromEntries(kept),
    spec: isObject(stored.spec) ? stored.spec : {},
  }
}

/** The object that a draft is sent as. */
export const objectOf = (draft: Draft): JsonObject => draft

/** A field's text as the value it stands for; nothing for none. */
export const parseField = (text: string, schema: Schema | undefined): Json | undefined => {
  if (text === "") return undefined
  if (schema?.type !== "integer") return text
  const value = Number(text)
  return /^-?\d+$/.test(text.trim()) && Number.isSafeInteger(value) ? value : text
}

/** The text a value is shown as. */
export const fieldText = (value: Json | undefined): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : String(value)

const isEmpty = (value: Json): boolean => isObject(value) && Object.keys(value).length === 0

const set = (
  node: Json | undefined,
  path: Path,
  value: Json | undefined,
  schema: Schema | undefined,
): Json | undefined => {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (typeof key === "number") {
    const items = isList(node) ? node : []
    const next = set(items[key], rest, value, schema?.items)
    return items.map((item, i) => (i === key ? (next ?? {}) : item))
  }
  const before = isObject(node) ? node : {}
  const child = schema?.properties?.[key]
  const next = set(before[key], rest, value, child)
  const { [key]: _, ...others } = before
  // An object that the last field has left goes with it, unless it has to be there.
  const gone = next === undefined || (rest.length > 0 && value === undefined && isEmpty(next))
  if (!gone) return { ...before, [key]: next }
  if (schema?.required?.includes(key) && next !== undefined) return { ...before, [key]: next }
  return others
}

/** The draft with one place set to a value, or without it. What has not changed stays the very same object. */
export const setValue = (draft: Draft, path: Path, value: Json | undefined): Draft => {
  const next = set(draft, path, value, rootSchema)
  return isObject(next) ? next : draft
}

/** The draft with the text of one field. */
export const setField = (draft: Draft, path: Path, text: string): Draft =>
  setValue(draft, path, parseField(text, schemaAt(path)))

export const listAt = (draft: Draft, path: Path): ReadonlyArray<Json> => {
  const value = valueAt(draft, path)
  return isList(value) ? value : []
}

export const addEntry = (draft: Draft, path: Path, entry: JsonObject): Draft =>
  setValue(draft, path, [...listAt(draft, path), entry])

/** Without one entry; a list that the last one has left goes too. */
export const removeEntry = (draft: Draft, path: Path, index: number): Draft => {
  const rest = listAt(draft, path).filter((_, i) => i !== index)
  const required = schemaAt(path.slice(0, -1))?.required?.includes(String(path.at(-1))) ?? false
  return setValue(draft, path, rest.length === 0 && !required ? undefined : rest)
}

/** A name given to a tenant goes on in the memberships that named the old one; a name somebody else has is left alone. */
export const renameTenant = (draft: Draft, index: number, name: string): Draft => {
  const tenants: Path = ["spec", "platform", "tenants"]
  const old = valueAt(draft, [...tenants, index, "name"])
  const renamed = setField(draft, [...tenants, index, "name"], name)
  const alone = listAt(draft, tenants).filter((tenant) => valueAt(tenant, ["name"]) === old).length === 1
  if (typeof old !== "string" || old === "" || !alone) return renamed
  const users: Path = ["spec", "platform", "users"]
  return listAt(renamed, users).reduce<Draft>((after, user, u) => {
    const memberships = valueAt(user, ["memberships"])
    if (!isList(memberships)) return after
    return memberships.reduce<Draft>(
      (next, membership, m) =>
        valueAt(membership, ["tenant"]) === old
          ? setValue(next, [...users, u, "memberships", m, "tenant"], name)
          : next,
      after,
    )
  }, renamed)
}

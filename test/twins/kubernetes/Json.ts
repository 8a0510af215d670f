// Plain JSON, as the objects of the API are. Values are never changed in place; stored ones are frozen.

export type Json = Readonly<Record<string, unknown>>

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

const NONE: Json = Object.freeze({})

/** The object, or an empty one in place of anything else. */
export const objectOf = (value: unknown): Json => (isJson(value) ? value : NONE)

export const listOf = (value: unknown): ReadonlyArray<unknown> => (isList(value) ? value : [])

export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

export const stringsOf = (value: unknown): ReadonlyArray<string> =>
  listOf(value).filter((item) => typeof item === "string")

/** The value under a path of fields. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown => {
  let found = value
  for (const field of path) {
    if (!isJson(found)) return undefined
    found = found[field]
  }
  return found
}

export const without = (object: Json, ...fields: ReadonlyArray<string>): Json => {
  if (!fields.some((field) => field in object)) return object
  return Object.fromEntries(Object.entries(object).filter(([field]) => !fields.includes(field)))
}

/** The object with a field set, or without it when the value is undefined. */
export const withField = (object: Json, field: string, value: unknown): Json =>
  value === undefined ? without(object, field) : { ...object, [field]: value }

/** The same under a path; objects on the way are made. */
export const withPath = (object: Json, path: ReadonlyArray<string>, value: unknown): Json => {
  const [field, ...rest] = path
  if (field === undefined) return object
  return withField(object, field, rest.length === 0 ? value : withPath(objectOf(object[field]), rest, value))
}

export const equal = (left: unknown, right: unknown): boolean => {
  if (left === right) return true
  if (isList(left)) {
    return (
      isList(right) && left.length === right.length && left.every((item, index) => equal(item, right[index]))
    )
  }
  if (!isJson(left) || !isJson(right)) return false
  const fields = Object.keys(left)
  return (
    fields.length === Object.keys(right).length &&
    fields.every((field) => field in right && equal(left[field], right[field]))
  )
}

/** Freezes what is not frozen yet, all the way down, but for bytes, which cannot be. */
export const freeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value) && !ArrayBuffer.isView(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) freeze(item)
  }
  return value
}

/** A copy without fields that are undefined, as a passage through JSON text makes one. */
export const clone = (value: unknown): unknown => {
  if (isList(value)) return value.map((item) => (item === undefined ? null : clone(item)))
  if (!isJson(value)) return value
  const copy: Record<string, unknown> = {}
  for (const [field, item] of Object.entries(value)) if (item !== undefined) copy[field] = clone(item)
  return copy
}

const sorted = (value: unknown): unknown => {
  if (isList(value)) return value.map(sorted)
  if (!isJson(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([field, item]) => [field, sorted(item)]),
  )
}

/** Its text with fields in alphabetical order. */
export const canonical = (value: unknown): string => JSON.stringify(sorted(value))

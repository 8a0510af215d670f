// What the API server makes of an object before it judges it: nulls dropped, defaults filled in.
import { isList, isObject, type Json, own, type Schema } from "./schema.ts"

/** The server drops a null where a field may not be null, before it looks for defaults and missing fields. */
export const dropNulls = (value: Json, schema: Schema | undefined): Json => {
  if (isList(value)) return value.map((item) => dropNulls(item, schema?.items))
  if (!isObject(value) || schema?.properties === undefined) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, child]): Array<[string, Json]> => {
      const known = own(schema.properties, key)
      if (child === null && known !== undefined) return []
      return [[key, known === undefined ? child : dropNulls(child, known)]]
    }),
  )
}

/** With the defaults of the CRD: what its rules look at, and what is stored. */
export const withDefaults = (value: Json, schema: Schema): Json => {
  if (isList(value)) {
    const { items } = schema
    return items === undefined ? value : value.map((item) => withDefaults(item, items))
  }
  if (!isObject(value)) return value
  const filled: Record<string, Json> = { ...value }
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    const held = own(value, key)
    if (held !== undefined) filled[key] = withDefaults(held, child)
    else if (child.default !== undefined) filled[key] = child.default
  }
  return filled
}

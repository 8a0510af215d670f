// An edit taken over to what is stored now: each value that was edited as it was edited, every other as it is.
import { equal } from "./cel.ts"
import { isList, isObject, type Json, type JsonObject, own, type Schema } from "./schema.ts"

type Maybe = Json | undefined

const byKey = (list: Maybe, key: string): ReadonlyMap<string, Json> =>
  new Map((isList(list) ? list : []).map((item) => [String(isObject(item) ? item[key] : item), item]))

/** Entries of a map list belong together by their key: theirs in their order, then those that mine has added. */
const mergeEntries = (base: Maybe, mine: Json, theirs: Maybe, schema: Schema, key: string): Json => {
  const [before, edited, stored] = [byKey(base, key), byKey(mine, key), byKey(theirs, key)]
  const names = [...new Set([...stored.keys(), ...edited.keys()])]
  return names.flatMap((name) => {
    const merged = mergeAt(before.get(name), edited.get(name), stored.get(name), schema.items)
    return merged === undefined ? [] : [merged]
  })
}

function mergeAt(base: Maybe, mine: Maybe, theirs: Maybe, schema: Schema | undefined): Maybe {
  if (equal(base, mine)) return theirs
  if (equal(base, theirs)) return mine
  const [key] = schema?.["x-kubernetes-list-map-keys"] ?? []
  if (schema !== undefined && key !== undefined && isList(mine) && isList(theirs))
    return mergeEntries(base, mine, theirs, schema, key)
  if (!isObject(mine) || !isObject(theirs)) return mine
  const before = isObject(base) ? base : {}
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])]
  return Object.fromEntries(
    names.flatMap((name): Array<[string, Json]> => {
      const merged = mergeAt(
        own(before, name),
        own(mine, name),
        own(theirs, name),
        own(schema?.properties, name),
      )
      return merged === undefined ? [] : [[name, merged]]
    }),
  )
}

/** `mine` was made of `base`; `theirs` is stored now. Where both have changed a value, it is mine. */
export const merge = (base: JsonObject, mine: JsonObject, theirs: JsonObject, schema: Schema): JsonObject => {
  const merged = mergeAt(base, mine, theirs, schema)
  return isObject(merged) ? merged : theirs
}

// Server-side apply's two changes of an object: what a manifest names comes in, what its manager named before and
// nobody names now goes out.
import { child, childKeys, type FieldSet, isEmpty } from "./FieldSets.ts"
import { isJson, isList, type Json, without } from "./Json.ts"
import { itemKey, type ListTypes } from "./ListTypes.ts"

const under = (path: string, field: string) => (path === "" ? field : `${path}.${field}`)

/**
 * Items of the manifest keep its order. What only the live list has comes as early as it did there; what both have
 * stands where the manifest puts it.
 */
const mergeList = (
  types: ListTypes,
  path: string,
  type: ReadonlyArray<string> | "set",
  live: ReadonlyArray<unknown>,
  applied: ReadonlyArray<unknown>,
): ReadonlyArray<unknown> => {
  const liveByKey = new Map(live.map((item) => [itemKey(type, item), item]))
  const keys = applied.map((item) => itemKey(type, item))
  const named = new Set(keys)
  const waiting = [...liveByKey]
  const merged: Array<unknown> = []
  const takeLive = (key: string, nextShared: string | undefined) => {
    for (let front = waiting[0]; front !== undefined; front = waiting[0]) {
      const [other, item] = front
      if (other !== key && other === nextShared) return
      waiting.shift()
      if (other === key) return
      if (!named.has(other)) merged.push(item)
    }
  }
  for (const [index, item] of applied.entries()) {
    const key = keys[index] ?? ""
    takeLive(
      key,
      keys.slice(index).find((it) => liveByKey.has(it)),
    )
    merged.push(merge(types, `${path}[]`, liveByKey.get(key), item))
  }
  return [...merged, ...waiting.flatMap(([key, item]) => (named.has(key) ? [] : [item]))]
}

/** The live value with what is applied put over it. */
export const merge = (types: ListTypes, path: string, live: unknown, applied: unknown): unknown => {
  const type = types.get(path)
  if (type === "atomic") return applied
  if (isJson(live) && isJson(applied)) {
    const fields = Object.entries(applied).map(([field, value]) => [
      field,
      merge(types, under(path, field), live[field], value),
    ])
    return { ...live, ...Object.fromEntries(fields) }
  }
  return type !== undefined && isList(live) && isList(applied)
    ? mergeList(types, path, type, live, applied)
    : applied
}

/** Takes out what `last` has and `kept` has no trace of. */
export const prune = (
  types: ListTypes,
  path: string,
  value: unknown,
  last: FieldSet | undefined,
  kept: FieldSet | undefined,
): unknown => {
  if (last === undefined || types.get(path) === "atomic") return value
  const gone = new Set(childKeys(last).filter((key) => child(kept, key) === undefined))
  const inner = (key: string, at: string, item: unknown) =>
    prune(types, at, item, child(last, key), child(kept, key))
  if (isJson(value)) {
    const left = without(value, ...[...gone].flatMap((key) => (key.startsWith("f:") ? [key.slice(2)] : [])))
    return Object.fromEntries(
      Object.entries(left).map(([field, item]) => [field, inner(`f:${field}`, under(path, field), item)]),
    )
  }
  const type = types.get(path)
  if (isList(value) && type !== undefined && type !== "atomic") {
    return value
      .filter((item) => !gone.has(itemKey(type, item)))
      .map((item) => inner(itemKey(type, item), `${path}[]`, item))
  }
  return value
}

export const pruneObject = (types: ListTypes, object: Json, last: FieldSet, kept: FieldSet): Json => {
  if (isEmpty(last)) return object
  const pruned = prune(types, "", object, last, kept)
  return isJson(pruned) ? pruned : object
}

export const mergeObject = (types: ListTypes, live: Json, applied: Json): Json => {
  const merged = merge(types, "", live, applied)
  return isJson(merged) ? merged : live
}

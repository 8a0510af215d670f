// Strategic merge patches, which the built-in kinds take: lists that are maps of their items merge item by item.
import { equal, isJson, isList, type Json, listOf, objectOf, stringsOf, textOf, without } from "./Json.ts"
import type { ListType } from "./ListTypes.ts"
import type { Resource } from "./Resources.ts"
import { badRequest, reasonless } from "./Status.ts"

/** The content type of such a patch. */
export const STRATEGIC = "application/strategic-merge-patch+json"

const DIRECTIVE = "$patch"
const RETAIN = "$retainKeys"
const DELETE_ITEMS = "$deleteFromPrimitiveList/"
const ORDER = "$setElementOrder/"

/** Where this kind of patch merges otherwise than server-side apply does. */
const OTHERWISE: Readonly<Record<string, ReadonlyMap<string, ListType>>> = {
  Job: new Map([["status.conditions", ["type"]]]),
}
const ATOMIC = /\.resources\.claims$/

const listType = (resource: Resource, path: string): ListType => {
  if (ATOMIC.test(path)) return "atomic"
  return OTHERWISE[resource.kind.kind]?.get(path) ?? resource.listTypes.get(path) ?? "atomic"
}

const join = (path: string, field: string) => (path === "" ? field : `${path}.${field}`)

/**
 * The items that a patch names in its order, and the others among them: each goes before the first named one that it stood
 * before, and behind the named ones where nothing tells.
 */
const ordered = (
  items: ReadonlyArray<unknown>,
  named: ReadonlyArray<unknown>,
  before: ReadonlyArray<unknown>,
  keyOf: (item: unknown) => unknown,
): ReadonlyArray<unknown> => {
  const placeIn = (list: ReadonlyArray<unknown>, item: unknown) =>
    list.findIndex((it) => equal(keyOf(it), keyOf(item)))
  const isNamed = (item: unknown) => placeIn(named, item) >= 0
  const chosen = items.filter(isNamed).toSorted((a, b) => placeIn(named, a) - placeIn(named, b))
  const others = items.filter((item) => !isNamed(item))
  const result: Array<unknown> = []
  while (chosen.length > 0 && others.length > 0) {
    const [left, right] = [placeIn(before, others[0]), placeIn(before, chosen[0])]
    result.push(left >= 0 && right >= 0 && left < right ? others.shift() : chosen.shift())
  }
  return [...result, ...chosen, ...others]
}

/** As Go prints a value. */
export const goText = (value: unknown): string => {
  if (isList(value)) return `[${value.map(goText).join(" ")}]`
  if (!isJson(value)) return String(value)
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `map[${fields.map(([field, it]) => `${field}:${goText(it)}`).join(" ")}]`
}

const mergeItems = (
  resource: Resource,
  target: ReadonlyArray<unknown>,
  patch: ReadonlyArray<unknown>,
  key: string,
  path: string,
): ReadonlyArray<unknown> => {
  const items = patch.filter(isJson)
  const others = items.filter((item) => item[DIRECTIVE] !== "replace" || item[key] !== undefined)
  // An item that says `replace` and nothing else is about the list.
  if (others.length < items.length) return others.map((item) => clean(resource, item, `${path}[]`))
  let result = [...target]
  for (const item of items) {
    if (item[key] === undefined)
      throw reasonless(`map: ${goText(item)} does not contain declared merge key: ${key}`)
    const index = result.findIndex((it) => isJson(it) && equal(it[key], item[key]))
    if (item[DIRECTIVE] === "delete") result = index < 0 ? result : result.toSpliced(index, 1)
    else if (index < 0) result = [...result, clean(resource, item, `${path}[]`)]
    else result = result.with(index, mergeObject(resource, objectOf(result[index]), item, `${path}[]`))
  }
  return result
}

/** What a patch leaves of nothing: its values, without its directives. */
const clean = (resource: Resource, patch: Json, path: string): Json => mergeObject(resource, {}, patch, path)

const mergeList = (
  resource: Resource,
  target: unknown,
  patch: ReadonlyArray<unknown>,
  order: ReadonlyArray<unknown>,
  path: string,
): ReadonlyArray<unknown> => {
  const type = listType(resource, path)
  const before = listOf(target)
  if (type === "atomic") return patch
  const keyOf =
    type === "set" ? (item: unknown) => item : (item: unknown) => objectOf(item)[type[0] ?? "name"]
  const all =
    type === "set"
      ? [...before, ...patch.filter((item) => !before.some((it) => equal(it, item)))]
      : mergeItems(resource, before, patch, type[0] ?? "name", path)
  return ordered(all, order.length > 0 ? order : patch, before, keyOf)
}

const mergeObject = (resource: Resource, target: Json, patch: Json, path: string): Json => {
  const directive = textOf(patch[DIRECTIVE])
  if (directive === "replace") return clean(resource, without(patch, DIRECTIVE), path)
  if (directive === "delete") return {}
  const retained = patch[RETAIN] === undefined ? undefined : stringsOf(patch[RETAIN])
  const merged: Record<string, unknown> = Object.fromEntries(
    Object.entries(target).filter(([field]) => retained === undefined || retained.includes(field)),
  )
  for (const [field, value] of Object.entries(patch)) {
    if (field === DIRECTIVE || field === RETAIN || field.startsWith(ORDER)) continue
    if (field.startsWith(DELETE_ITEMS)) {
      const list = field.slice(DELETE_ITEMS.length)
      merged[list] = listOf(merged[list]).filter((item) => !listOf(value).some((gone) => equal(gone, item)))
    } else if (value === null) delete merged[field]
    else
      merged[field] = mergeValue(
        resource,
        merged[field],
        value,
        listOf(patch[ORDER + field]),
        join(path, field),
      )
  }
  // A list of which only the order is told.
  for (const field of Object.keys(patch).filter((it) => it.startsWith(ORDER))) {
    const list = field.slice(ORDER.length)
    if (
      patch[list] === undefined &&
      isList(merged[list]) &&
      listType(resource, join(path, list)) !== "atomic"
    )
      merged[list] = mergeList(resource, merged[list], [], listOf(patch[field]), join(path, list))
  }
  return merged
}

const mergeValue = (
  resource: Resource,
  target: unknown,
  value: unknown,
  order: ReadonlyArray<unknown>,
  path: string,
): unknown => {
  if (isList(value)) return mergeList(resource, target, value, order, path)
  return isJson(value) ? mergeObject(resource, objectOf(target), value, path) : value
}

/** The object with the patch in it. */
export const strategicPatch = (resource: Resource, object: Json, patch: unknown): Json => {
  if (!isJson(patch)) throw badRequest("the patch is no object")
  return mergeObject(resource, object, patch, "")
}

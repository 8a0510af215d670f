// JSON merge patch (RFC 7396) and JSON patch (RFC 6902).
import { clone, equal, isJson, isList, type Json, listOf, objectOf } from "./Json.ts"
import { badRequest, patchFailed } from "./Status.ts"

export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isJson(patch)) return patch
  const merged: Record<string, unknown> = { ...objectOf(target) }
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field]
    else merged[field] = mergePatch(merged[field], value)
  }
  return merged
}

const pointer = (path: unknown): ReadonlyArray<string> => {
  if (typeof path !== "string") throw patchFailed()
  return path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
}

const indexIn = (list: ReadonlyArray<unknown>, part: string, end: number): number => {
  if (part === "-") return list.length
  const index = Number(part)
  if (!/^\d+$/.test(part) || index > end) throw patchFailed()
  return index
}

const lookUp = (document: unknown, path: ReadonlyArray<string>): unknown => {
  let found = document
  for (const part of path) {
    if (isList(found)) found = found[indexIn(found, part, found.length - 1)]
    else if (isJson(found) && part in found) found = found[part]
    else throw patchFailed()
  }
  return found
}

type Edit = (holder: unknown, part: string) => unknown

/** The document with the holder of the last part of a path edited. */
const edit = (document: unknown, path: ReadonlyArray<string>, change: Edit): unknown => {
  const [part, ...rest] = path
  if (part === undefined) throw patchFailed()
  if (rest.length === 0) return change(document, part)
  const inner = edit(lookUp(document, [part]), rest, change)
  if (isList(document)) return document.with(indexIn(document, part, document.length - 1), inner)
  return { ...objectOf(document), [part]: inner }
}

const add =
  (value: unknown): Edit =>
  (holder, part) => {
    if (isList(holder)) return holder.toSpliced(indexIn(holder, part, holder.length), 0, value)
    if (!isJson(holder)) throw patchFailed()
    return { ...holder, [part]: value }
  }

const replace =
  (value: unknown): Edit =>
  (holder, part) => {
    lookUp(holder, [part])
    if (isList(holder)) return holder.with(indexIn(holder, part, holder.length - 1), value)
    return { ...objectOf(holder), [part]: value }
  }

const remove: Edit = (holder, part) => {
  lookUp(holder, [part])
  if (isList(holder)) return holder.toSpliced(indexIn(holder, part, holder.length - 1), 1)
  return Object.fromEntries(Object.entries(objectOf(holder)).filter(([field]) => field !== part))
}

const step = (document: unknown, operation: Json): unknown => {
  const path = pointer(operation.path)
  switch (operation.op) {
    case "add":
      return path.length === 0 ? operation.value : edit(document, path, add(operation.value))
    case "replace":
      return path.length === 0 ? operation.value : edit(document, path, replace(operation.value))
    case "remove":
      return edit(document, path, remove)
    case "test": {
      if (!equal(lookUp(document, path), operation.value)) throw patchFailed()
      return document
    }
    case "copy":
      return edit(document, path, add(lookUp(document, pointer(operation.from))))
    case "move": {
      const from = pointer(operation.from)
      return edit(edit(document, from, remove), path, add(lookUp(document, from)))
    }
    default:
      throw patchFailed()
  }
}

export const jsonPatch = (document: Json, operations: unknown): unknown => {
  if (!isList(operations))
    throw badRequest("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
  return listOf(operations).filter(isJson).reduce<unknown>(step, clone(document))
}

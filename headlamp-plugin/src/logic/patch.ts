// An edit as a JSON Patch (RFC 6902) of what has changed and nothing else, guarded against somebody else's change.
import { equal } from "./cel.ts"
import { isList, isObject, type Json, type JsonObject, type Path, valueAt } from "./schema.ts"

export type Operation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: Json }
  | { readonly op: "remove"; readonly path: string }

/** RFC 6901. */
export const pointer = (path: Path): string =>
  path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")

const diffLists = (a: ReadonlyArray<Json>, b: ReadonlyArray<Json>, path: Path): ReadonlyArray<Operation> => {
  let start = 0
  while (start < a.length && start < b.length && equal(a[start], b[start])) start++
  let end = 0
  while (
    end < a.length - start &&
    end < b.length - start &&
    equal(a[a.length - 1 - end], b[b.length - 1 - end])
  )
    end++
  const [before, after] = [a.slice(start, a.length - end), b.slice(start, b.length - end)]
  const both = Math.min(before.length, after.length)
  return [
    ...before.slice(0, both).flatMap((item, i) => diffAt(item, after[i] ?? null, [...path, start + i])),
    // From the end on, so that no index moves under the next operation.
    ...before
      .slice(both)
      .map((_, i): Operation => ({ op: "remove", path: pointer([...path, start + before.length - 1 - i]) })),
    ...after
      .slice(both)
      .map((value, i): Operation => ({ op: "add", path: pointer([...path, start + both + i]), value })),
  ]
}

function diffAt(a: Json, b: Json, path: Path): ReadonlyArray<Operation> {
  if (equal(a, b)) return []
  if (isList(a) && isList(b)) return diffLists(a, b, path)
  if (!isObject(a) || !isObject(b)) return [{ op: "replace", path: pointer(path), value: b }]
  return [
    ...Object.keys(a).flatMap((key): ReadonlyArray<Operation> => {
      const [before, after] = [a[key] ?? null, b[key]]
      if (!Object.hasOwn(b, key) || after === undefined)
        return [{ op: "remove", path: pointer([...path, key]) }]
      return diffAt(before, after, [...path, key])
    }),
    ...Object.keys(b).flatMap((key): ReadonlyArray<Operation> => {
      const value = b[key]
      return Object.hasOwn(a, key) || value === undefined
        ? []
        : [{ op: "add", path: pointer([...path, key]), value }]
    }),
  ]
}

/** What turns `before` into `after`, below `path`. */
export const diff = (before: Json, after: Json, path: Path = []): ReadonlyArray<Operation> =>
  diffAt(before, after, path)

/**
 * The patch of an edit; nothing when there is nothing to change. UID and generation must still be those that the form was
 * opened on: a write of the status moves neither, another person's change of the spec moves the generation.
 */
export const editPatch = (base: JsonObject, edited: JsonObject): ReadonlyArray<Operation> => {
  const changes = diff(base.spec ?? {}, edited.spec ?? {}, ["spec"])
  if (changes.length === 0) return []
  const guards = ["uid", "generation"].map(
    (key): Operation => ({
      op: "test",
      path: `/metadata/${key}`,
      value: valueAt(base, ["metadata", key]) ?? null,
    }),
  )
  return [...guards, ...changes]
}

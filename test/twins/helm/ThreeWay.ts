// The patch that Helm sends when it applies on the client: what the manifest has changed since it was applied last is
// taken away or set, and what it says is set where the live object differs; everything else stays.
import { equal, isJson, isList, type Json, objectOf } from "../kubernetes/Json.ts"

/** Lists whose items have a key: by the list's name. All others are one value. */
const keys: Readonly<Record<string, string>> = {
  containers: "name",
  initContainers: "name",
  env: "name",
  volumes: "name",
  volumeMounts: "mountPath",
  imagePullSecrets: "name",
}

/** `ports` of a container have another key than those of a Service. */
const keyOf = (field: string, items: ReadonlyArray<unknown>): string | undefined => {
  if (field !== "ports") return keys[field]
  return items.some((item) => isJson(item) && "containerPort" in item) ? "containerPort" : "port"
}

const merged = (field: string, before: unknown, wanted: unknown, live: unknown): unknown => {
  if (isJson(wanted) && isJson(live)) return mergedObject(objectOf(before), wanted, live)
  if (isList(wanted) && isList(live)) {
    const key = keyOf(field, wanted)
    if (key !== undefined) return mergedList(key, isList(before) ? before : [], wanted, live)
  }
  return wanted
}

const mergedObject = (before: Json, wanted: Json, live: Json): Json => {
  const result: Record<string, unknown> = { ...live }
  for (const field of Object.keys(before)) if (!(field in wanted)) delete result[field]
  for (const [field, value] of Object.entries(wanted)) {
    result[field] = field in live ? merged(field, before[field], value, live[field]) : value
  }
  return result
}

const mergedList = (
  key: string,
  before: ReadonlyArray<unknown>,
  wanted: ReadonlyArray<unknown>,
  live: ReadonlyArray<unknown>,
): ReadonlyArray<unknown> => {
  const find = (items: ReadonlyArray<unknown>, item: unknown) =>
    items.find((other) => objectOf(other)[key] === objectOf(item)[key])
  const kept = live.filter((item) => find(wanted, item) === undefined && find(before, item) === undefined)
  const set = wanted.map((item) => {
    const there = find(live, item)
    return there === undefined ? item : merged("", find(before, item), item, there)
  })
  return [...set, ...kept]
}

/** A JSON merge patch from one object to another. */
const difference = (from: Json, to: Json): Json => {
  const patch: Record<string, unknown> = {}
  for (const field of Object.keys(from)) if (!(field in to)) patch[field] = null
  for (const [field, value] of Object.entries(to)) {
    const old = from[field]
    if (equal(old, value)) continue
    patch[field] = isJson(old) && isJson(value) ? difference(old, value) : value
  }
  return patch
}

/** The merge patch for an object: empty when nothing is to be changed. */
export const threeWayPatch = (before: Json, wanted: Json, live: Json): Json => {
  const { status: _, ...target } = mergedObject(before, wanted, live)
  const { status: _status, ...current } = live
  return difference(current, target)
}

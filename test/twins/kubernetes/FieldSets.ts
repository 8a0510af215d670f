// Sets of fields in the form of `FieldsV1`: `{"f:spec": {"f:replicas": {}}}`. A node with `"."`, or with nothing in
// it, is itself in the set; one with children alone is a way to them.
import { equal, isJson, isList, type Json } from "./Json.ts"
import { itemKey, type ListTypes } from "./ListTypes.ts"

export type FieldSet = Json

export const EMPTY: FieldSet = {}

interface Node {
  readonly member: boolean
  readonly children: ReadonlyMap<string, FieldSet>
}

/** A part of a set; undefined where the set has nothing. */
type Part = FieldSet | undefined

const NO_NODE: Node = { member: false, children: new Map() }

/** Sets that are stored are read again and again. */
const known = new WeakMap<FieldSet, Node>()

const read = (part: Part): Node => {
  if (part === undefined) return NO_NODE
  const before = known.get(part)
  if (before !== undefined) return before
  const children = new Map<string, FieldSet>()
  for (const [key, child] of Object.entries(part)) if (key !== "." && isJson(child)) children.set(key, child)
  const node = { member: "." in part || children.size === 0, children }
  if (Object.isFrozen(part)) known.set(part, node)
  return node
}

const write = (member: boolean, children: ReadonlyMap<string, FieldSet>): Part => {
  if (children.size === 0) return member ? {} : undefined
  const written: Record<string, FieldSet> = member ? { ".": {} } : {}
  for (const key of children.size === 1 ? children.keys() : [...children.keys()].sort()) {
    const child = children.get(key)
    if (child !== undefined) written[key] = child
  }
  return written
}

/** The root is never a member. */
const rooted = (part: Part): FieldSet => {
  if (part === undefined) return EMPTY
  const { member, children } = read(part)
  return member ? (write(false, children) ?? EMPTY) : part
}

const combine = (left: Part, right: Part, member: (l: boolean, r: boolean) => boolean): Part => {
  // Most parts are in one of them alone, or the same in both.
  if (right === undefined) return member(true, false) ? left : undefined
  if (left === undefined) return member(false, true) ? right : undefined
  if (left === right) return member(true, true) ? left : undefined
  const [l, r] = [read(left), read(right)]
  const children = new Map<string, FieldSet>()
  for (const key of new Set([...l.children.keys(), ...r.children.keys()])) {
    const child = combine(l.children.get(key), r.children.get(key), member)
    if (child !== undefined) children.set(key, child)
  }
  return write(member(l.member, r.member), children)
}

export const union = (left: FieldSet, right: FieldSet): FieldSet =>
  rooted(combine(left, right, (l, r) => l || r))

export const difference = (left: FieldSet, right: FieldSet): FieldSet =>
  rooted(combine(left, right, (l, r) => l && !r))

export const intersection = (left: FieldSet, right: FieldSet): FieldSet =>
  rooted(combine(left, right, (l, r) => l && r))

export const isEmpty = (set: FieldSet): boolean => read(set).children.size === 0

export const child = (set: Part, key: string): Part => read(set).children.get(key)

export const childKeys = (set: Part): ReadonlyArray<string> => [...read(set).children.keys()]

/** The set without a path and all below it. */
export const withoutPath = (set: FieldSet, path: ReadonlyArray<string>): FieldSet => {
  const drop = (part: Part, [key, ...rest]: ReadonlyArray<string>): Part => {
    if (part === undefined || key === undefined) return undefined
    const { member, children } = read(part)
    const found = children.get(key)
    if (found === undefined) return part
    const kept = new Map(children)
    const inner = rest.length === 0 ? undefined : drop(found, rest)
    if (inner === found) return part
    if (inner === undefined) kept.delete(key)
    else kept.set(key, inner)
    return write(member, kept)
  }
  return rooted(drop(set, path))
}

const PATHS_OF_IDENTITY = [
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata", "f:name"],
  ["f:metadata", "f:namespace"],
  ["f:metadata", "f:creationTimestamp"],
  ["f:metadata", "f:selfLink"],
  ["f:metadata", "f:uid"],
  ["f:metadata", "f:generation"],
  ["f:metadata", "f:managedFields"],
  ["f:metadata", "f:resourceVersion"],
] as const

/** Fields that nobody owns. */
export const withoutIdentity = (set: FieldSet): FieldSet => {
  let stripped = set
  for (const path of PATHS_OF_IDENTITY) stripped = withoutPath(stripped, path)
  const metadata = child(stripped, "f:metadata")
  return metadata !== undefined && childKeys(metadata).length === 0
    ? withoutPath(stripped, ["f:metadata"])
    : stripped
}

const under = (path: string, field: string) => (path === "" ? field : `${path}.${field}`)

const ofValue = (types: ListTypes, path: string, value: unknown, inItem: boolean): Part => {
  const type = types.get(path)
  if (isList(value) && type !== undefined && type !== "atomic") {
    const items = value.map((item): [string, FieldSet] => [
      itemKey(type, item),
      ofValue(types, `${path}[]`, item, true) ?? {},
    ])
    return write(false, new Map(items)) ?? (value.length === 0 ? undefined : {})
  }
  if (isJson(value) && type !== "atomic") {
    const fields = Object.entries(value).flatMap(([field, item]): ReadonlyArray<[string, FieldSet]> => {
      const part = ofValue(types, under(path, field), item, false)
      return part === undefined ? [] : [[`f:${field}`, part]]
    })
    // An empty map is a value of its own, and an item of a list belongs to who names it.
    return write(inItem || Object.keys(value).length === 0, new Map(fields))
  }
  return {}
}

/** The fields that a manifest names. */
export const fieldsOf = (types: ListTypes, object: Json): FieldSet =>
  rooted(ofValue(types, "", object, false))

export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

interface Parts {
  readonly added: Part
  readonly modified: Part
  readonly removed: Part
}

const NOTHING: Parts = { added: undefined, modified: undefined, removed: undefined }
const isEmptyValue = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (isJson(value) ? Object.keys(value).length === 0 : isList(value) && value.length === 0)

const isMapOrNothing = (value: unknown): value is Json | null | undefined => isJson(value) || value == null
const isListOrNothing = (value: unknown): value is ReadonlyArray<unknown> | null | undefined =>
  isList(value) || value == null

type Pairs = ReadonlyArray<readonly [key: string, path: string, before: unknown, after: unknown]>

const mapPairs = (path: string, before: Json, after: Json): Pairs =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].map((field) => [
    `f:${field}`,
    under(path, field),
    before[field],
    after[field],
  ])

const listPairs = (
  path: string,
  type: ReadonlyArray<string> | "set",
  before: ReadonlyArray<unknown>,
  after: ReadonlyArray<unknown>,
): Pairs => {
  const old = new Map(before.map((item) => [itemKey(type, item), item]))
  const young = new Map(after.map((item) => [itemKey(type, item), item]))
  return [...new Set([...old.keys(), ...young.keys()])].map((key) => [
    key,
    `${path}[]`,
    old.get(key),
    young.get(key),
  ])
}

const pairsOf = (types: ListTypes, path: string, before: unknown, after: unknown): Pairs | undefined => {
  const type = types.get(path)
  if (type === "atomic" || (isEmptyValue(before) && isEmptyValue(after))) return undefined
  if (isMapOrNothing(before) && isMapOrNothing(after)) return mapPairs(path, before ?? {}, after ?? {})
  if (type !== undefined && isListOrNothing(before) && isListOrNothing(after))
    return listPairs(path, type, before ?? [], after ?? [])
  return undefined
}

const compareAt = (types: ListTypes, path: string, before: unknown, after: unknown): Parts => {
  if (before === after) return NOTHING
  const pairs = pairsOf(types, path, before, after)
  if (pairs === undefined) {
    if (before === undefined) return { ...NOTHING, added: {} }
    if (after === undefined) return { ...NOTHING, removed: {} }
    return equal(before, after) ? NOTHING : { ...NOTHING, modified: {} }
  }
  const [added, modified, removed] = [
    new Map<string, FieldSet>(),
    new Map<string, FieldSet>(),
    new Map<string, FieldSet>(),
  ]
  for (const [key, inner, old, young] of pairs) {
    const parts = compareAt(types, inner, old, young)
    if (parts.added !== undefined) added.set(key, parts.added)
    if (parts.modified !== undefined) modified.set(key, parts.modified)
    if (parts.removed !== undefined) removed.set(key, parts.removed)
  }
  return {
    added: write(before === undefined, added),
    modified: write(false, modified),
    removed: write(after === undefined, removed),
  }
}

/** How two states of an object differ. */
export const compare = (types: ListTypes, before: Json, after: Json): Comparison => {
  const parts = compareAt(types, "", before, after)
  return { added: rooted(parts.added), modified: rooted(parts.modified), removed: rooted(parts.removed) }
}

/** The members of a set as paths: `.spec.containers[name="c"].image`. */
export const pathsOf = (set: FieldSet): ReadonlyArray<string> => {
  const text = (key: string): string => {
    if (key.startsWith("f:")) return `.${key.slice(2)}`
    if (key.startsWith("v:")) return `[=${key.slice(2)}]`
    const keys: unknown = JSON.parse(key.slice(2))
    const named = Object.entries(isJson(keys) ? keys : {}).map(
      ([name, it]) => `${name}=${JSON.stringify(it)}`,
    )
    return `[${named.join(",")}]`
  }
  const walk = (part: FieldSet, prefix: string): ReadonlyArray<string> => {
    const { member, children } = read(part)
    return [
      ...(member ? [prefix] : []),
      ...[...children].flatMap(([key, inner]) => walk(inner, `${prefix}${text(key)}`)),
    ]
  }
  return [...read(set).children].flatMap(([key, inner]) => walk(inner, text(key)))
}

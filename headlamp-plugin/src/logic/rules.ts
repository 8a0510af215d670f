// The CRD's rules over more than one field, and where their messages belong: beside the fields that break them.

import { compileRule, isTransition } from "./cel.ts"
import { type Issue, issue } from "./checks.ts"
import { isList, isObject, type Json, type Path, type Rule, type Schema, valueAt } from "./schema.ts"
import { say } from "./words.ts"

const breaks = ({ rule }: Rule, self: Json, oldSelf: Json | undefined): boolean => {
  if (isTransition(rule) && oldSelf === undefined) return false
  return compileRule(rule)({ self, oldSelf }) !== true
}

/** `object` with one value exchanged, however deep. */
const withValue = (object: Json, path: Path, value: Json): Json => {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (isList(object)) return object.map((item, i) => (i === key ? withValue(item, rest, value) : item))
  return isObject(object) ? { ...object, [key]: withValue(object[key] ?? null, rest, value) } : object
}

/** The lists right below a place. */
const listsBelow = (self: Json, at: Path): ReadonlyArray<Path> => {
  const value = valueAt(self, at)
  return isObject(value)
    ? Object.keys(value).flatMap((key) => (isList(value[key]) ? [[...at, key]] : []))
    : []
}

/** The entries that break a rule each by itself: of lists without which it would hold. */
const culprits = (rule: Rule, self: Json, at: Path): ReadonlyArray<Path> =>
  listsBelow(self, at).flatMap((path) => {
    const list = valueAt(self, path)
    if (!isList(list) || breaks(rule, withValue(self, path, []), undefined)) return []
    return list.flatMap((item, i): ReadonlyArray<Path> => {
      const alone = withValue(self, path, [item])
      if (!breaks(rule, alone, undefined)) return []
      const deeper = culprits(rule, alone, [...path, 0])
      const here = [...path, i]
      return deeper.length === 0 ? [here] : deeper.map((found) => [...here, ...found.slice(here.length)])
    })
  })

/** The fields that a rule asks for by `has(self.x)` and that are not there. */
const missing = ({ rule }: Rule, self: Json): ReadonlyArray<Path> =>
  [...new Set([...rule.matchAll(/\bhas\(self\.(\w+)\)/g)].map(([, name = ""]) => name))].flatMap((name) =>
    valueAt(self, [name]) === undefined ? [[name]] : [],
  )

/** The one field that a rule is about (`self.metadata.name`, `self.platform.storageRoot`), if it is about one. */
const fieldOf = ({ rule }: Rule): ReadonlyArray<string> | undefined => {
  const fields = [...rule.matchAll(/\bself((?:\.[A-Za-z_]\w*)+)/g)].map(([, path = ""]) => path)
  const longest = [...fields].sort((a, b) => b.length - a.length)[0]
  if (longest === undefined || !fields.every((path) => longest.startsWith(path))) return undefined
  return longest.slice(1).split(".")
}

const placesOf = (rule: Rule, self: Json): ReadonlyArray<Path> => {
  if (!isTransition(rule.rule)) {
    const entries = culprits(rule, self, [])
    if (entries.length > 0) return entries
    const absent = missing(rule, self)
    if (absent.length > 0) return absent
  }
  const one = fieldOf(rule)
  return one === undefined ? [[]] : [one]
}

/** A rule is asked only where all below it is in order (`inOrder`), as the server does. */
export const checkRules = (
  value: Json,
  old: Json | undefined,
  schema: Schema,
  path: Path,
  inOrder: (path: Path) => boolean,
): ReadonlyArray<Issue> => {
  const rules = inOrder(path) ? (schema["x-kubernetes-validations"] ?? []) : []
  const here = rules
    .filter((rule) => breaks(rule, value, old))
    .flatMap((rule) => placesOf(rule, value).map((place) => issue([...path, ...place], say(rule.message))))
  const below = Object.entries(schema.properties ?? {}).flatMap(([key, child]) => {
    const held = valueAt(value, [key])
    return held === undefined ? [] : checkRules(held, valueAt(old, [key]), child, [...path, key], inOrder)
  })
  return [...here, ...below]
}

/** Whether a field is fixed once the object is there: a rule of the CRD compares it with what is stored. */
export const isImmutable = (path: Path, schema: Schema): boolean => {
  const [key, ...below] = path
  const here = (schema["x-kubernetes-validations"] ?? []).some(
    (rule) =>
      isTransition(rule.rule) &&
      (/^\s*self == oldSelf\s*$/.test(rule.rule) || fieldOf(rule)?.join(".") === path.join(".")),
  )
  if (here || key === undefined) return here
  const next = typeof key === "number" ? schema.items : schema.properties?.[key]
  return next !== undefined && isImmutable(below, next)
}

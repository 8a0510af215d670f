// What the API server will say of a manifest under the CRD, said before it is sent.
import { checkNode, type Issue, issue, unknownField } from "./checks.ts"
import { checkMetadata } from "./metadata.ts"
import { dropNulls, withDefaults } from "./normal.ts"
import { checkRules } from "./rules.ts"
import {
  apiVersion,
  isList,
  isObject,
  type Json,
  type JsonObject,
  kind,
  own,
  type Path,
  pathText,
  rootSchema,
  type Schema,
  valueAt,
} from "./schema.ts"
import { say } from "./words.ts"

export type { Issue } from "./checks.ts"

/** A status that comes along is dropped by the server: only fields it does not know are errors. */
const unknownBelow = (value: Json, schema: Schema, path: Path): ReadonlyArray<Issue> => {
  if (isList(value)) {
    const { items } = schema
    return items === undefined ? [] : value.flatMap((item, i) => unknownBelow(item, items, [...path, i]))
  }
  const { properties } = schema
  if (!isObject(value) || properties === undefined) return []
  return Object.entries(value).flatMap(([key, child]) => {
    const property = own(properties, key)
    return property === undefined
      ? [issue([...path, key], unknownField)]
      : unknownBelow(child, property, [...path, key])
  })
}

/**
 * Everything that is wrong with a manifest. `old`: the object as it is stored, when it is to be changed; what was in it
 * before and is unknown to this CRD is somebody else's and is left alone.
 */
export const validate = (manifest: Json, old?: JsonObject): ReadonlyArray<Issue> => {
  const object = dropNulls(manifest, rootSchema)
  if (!isObject(object)) return [issue([], say("must be an object"))]
  const { status, ...rest } = object
  const stored = old === undefined ? undefined : withDefaults(dropNulls(old, rootSchema), rootSchema)
  const found = [
    ...(object.apiVersion === apiVersion
      ? []
      : [issue(["apiVersion"], say("must be {{value}}", { value: apiVersion }))]),
    ...(object.kind === kind ? [] : [issue(["kind"], say("must be {{value}}", { value: kind }))]),
    ...checkMetadata(object.metadata),
    ...checkNode(rest, rootSchema, []),
    ...unknownBelow(status ?? {}, own(rootSchema.properties, "status") ?? rootSchema, ["status"]),
  ].filter(
    ({ path, words }) =>
      !(words === unknownField && stored !== undefined && valueAt(stored, path) !== undefined),
  )
  const broken = found.map(({ path }) => pathText(path))
  const inOrder = (path: Path) => {
    const above = pathText(path)
    if (above === "") return !broken.includes("") && !broken.some((text) => text.startsWith("metadata"))
    return !broken.some(
      (text) =>
        text === above ||
        text.startsWith(`${above}.`) ||
        text.startsWith(`${above}[`) ||
        above.startsWith(`${text}.`),
    )
  }
  return [...found, ...checkRules(withDefaults(rest, rootSchema), stored, rootSchema, [], inOrder)]
}

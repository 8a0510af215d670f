// Objects as a table (`as=Table`): what kubectl prints.
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { age } from "./Age.ts"
import { type Column, columnsOf, NAME } from "./Columns.ts"
import { isJson, type Json, textOf } from "./Json.ts"
import { jsonPath } from "./JsonPath.ts"
import type { Resource } from "./Resources.ts"

/** What stands behind a row: its metadata, all of it, or nothing. */
export type Included = "Metadata" | "Object" | "None"

interface Defined extends Column {
  readonly definition: Json
}

const definition = (name: string, type: string, priority: number, format: string, words: string): Json => ({
  name,
  type,
  format,
  description: words,
  priority,
})

const builtin = (column: Column): Defined => ({
  ...column,
  definition: definition(
    column.name,
    "string",
    column.wide === true ? 1 : 0,
    column.name === NAME.name ? "name" : "",
    "",
  ),
})

/** A column of a definition: a date is written as an age, and more than one value with commas. */
const custom = (column: Json): Defined => {
  const name = textOf(column.name) ?? ""
  const type = textOf(column.type) ?? "string"
  const path = textOf(column.jsonPath) ?? ""
  return {
    name,
    definition: definition(
      name,
      type,
      Number(column.priority ?? 0),
      textOf(column.format) ?? "",
      textOf(column.description) ?? "",
    ),
    of: (object, now) => {
      const found = jsonPath(path, object)
      const [first] = found
      if (type === "date") return age(first, now)
      if (first === undefined) return null
      if (type !== "string") return first
      const words = found.map((it) => (typeof it === "string" ? it : JSON.stringify(it)))
      return words.join(",")
    },
  }
}

const AGE = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }

const known = new WeakMap<Resource, ReadonlyArray<Defined>>()

const columns = (resource: Resource): ReadonlyArray<Defined> => {
  const before = known.get(resource)
  if (before !== undefined) return before
  const own = resource.columns ?? []
  const made =
    resource.schema === undefined
      ? columnsOf(resource.kind.kind).map(builtin)
      : [builtin(NAME), ...(own.length === 0 ? [AGE] : own.filter(isJson)).map(custom)]
  known.set(resource, made)
  return made
}

const rowObject = (object: KubeObject, included: Included): Json | null => {
  if (included === "None") return null
  if (included === "Object") return object
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata }
}

/** A table of the objects, as it is at a moment: milliseconds since the epoch. */
export const tableOf = (
  resource: Resource,
  objects: ReadonlyArray<KubeObject>,
  metadata: Json,
  included: Included,
  now: number,
): Json => ({
  kind: "Table",
  apiVersion: "meta.k8s.io/v1",
  metadata,
  columnDefinitions: columns(resource).map((column) => column.definition),
  rows: objects.map((object) => ({
    cells: columns(resource).map((column) => column.of(object, now)),
    object: rowObject(object, included),
  })),
})

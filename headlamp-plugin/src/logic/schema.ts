// The CRD's schema as the plugin has it: `generated/crd.ts`, written from the operator's own by tools/generate.ts.
// What fields there are, what they may hold and what is said about them comes from there and from nowhere else.
import type { StructuralSchema } from "../../../src/schema/StructuralNode.ts"
import { crd } from "../generated/crd.ts"

export type Json = string | number | boolean | null | ReadonlyArray<Json> | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}
export type Path = ReadonlyArray<string | number>

/** A node of the schema. */
export type Schema = StructuralSchema
export type Rule = NonNullable<Schema["x-kubernetes-validations"]>[number]

export const { group, version, kind, plural, platformVersion } = crd
export const apiVersion = `${group}/${version}`
export const rootSchema: Schema = crd.schema

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
export const isList = (value: unknown): value is ReadonlyArray<Json> => Array.isArray(value)

export const own = <T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined

/** The schema of a place; undefined where this CRD knows none. */
export const schemaAt = (path: Path, from: Schema = rootSchema): Schema | undefined =>
  path.reduce<Schema | undefined>(
    (node, key) => (typeof key === "number" ? node?.items : own(node?.properties, key)),
    from,
  )

/** The value of a place; undefined where there is none. */
export const valueAt = (root: unknown, path: Path): Json | undefined => {
  let value: unknown = root
  for (const key of path) {
    if (typeof key === "number") value = isList(value) ? value[key] : undefined
    else value = isObject(value) ? own(value, key) : undefined
  }
  return value as Json | undefined
}

/** `spec.platform.tenants[3].name`, as the API server writes it. */
export const pathText = (path: Path): string =>
  path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? key : `${text}.${key}`),
    "",
  )

/** The path of such a text. */
export const parsePath = (text: string): Path =>
  [...text.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([part, index]) =>
    index === undefined ? part : Number(index),
  )

export const isUnder = (path: Path, above: Path): boolean =>
  above.length <= path.length && above.every((key, i) => path[i] === key)

// The fields of a PlatformInstance as tables, read off the CRD.
import { crd } from "../../src/schema/Crd.ts"
import type { StructuralSchema } from "../../src/schema/StructuralSchema.ts"
import { code, table } from "./Markdown.ts"

const root: StructuralSchema = crd.spec.versions[0].schema.openAPIV3Schema

interface Field {
  /** From `spec` or `status` on, `[]` behind a list. */
  readonly path: string
  readonly schema: StructuralSchema
  readonly required: boolean
}

/** Every field below a node, in the order of the schema; lists of objects are gone into. */
const fieldsBelow = (schema: StructuralSchema, prefix: string): ReadonlyArray<Field> =>
  Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const list = child.type === "array" && child.items?.properties !== undefined
    const path = `${prefix}${name}${list ? "[]" : ""}`
    const field: Field = { path, schema: child, required: schema.required?.includes(name) ?? false }
    return [field, ...fieldsBelow(list ? (child.items ?? child) : child, `${path}.`)]
  })

const all = fieldsBelow(root, "")

const typeOf = ({ type, format }: StructuralSchema): string =>
  type === "string" && format === "date-time" ? "date-time" : type === "integer" ? (format ?? type) : type

const range = (from: number | undefined, to: number | undefined): ReadonlyArray<string> => {
  if (from !== undefined && to !== undefined) return [`${from} to ${to}`]
  if (from !== undefined) return [`at least ${from}`]
  return to === undefined ? [] : [`at most ${to}`]
}

/** What the API server checks of one field. */
const checksOf = (schema: StructuralSchema): string =>
  [
    ...(schema.enum === undefined ? [] : [schema.enum.map(code).join(", ")]),
    ...range(schema.minimum, schema.maximum),
    ...range(schema.minLength, schema.maxLength).map((text) => `${text} characters`),
    ...range(undefined, schema.maxItems).map((text) => `${text} entries`),
    ...(schema.pattern === undefined ? [] : [code(schema.pattern)]),
    ...(schema["x-kubernetes-list-map-keys"] ?? []).map((key) => `each ${code(key)} once`),
  ].join("; ")

/**
 * The table of the fields whose path begins with `under`, without it. What lies below a path of `elsewhere` has a table
 * of its own.
 */
export const fieldTable = (under: string, elsewhere: ReadonlyArray<string> = []): string => {
  const fields = all.filter(
    ({ path }) => path.startsWith(under) && !elsewhere.some((other) => path.startsWith(`${other}.`)),
  )
  if (fields.length === 0) throw new Error(`the CRD has no field below ${under}`)
  return table(
    ["Field", "Type", "Required", "Default", "Checked", "What it is"],
    fields.map(({ path, schema, required }) => [
      code(path.slice(under.length)),
      typeOf(schema),
      required ? "yes" : "",
      schema.default === undefined ? "" : code(String(schema.default)),
      checksOf(schema),
      schema.description ?? "",
    ]),
  )
}

/** The rules over more than one field, with the words in which the API server refuses. */
export const ruleTable = (): string =>
  table(
    ["Where", "Refused with"],
    [{ path: "", schema: root, required: true }, ...all].flatMap(({ path, schema }) =>
      (schema["x-kubernetes-validations"] ?? []).map(({ message }) => [
        path === "" ? "the object" : code(path),
        code(message),
      ]),
    ),
  )

const { group, names, scope, versions } = crd.spec

export const kindTable = (): string =>
  table(
    ["", ""],
    [
      ["Group and version", code(`${group}/${versions[0].name}`)],
      ["Kind, list", `${code(names.kind)}, ${code(names.listKind)}`],
      ["Plural, singular, short", [names.plural, names.singular, ...names.shortNames].map(code).join(", ")],
      ["Scope", scope],
      ["Subresources", Object.keys(versions[0].subresources).map(code).join(", ")],
    ],
  )

export const columnTable = (): string =>
  table(
    ["Column", "Shows"],
    versions[0].additionalPrinterColumns.map(({ name, jsonPath }) => [name, code(jsonPath)]),
  )

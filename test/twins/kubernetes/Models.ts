// The schemas of the built-in kinds, out of the types that the client library carries: which fields there are, of what
// type, and what is said of them. That is what `explain` shows and strict field validation goes by.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as client from "@kubernetes/client-node"
import type { ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { isJson, isList, type Json } from "./Json.ts"

interface Attribute {
  /** The field in JSON. */
  readonly baseName: string
  /** In TypeScript: `string`, `Array<V1Container>`, `{ [key: string]: string; }`. */
  readonly type: string
  readonly format: string
}

const classes: Readonly<Record<string, unknown>> = client

const isAttribute = (value: unknown): value is Attribute =>
  isJson(value) && typeof value.baseName === "string" && typeof value.type === "string"

/** The classes do not change: what one declares is read once. */
const remembered = <A>(read: (type: string) => A): ((type: string) => A) => {
  const known = new Map<string, { readonly found: A }>()
  return (type) => {
    const entry = known.get(type) ?? { found: read(type) }
    known.set(type, entry)
    return entry.found
  }
}

/** What the class of a type declares; undefined for what is no class. */
const attributesOf = remembered((type): ReadonlyArray<Attribute> | undefined => {
  const found = classes[type]
  if (typeof found !== "function" || !("attributeTypeMap" in found)) return undefined
  return isList(found.attributeTypeMap) ? found.attributeTypeMap.filter(isAttribute) : undefined
})

/** Groups whose kinds share a name with another group's. */
const PREFIXES: Readonly<Record<string, string>> = {
  "/Event": "CoreV1Event",
  "events.k8s.io/Event": "EventsV1Event",
}

/** The class of a kind, when the library has one. */
export const modelOf = ({ group, kind, version }: ResourceKind): string | undefined => {
  const name = PREFIXES[`${group}/${kind}`] ?? `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`
  return attributesOf(name) === undefined ? undefined : name
}

const LIST = /^Array<(.*)>$/
const MAP = /^\{ \[key: string\]: (.*); \}$/

export const refTo = (type: string): string => `#/components/schemas/${schemaName(type)}`

/** `io.k8s.v1.PodSpec`: what stands behind the last dot is what `explain` calls a type. */
export const schemaName = (type: string): string => {
  const parts = /^([A-Z][a-z]+(?=V\d))?V(\d+(?:(?:alpha|beta)\d+)?)(.+)$/.exec(type)
  if (parts === null) return `io.k8s.${type}`
  const [, group, version, name] = parts
  return `io.k8s.${group === undefined ? "" : `${group.toLowerCase()}.`}v${version}.${name}`
}

const NUMBERS: Readonly<Record<string, Json>> = {
  double: { type: "number", format: "double" },
  int64: { type: "integer", format: "int64" },
}

const typeSchema = (type: string, format: string): Json => {
  const item = LIST.exec(type)?.[1]
  if (item !== undefined) return { type: "array", items: typeSchema(item, format) }
  const value = MAP.exec(type)?.[1]
  if (value !== undefined) return { type: "object", additionalProperties: typeSchema(value, format) }
  switch (type) {
    case "string":
      return format === "" || format === "date-time" ? { type } : { type, format }
    case "boolean":
      return { type }
    case "number":
      return NUMBERS[format] ?? { type: "integer", format: "int32" }
    case "Date":
    case "V1MicroTime":
      return { type: "string", format: "date-time" }
    case "IntOrString":
      return { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] }
    default:
      return attributesOf(type) === undefined
        ? { type: "object", "x-kubernetes-preserve-unknown-fields": true }
        : // Beside a reference nothing else may stand.
          { allOf: [{ $ref: refTo(type) }], default: {} }
  }
}

const named = (type: string): string => LIST.exec(type)?.[1] ?? MAP.exec(type)?.[1] ?? type

/** The classes that a class needs, itself among them. */
export const closure = (types: Iterable<string>): ReadonlyArray<string> => {
  const seen = new Set<string>()
  const visit = (type: string): void => {
    const inner = named(type)
    const attributes = attributesOf(inner)
    if (attributes === undefined) {
      // A list of lists or a map of lists: look inside.
      if (inner !== type) visit(inner)
      return
    }
    if (seen.has(inner)) return
    seen.add(inner)
    for (const attribute of attributes) visit(attribute.type)
  }
  for (const type of types) visit(type)
  return [...seen].sort()
}

interface Words {
  readonly description: string | undefined
  readonly fields: ReadonlyMap<
    string,
    { readonly description: string | undefined; readonly required: boolean }
  >
}

const COMMENT = String.raw`(?:/\*\*\s*([\s\S]*?)\*/\s*)?`
const CLASS = new RegExp(`${COMMENT}export declare class`)
const FIELD = new RegExp(`${COMMENT}'([^']+)'(\\?)?: `, "g")

const plain = (comment: string | undefined): string | undefined =>
  comment
    ?.replaceAll(/^\s*\* ?/gm, "")
    .replaceAll(/\\(['"])/g, "$1")
    .trim() || undefined

const folder = fileURLToPath(new URL("gen/models/", import.meta.resolve("@kubernetes/client-node")))

/** What the library's declarations say of a class, and which fields it must have. */
const wordsOf = (type: string): Words => {
  const text = readFileSync(`${folder}${type}.d.ts`, "utf8")
  // The licence stands in a comment of its own above the imports.
  const start = Math.max(text.lastIndexOf("import "), text.indexOf("*/"))
  const body = text.slice(text.indexOf("\n", start) + 1)
  const declared = CLASS.exec(body)
  const inside = body.slice((declared?.index ?? 0) + (declared?.[0].length ?? 0))
  return {
    description: plain(declared?.[1]),
    fields: new Map(
      [...inside.matchAll(FIELD)].map(([, comment, name = "", optional]) => [
        name,
        { description: plain(comment), required: optional === undefined },
      ]),
    ),
  }
}

const described = (schema: Json, description: string | undefined): Json =>
  description === undefined ? schema : { description, ...schema }

/** The schema of a class, with its words. Its references lead to `schemaName`. */
export const schemaOf = (type: string): Json => {
  const words = wordsOf(type)
  const attributes = attributesOf(type) ?? []
  const property = ({ baseName, type: of, format }: Attribute) =>
    described(typeSchema(of, format), words.fields.get(baseName)?.description)
  const required = attributes
    .map(({ baseName }) => baseName)
    .filter((field) => words.fields.get(field)?.required === true)
  return described(
    {
      type: "object",
      ...(required.length > 0 && { required }),
      properties: Object.fromEntries(attributes.map((each) => [each.baseName, property(each)])),
    },
    words.description,
  )
}

const under = (path: string, field: string) => (path === "" ? field : `${path}.${field}`)

/** What a type is: a list or a map of others, or the types of its fields; undefined for what has no parts that are known. */
type Form =
  | { readonly list: string }
  | { readonly map: string }
  | { readonly fields: ReadonlyMap<string, string> }

const formOf = remembered((type): Form | undefined => {
  const list = LIST.exec(type)?.[1]
  if (list !== undefined) return { list }
  const map = MAP.exec(type)?.[1]
  if (map !== undefined) return { map }
  const attributes = attributesOf(type)
  return attributes === undefined
    ? undefined
    : { fields: new Map(attributes.map((each) => [each.baseName, each.type])) }
})

const unknownInside = (type: string, value: unknown, path: string, found: Array<string>): void => {
  if (typeof value !== "object" || value === null) return
  const form = formOf(type)
  if (form === undefined) return
  if ("list" in form) {
    if (isList(value))
      value.forEach((item, index) => void unknownInside(form.list, item, `${path}[${index}]`, found))
    return
  }
  if (!isJson(value)) return
  for (const [field, item] of Object.entries(value)) {
    const of = "map" in form ? form.map : form.fields.get(field)
    if (of === undefined) found.push(under(path, field))
    else unknownInside(of, item, under(path, field), found)
  }
}

/** The fields of a value that its type does not have, as paths: `spec.containers[0].imag`. */
export const unknownToModel = (type: string, value: unknown): ReadonlyArray<string> => {
  const found: Array<string> = []
  unknownInside(type, value, "", found)
  return found
}

/** The type of every object's metadata. */
export const METADATA = "V1ObjectMeta"

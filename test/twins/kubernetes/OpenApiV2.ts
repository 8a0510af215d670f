// OpenAPI v2, as every kubectl asks for it that applies a `kind: List`, and old ones ask for it alone: the custom kinds, and
// which query parameters and patches each kind takes. The built-in kinds' schemas are left out, as a kubectl then goes by
// its own types, which know how lists merge.
import { isJson, isList, type Json, objectOf, stringsOf, textOf } from "./Json.ts"

/** The layout of gnostic's `Document` (google/gnostic, openapiv2/OpenAPIv2.proto), as far as it is used here. */
class Message {
  readonly #parts: Array<Buffer> = []

  #varint(value: number): this {
    let rest = value
    const bytes: Array<number> = []
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
    this.#parts.push(Buffer.from([...bytes, rest]))
    return this
  }

  field(number: number, value: Message | string): this {
    const bytes = typeof value === "string" ? Buffer.from(value) : value.bytes
    this.#varint(number * 8 + 2).#varint(bytes.length)
    this.#parts.push(bytes)
    return this
  }

  optional(number: number, value: unknown): this {
    return typeof value === "string" ? this.field(number, value) : this
  }

  flag(number: number, value: boolean): this {
    return this.#varint(number * 8).#varint(value ? 1 : 0)
  }

  all<A>(number: number, values: Iterable<A>, of: (value: A) => Message | string): this {
    for (const value of values) this.field(number, of(value))
    return this
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

type Field = readonly [name: string, value: unknown]
const named = ([name, value]: Field, of: (value: Json) => Message): Message =>
  new Message().field(1, name).field(2, of(objectOf(value)))

/** JSON is YAML. */
const extensions = (number: number, into: Message, from: Json): Message =>
  into.all(
    number,
    Object.entries(from).filter(([name]) => name.startsWith("x-")),
    ([name, value]) => new Message().field(1, name).field(2, new Message().field(2, JSON.stringify(value))),
  )

const schemaMessage = (schema: Json): Message => {
  const { additionalProperties, description, format, items, properties, required, type } = schema
  const into = new Message().optional(1, schema.$ref).optional(2, format).optional(4, description)
  into.all(19, stringsOf(required), (name) => name)
  if (isJson(additionalProperties))
    into.field(21, new Message().field(1, schemaMessage(additionalProperties)))
  if (typeof additionalProperties === "boolean") into.field(21, new Message().flag(2, additionalProperties))
  if (typeof type === "string") into.field(22, new Message().field(1, type))
  if (isJson(items)) into.field(23, new Message().field(1, schemaMessage(items)))
  if (isJson(properties))
    into.field(
      25,
      new Message().all(1, Object.entries(properties), (each) => named(each, schemaMessage)),
    )
  return extensions(31, into, schema)
}

const parameterMessage = ({ in: place, name, type }: Json): Message => {
  const query = new Message().optional(2, place).optional(4, name).optional(6, type)
  const notBody = new Message().field(3, query)
  return new Message().field(1, new Message().field(2, notBody))
}

const operationMessage = (operation: Json): Message => {
  const { consumes, parameters, tags } = operation
  const ok = new Message().field(1, new Message().field(1, "OK"))
  const into = new Message()
    .all(1, stringsOf(tags), (tag) => tag)
    .all(7, stringsOf(consumes), (type) => type)
    .all(8, isList(parameters) ? parameters.filter(isJson) : [], parameterMessage)
    .field(9, new Message().field(1, new Message().field(1, "200").field(2, ok)))
  return extensions(13, into, operation)
}

const METHODS = { get: 2, put: 3, post: 4, delete: 5, patch: 8 }

const pathMessage = (path: Json): Message => {
  const into = new Message()
  for (const [method, number] of Object.entries(METHODS))
    if (isJson(path[method])) into.field(number, operationMessage(path[method]))
  return into
}

const entries = (value: unknown) => Object.entries(objectOf(value))

/** A document of this version as the protobuf that kubectl reads. */
export const protobufOf = ({ definitions, info, paths, swagger }: Json): Buffer =>
  new Message()
    .optional(1, swagger)
    .field(2, new Message().optional(1, objectOf(info).title).optional(2, objectOf(info).version))
    .field(
      8,
      new Message().all(2, entries(paths), (each) => named(each, pathMessage)),
    )
    .field(
      9,
      new Message().all(1, entries(definitions), (each) => named(each, schemaMessage)),
    ).bytes

const REFERENCE = "#/components/schemas/"
const KEPT = ["description", "format", "required", "type"]

/** A schema of version 3 in the words of version 2, which has no alternatives. */
const schemaOf = (schema: Json): Json => {
  const { additionalProperties, allOf, items, properties } = schema
  const [first] = isList(allOf) ? allOf.filter(isJson) : []
  const reference = textOf(schema.$ref ?? first?.$ref)
  if (reference !== undefined) return { $ref: reference.replace(REFERENCE, "#/definitions/") }
  return {
    ...Object.fromEntries(
      Object.entries(schema).filter(([name]) => KEPT.includes(name) || name.startsWith("x-kubernetes-")),
    ),
    ...(isJson(items) && { items: schemaOf(items) }),
    ...(isJson(properties) && { properties: schemasOf(properties) }),
    ...(isJson(additionalProperties) && { additionalProperties: schemaOf(additionalProperties) }),
    ...(typeof additionalProperties === "boolean" && { additionalProperties }),
  }
}

const schemasOf = (schemas: unknown): Json =>
  Object.fromEntries(entries(schemas).map(([name, schema]) => [name, schemaOf(objectOf(schema))]))

const operationOf = (operation: Json): Json => {
  const { parameters, requestBody } = operation
  return {
    tags: operation.tags,
    consumes: Object.keys(objectOf(objectOf(requestBody).content)),
    parameters: (isList(parameters) ? parameters.filter(isJson) : []).map((parameter) => ({
      in: parameter.in,
      name: parameter.name,
      type: "string",
    })),
    responses: { 200: { description: "OK" } },
    "x-kubernetes-action": operation["x-kubernetes-action"],
    "x-kubernetes-group-version-kind": operation["x-kubernetes-group-version-kind"],
  }
}

const pathOf = (path: Json): Json =>
  Object.fromEntries(entries(path).map(([method, operation]) => [method, operationOf(objectOf(operation))]))

/** Of documents of version 3, one of version 2: their paths, and the schemas of those that are `custom`. */
export const versionTwo = (
  all: ReadonlyArray<{ readonly document: Json; readonly custom: boolean }>,
): Json => ({
  swagger: "2.0",
  info: { title: "Kubernetes", version: "v1.35.4" },
  paths: Object.fromEntries(
    all.flatMap(({ document }) =>
      entries(document.paths).map(([path, of]) => [path, pathOf(objectOf(of))] as const),
    ),
  ),
  definitions: Object.assign(
    {},
    ...all
      .filter(({ custom }) => custom)
      .map(({ document }) => schemasOf(objectOf(document.components).schemas)),
  ),
})

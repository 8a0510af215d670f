// Custom resources: the structural schema of a CustomResourceDefinition, which prunes, fills in defaults and validates.
import { CelError, compileCel } from "./Cel.ts"
import {
  at,
  canonical,
  equal,
  isJson,
  isList,
  type Json,
  listOf,
  objectOf,
  stringsOf,
  textOf,
} from "./Json.ts"
import { customListTypes, duplicateOf, itemKey } from "./ListTypes.ts"
import type { Resource } from "./Resources.ts"
import type { Cause } from "./Status.ts"

/** The kinds that a definition makes the server serve: one a version. */
export const servedBy = (definition: Json): ReadonlyArray<Resource> => {
  const group = textOf(at(definition, "spec", "group")) ?? ""
  const names = objectOf(at(definition, "spec", "names"))
  const namespaced = at(definition, "spec", "scope") === "Namespaced"
  return listOf(at(definition, "spec", "versions")).flatMap((version): ReadonlyArray<Resource> => {
    if (!isJson(version) || version.served !== true) return []
    const schema = objectOf(at(version, "schema", "openAPIV3Schema"))
    return [
      {
        kind: {
          group,
          version: textOf(version.name) ?? "",
          plural: textOf(names.plural) ?? "",
          kind: textOf(names.kind) ?? "",
          namespaced,
        },
        status: at(version, "subresources", "status") !== undefined,
        generation: true,
        returnsDeleted: false,
        unconditionalUpdate: false,
        listTypes: customListTypes(schema),
        shortNames: stringsOf(names.shortNames),
        categories: stringsOf(names.categories),
        ...(typeof names.singular === "string" && { singular: names.singular }),
        columns: listOf(version.additionalPrinterColumns).filter(isJson),
        schema,
      },
    ]
  })
}

const keepsUnknown = (schema: Json): boolean => schema["x-kubernetes-preserve-unknown-fields"] === true

const propertiesOf = (schema: Json): Json => objectOf(schema.properties)

/** The schema of a field: declared, or that of every field (`additionalProperties`). */
const schemaOf = (schema: Json, field: string): Json | undefined => {
  const found = propertiesOf(schema)[field] ?? schema.additionalProperties
  return isJson(found) ? found : undefined
}

const IDENTITY = new Set(["apiVersion", "kind", "metadata"])

/** Without the fields that the schema does not know. */
const pruneValue = (schema: Json, value: unknown, root: boolean): unknown => {
  if (isList(value)) return value.map((item) => pruneValue(objectOf(schema.items), item, false))
  if (!isJson(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, item]): ReadonlyArray<[string, unknown]> => {
      if (root && IDENTITY.has(field)) return [[field, item]]
      const inner = schemaOf(schema, field)
      if (inner !== undefined) return [[field, pruneValue(inner, item, false)]]
      return keepsUnknown(schema) || schema.additionalProperties === true ? [[field, item]] : []
    }),
  )
}

/** With the defaults that the schema has, where the object around them is there. */
const defaultValue = (schema: Json, value: unknown): unknown => {
  if (isList(value)) return value.map((item) => defaultValue(objectOf(schema.items), item))
  if (!isJson(value)) return value
  const filled: Record<string, unknown> = { ...value }
  for (const [field, inner] of Object.entries(propertiesOf(schema))) {
    if (!isJson(inner)) continue
    if (filled[field] === undefined && inner.default !== undefined) filled[field] = inner.default
    if (filled[field] !== undefined) filled[field] = defaultValue(inner, filled[field])
  }
  return filled
}

export const pruned = (schema: Json, object: Json): Json => objectOf(pruneValue(schema, object, true))

export const withDefaults = (schema: Json, object: Json): Json => objectOf(defaultValue(schema, object))

/** The first field that the schema does not declare: an apply refuses it. */
export const undeclaredField = (schema: Json, value: unknown, path = ""): string | undefined => {
  if (isList(value)) {
    for (const [index, item] of value.entries()) {
      const found = undeclaredField(objectOf(schema.items), item, `${path}[${index}]`)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!isJson(value) || keepsUnknown(schema)) return undefined
  for (const [field, item] of Object.entries(value)) {
    if (path === "" && IDENTITY.has(field)) continue
    const inner = schemaOf(schema, field)
    const found = inner === undefined ? `${path}.${field}` : undeclaredField(inner, item, `${path}.${field}`)
    if (found !== undefined) return found
  }
  return undefined
}

/** All fields that the schema does not declare, as paths: `spec.platform.tenant`, `spec.users[0].nam`. */
export const unknownToSchema = (schema: Json, value: unknown, path = ""): ReadonlyArray<string> => {
  if (isList(value))
    return value.flatMap((item, index) => unknownToSchema(objectOf(schema.items), item, `${path}[${index}]`))
  if (!isJson(value) || keepsUnknown(schema)) return []
  return Object.entries(value).flatMap(([field, item]): ReadonlyArray<string> => {
    if (path === "" && IDENTITY.has(field)) return []
    const inner = schemaOf(schema, field)
    if (inner !== undefined) return unknownToSchema(inner, item, under(path, field))
    return schema.additionalProperties === true ? [] : [under(path, field)]
  })
}

/** What does not fit in 64 bits is read as a floating-point number, of which those beyond 2^53 are no integers (kube-openapi). */
const isInteger = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** 63

const typeName = (value: unknown): string => {
  if (isList(value)) return "array"
  if (value === null) return "null"
  if (typeof value === "number") return isInteger(value) ? "integer" : "number"
  return typeof value
}

const hasType = (schema: Json, value: unknown): boolean => {
  const wanted = schema.type
  if (wanted === undefined) return true
  if (value === null) return schema.nullable === true
  const found = typeName(value)
  return found === wanted || (wanted === "number" && found === "integer")
}

const quotedList = (values: ReadonlyArray<unknown>) => values.map((it) => JSON.stringify(it)).join(", ")

/** The rules for one value, without those inside of it. */
const checkValue = (schema: Json, value: unknown, path: string): ReadonlyArray<Cause> => {
  const causes: Array<Cause> = []
  const invalid = (why: string) =>
    causes.push({
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(value)}: ${path} in body ${why}`,
      field: path,
    })
  const { minimum, maximum, minLength, maxLength, maxItems, pattern } = schema
  if (isList(schema.enum) && !schema.enum.some((it) => equal(it, value)))
    causes.push({
      reason: "FieldValueNotSupported",
      message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${quotedList(schema.enum)}`,
      field: path,
    })
  if (typeof value === "number") {
    if (typeof minimum === "number" && value < minimum)
      invalid(`should be greater than or equal to ${minimum}`)
    if (typeof maximum === "number" && value > maximum) invalid(`should be less than or equal to ${maximum}`)
  }
  if (typeof value === "string") {
    const length = [...value].length
    if (typeof maxLength === "number" && length > maxLength)
      causes.push({
        reason: "FieldValueTooLong",
        message: `Too long: may not be more than ${maxLength} bytes`,
        field: path,
      })
    if (typeof minLength === "number" && length < minLength)
      invalid(`should be at least ${minLength} chars long`)
    if (typeof pattern === "string" && !new RegExp(pattern, "u").test(value))
      invalid(`should match '${pattern}'`)
    if (
      schema.format === "date-time" &&
      !/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+]\d\d:\d\d)$/.test(value)
    )
      invalid(`must be of type date-time: ${JSON.stringify(value)}`)
  }
  if (isList(value) && typeof maxItems === "number" && value.length > maxItems)
    causes.push({
      reason: "FieldValueTooMany",
      message: `Too many: ${value.length}: must have at most ${maxItems} items`,
      field: path,
    })
  return causes
}

const under = (path: string, field: string) => (path === "" ? field : `${path}.${field}`)

const validate = (schema: Json, value: unknown, path: string): ReadonlyArray<Cause> => {
  if (!hasType(schema, value)) {
    const found = typeName(value)
    return [
      {
        reason: "FieldValueTypeInvalid",
        message: `Invalid value: "${found}": ${path} in body must be of type ${textOf(schema.type)}: "${found}"`,
        field: path,
      },
    ]
  }
  const own = checkValue(schema, value, path)
  if (isList(value)) {
    return [
      ...own,
      ...value.flatMap((item, index) => validate(objectOf(schema.items), item, `${path}[${index}]`)),
    ]
  }
  if (!isJson(value)) return own
  const required = stringsOf(schema.required)
    .filter((field) => value[field] === undefined)
    .map((field) => ({ reason: "FieldValueRequired", message: "Required value", field: under(path, field) }))
  const inner = Object.keys(value)
    .filter((field) => path !== "" || field !== "metadata")
    .sort()
    .flatMap((field) => {
      const of = schemaOf(schema, field)
      return of === undefined ? [] : validate(of, value[field], under(path, field))
    })
  return [...own, ...required, ...inner]
}

/** Lists that are sets or maps have each key once. */
const duplicates = (schema: Json, value: unknown, path: string): ReadonlyArray<Cause> => {
  if (isList(value)) {
    const type = textOf(schema["x-kubernetes-list-type"])
    const keys = stringsOf(schema["x-kubernetes-list-map-keys"])
    const double =
      type === "map" ? duplicateOf(keys, value) : type === "set" ? duplicateOf("set", value) : undefined
    const own =
      double === undefined
        ? []
        : [
            {
              reason: "FieldValueDuplicate",
              message: `Duplicate value: ${itemKey(type === "map" ? keys : "set", value[double]).slice(2)}`,
              field: `${path}[${double}]`,
            },
          ]
    return [
      ...own,
      ...value.flatMap((item, index) => duplicates(objectOf(schema.items), item, `${path}[${index}]`)),
    ]
  }
  if (!isJson(value)) return []
  return Object.entries(value).flatMap(([field, item]) => {
    const inner = schemaOf(schema, field)
    return inner === undefined ? [] : duplicates(inner, item, under(path, field))
  })
}

/** The item of an old list that a new item follows on: correlated by key in a list that is a map. */
const counterpart = (schema: Json, before: unknown, item: unknown): unknown => {
  if (schema["x-kubernetes-list-type"] !== "map") return undefined
  const keys = stringsOf(schema["x-kubernetes-list-map-keys"])
  return listOf(before).find((it) => itemKey(keys, it) === itemKey(keys, item))
}

/** Rules in CEL. One that speaks of `oldSelf` is about changes alone. */
const rules = (schema: Json, value: unknown, before: unknown, path: string): ReadonlyArray<Cause> => {
  const own = listOf(schema["x-kubernetes-validations"])
    .filter(isJson)
    .flatMap((rule): ReadonlyArray<Cause> => {
      const source = textOf(rule.rule) ?? ""
      if (/\boldSelf\b/.test(source) && before === undefined) return []
      const message = textOf(rule.message) ?? `failed rule: ${source}`
      const failed = (why: string) => [
        {
          reason: "FieldValueInvalid",
          message: `Invalid value: ${why}`,
          field: path === "" ? "<nil>" : path,
        },
      ]
      try {
        return compileCel(source)({ self: value, oldSelf: before }) === true ? [] : failed(message)
      } catch (error) {
        if (error instanceof CelError && error.message.startsWith("no such"))
          return failed(`rule evaluation error: ${error.message}`)
        throw error
      }
    })
  if (isList(value)) {
    return [
      ...value.flatMap((item, index) =>
        rules(objectOf(schema.items), item, counterpart(schema, before, item), `${path}[${index}]`),
      ),
      ...own,
    ]
  }
  if (!isJson(value)) return own
  const inner = Object.keys(value)
    .sort()
    .flatMap((field) => {
      const of = schemaOf(schema, field)
      return of === undefined || (path === "" && IDENTITY.has(field))
        ? []
        : rules(of, value[field], at(before, field), under(path, field))
    })
  return [...own, ...inner]
}

/** After these errors rules in CEL are not looked at: they could not rely on the object's shape. */
const SHAPELESS = new Set([
  "FieldValueTypeInvalid",
  "FieldValueRequired",
  "FieldValueNotSupported",
  "FieldValueTooLong",
  "FieldValueTooMany",
])

const UNCHECKED: Cause = {
  reason: "FieldValueInvalid",
  message:
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
  field: "<nil>",
}

/** What is wrong with an object, or with its change. */
export const schemaCauses = (schema: Json, object: Json, before: Json | undefined): ReadonlyArray<Cause> => {
  const causes = validate(schema, object, "")
  if (causes.some(({ reason }) => SHAPELESS.has(reason ?? ""))) return [...causes, UNCHECKED]
  return [...causes, ...duplicates(schema, object, ""), ...rules(schema, object, before, "")]
}

/** Whether two custom objects differ in anything but metadata and status: what counts as a generation. */
export const sameSpec = (left: Json, right: Json): boolean => {
  const rest = ({ metadata: _m, status: _s, ...others }: Json) => canonical(others)
  return rest(left) === rest(right)
}

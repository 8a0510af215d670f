// JSON Schema 2020-12, as Effect Schema emits it, turned into the structural OpenAPI v3 schema a CRD wants
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema).
import { Predicate, Schema } from "effect"
import type { StructuralSchema } from "./StructuralNode.ts"

export type { StructuralSchema } from "./StructuralNode.ts"

const Node: Schema.Codec<StructuralSchema> = Schema.suspend(() =>
  Schema.Struct({
    type: Schema.Literals(["object", "array", "string", "integer", "boolean"]),
    description: Schema.optionalKey(Schema.String),
    default: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite])),
    format: Schema.optionalKey(Schema.String),
    enum: Schema.optionalKey(Schema.Array(Schema.String)),
    pattern: Schema.optionalKey(Schema.String),
    minLength: Schema.optionalKey(Schema.Finite),
    maxLength: Schema.optionalKey(Schema.Finite),
    minimum: Schema.optionalKey(Schema.Finite),
    maximum: Schema.optionalKey(Schema.Finite),
    maxItems: Schema.optionalKey(Schema.Finite),
    items: Schema.optionalKey(Node),
    required: Schema.optionalKey(Schema.Array(Schema.String)),
    properties: Schema.optionalKey(Schema.Record(Schema.String, Node)),
    "x-kubernetes-list-type": Schema.optionalKey(Schema.Literal("map")),
    "x-kubernetes-list-map-keys": Schema.optionalKey(Schema.Array(Schema.String)),
    "x-kubernetes-validations": Schema.optionalKey(
      Schema.Array(Schema.Struct({ rule: Schema.String, message: Schema.String })),
    ),
  }),
)

/** Refuses every keyword but those above: what has no structural form (a union, a map) must not be lost in silence. */
export const decodeStructuralSchema = Schema.decodeUnknownSync(Node, {
  errors: "all",
  onExcessProperty: "error",
})

/** Checks that cannot stand beside the type come as `allOf`: a structural schema wants them at the top. */
const flatten = (node: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const { allOf, ...rest } = node
  const flat: Record<string, unknown> = { ...rest }
  for (const part of Array.isArray(allOf) ? allOf : []) {
    for (const [key, value] of Object.entries(part)) {
      if (key in flat) throw new Error(`not structural: ${key} is given twice in ${JSON.stringify(node)}`)
      flat[key] = value
    }
  }
  return flat
}

const restructure = (node: unknown): unknown => {
  if (!Predicate.isObject(node)) return node
  const { properties, items, ...rest } = flatten({ ...node })
  if (Predicate.isObject(properties)) {
    // Unknown fields: the decoder tolerates them, the API server prunes or refuses them by itself.
    delete rest.additionalProperties
    rest.properties = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [name, restructure(value)]),
    )
  }
  return items === undefined ? rest : { ...rest, items: restructure(items) }
}

/** The structural form of a schema's encoded side. Throws when it has none: that is a mistake in the schema. */
export const structuralSchema = (schema: Schema.Constraint): StructuralSchema =>
  decodeStructuralSchema(
    restructure(
      Schema.toJsonSchemaDocument(schema, {
        referencePolicy: () => undefined,
        includeAnnotationKey: (key) => key.startsWith("x-kubernetes-"),
      }).schema,
    ),
  )

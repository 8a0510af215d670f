// The values of the operator's chart as a table: defaults from values.yaml, words from values.schema.json.
import { Schema } from "effect"
import { parse } from "yaml"
import { code, table } from "./Markdown.ts"

interface ValueSchema {
  readonly description?: string
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, ValueSchema>>
}
const ValueSchema: Schema.Codec<ValueSchema> = Schema.suspend(() =>
  Schema.Struct({
    description: Schema.optionalKey(Schema.String),
    $ref: Schema.optionalKey(Schema.String),
    properties: Schema.optionalKey(Schema.Record(Schema.String, ValueSchema)),
  }),
)
const decodeSchema = Schema.decodeUnknownSync(Schema.fromJsonString(ValueSchema))
const decodeValues = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Unknown))

/** A default as `--set` or a values file would say it; an empty one as nothing. */
const shown = (value: unknown): string => {
  if (value === undefined || value === "") return "empty"
  return code(typeof value === "object" ? JSON.stringify(value) : String(value))
}

const rows = (
  schema: ValueSchema,
  values: Readonly<Record<string, unknown>>,
  prefix: string,
): ReadonlyArray<ReadonlyArray<string>> =>
  Object.entries(schema.properties ?? {}).flatMap(([name, child]): ReadonlyArray<ReadonlyArray<string>> => {
    // Helm's own, passed to every chart.
    if (name === "global") return []
    const value = values[name]
    return child.properties === undefined
      ? [[code(prefix + name), shown(value), child.description ?? ""]]
      : rows(child, decodeValues(value ?? {}), `${prefix}${name}.`)
  })

/** From the texts of values.schema.json and values.yaml. */
export const valueTable = (schemaJson: string, valuesYaml: string): string =>
  table(
    ["Value", "Default", "What it is"],
    rows(decodeSchema(schemaJson), decodeValues(parse(valuesYaml)), ""),
  )

// A chart's values: the user's over the chart's own, checked against the chart's schema. Only the keywords that
// charts/vcluster's schema uses are known.
import { equal, isJson, isList, type Json, listOf, objectOf } from "../kubernetes/Json.ts"

/** The user's value wins, tables are merged, and null takes a key of the chart's away. */
export const mergeValues = (own: Json, chart: Json): Json => {
  const merged: Record<string, unknown> = { ...own }
  for (const [key, value] of Object.entries(chart)) {
    const mine = own[key]
    if (mine === undefined && !(key in own)) merged[key] = value
    else if (mine === null) delete merged[key]
    else if (isJson(mine) && isJson(value)) merged[key] = mergeValues(mine, value)
  }
  return merged
}

const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  if (isList(value)) return "array"
  return typeof value
}

const isOfType = (value: unknown, type: string): boolean =>
  type === "integer" ? Number.isInteger(value) : typeOf(value) === type

const shown = (value: unknown): string => (typeof value === "string" ? `'${value}'` : JSON.stringify(value))

interface Problem {
  readonly path: string
  readonly message: string
}

const check = (value: unknown, schema: Json, path: string): ReadonlyArray<Problem> => {
  const problem = (message: string): ReadonlyArray<Problem> => [{ path, message }]
  const { type } = schema
  if (typeof type === "string" && !isOfType(value, type)) {
    return problem(`got ${typeOf(value)}, want ${type}`)
  }
  if ("const" in schema && !equal(value, schema.const)) {
    return problem(`value must be ${shown(schema.const)}`)
  }
  const choices = listOf(schema.enum)
  if ("enum" in schema && !choices.some((choice) => equal(value, choice))) {
    return problem(`value must be one of ${choices.map(shown).join(", ")}`)
  }
  return isJson(value) && isJson(schema.properties) ? checkFields(value, schema, path) : []
}

const checkFields = (value: Json, schema: Json, path: string): ReadonlyArray<Problem> => {
  const properties = objectOf(schema.properties)
  const unknown = Object.keys(value).filter((key) => !(key in properties))
  const inside = Object.keys(value)
    .filter((key) => key in properties)
    .flatMap((key) => check(value[key], objectOf(properties[key]), `${path}/${key}`))
  if (unknown.length === 0 || schema.additionalProperties !== false) return inside
  const names = unknown
    .toSorted()
    .map((key) => `'${key}'`)
    .join(", ")
  return [{ path, message: `additional properties ${names} not allowed` }, ...inside]
}

/** What Helm says of values that the schema refuses; undefined when it takes them. */
export const refusal = (values: Json, schema: Json, chart: string): string | undefined => {
  const problems = check(values, schema, "")
  if (problems.length === 0) return undefined
  const lines = problems
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, message }) => `- at '${path}': ${message}`)
  return [
    "values don't meet the specifications of the schema(s) in the following chart(s):",
    `${chart}:`,
    ...lines,
    "",
  ].join("\n")
}

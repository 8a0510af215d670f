// The keywords of the schema, each said in words.
import {
  isList,
  isObject,
  type Json,
  type JsonObject,
  own,
  type Path,
  type Schema,
  valueAt,
} from "./schema.ts"
import { say, type Words } from "./words.ts"

export interface Issue {
  readonly path: Path
  readonly words: Words
}

export const issue = (path: Path, words: Words): Issue => ({ path, words })

export const unknownField = say("is not a field that this version of the platform knows")

const codePoints = (text: string): number => [...text].length

const patterns = new Map<string, RegExp>()
/** The server matches with RE2, whose `\s` is ASCII alone; JavaScript's takes Unicode's spaces too. */
export const regexOf = (pattern: string): RegExp => {
  const known = patterns.get(pattern) ?? new RegExp(pattern.replaceAll("\\s", "\\t\\n\\f\\r "), "u")
  patterns.set(pattern, known)
  return known
}

/** What a pattern of the CRD asks for, in words; the pattern itself where nobody has found any. */
const PATTERN_WORDS: ReadonlyArray<readonly [test: (pattern: string) => boolean, words: Words]> = [
  [(p) => p === "^https?://", say("must begin with http:// or https://")],
  [
    (p) => p.startsWith("^[^@\\s]+@sha256:"),
    say("must be an image pinned by digest: name@sha256:… (64 lower-case hex digits)"),
  ],
  [
    (p) => p.startsWith("^[^\\s@]+(@sha256:"),
    say("must be an image, with a digest (@sha256:…) or without, and no spaces"),
  ],
  [
    (p) => p.startsWith("^[a-z][a-z0-9]*("),
    say("must be lower-case letters, digits and single hyphens, and begin with a letter"),
  ],
  [(p) => p.includes("(m|Ki|Mi|Gi|Ti)"), say("must be a quantity such as 500m, 1.5 or 512Mi")],
  [
    (p) => p.startsWith("^[0-9]+\\.[0-9]+\\.[0-9]+("),
    say("must be a full version such as 6.0.22, not a range"),
  ],
]

const patternWords = (pattern: string): Words => {
  const found = PATTERN_WORDS.find(([test]) => test(pattern))
  return found === undefined ? say("must match {{pattern}}", { pattern }) : found[1]
}

const checkString = (value: string, schema: Schema): ReadonlyArray<Words> => {
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return [say("must be one of {{values}}", { values: schema.enum.join(", ") })]
  const length = codePoints(value)
  const found: Array<Words> = []
  if (schema.minLength !== undefined && length < schema.minLength)
    found.push(
      schema.minLength === 1
        ? say("must not be empty")
        : say("must have at least {{min}} characters", { min: schema.minLength }),
    )
  if (schema.maxLength !== undefined && length > schema.maxLength)
    found.push(
      say("must have at most {{max}} characters, and has {{length}}", { max: schema.maxLength, length }),
    )
  if (schema.pattern !== undefined && !regexOf(schema.pattern).test(value))
    found.push(patternWords(schema.pattern))
  return found
}

const checkInteger = (value: Json, schema: Schema): ReadonlyArray<Words> => {
  if (typeof value !== "number" || !Number.isInteger(value)) return [say("must be a whole number")]
  const { minimum, maximum } = schema
  if (minimum !== undefined && maximum !== undefined && (value < minimum || value > maximum))
    return [say("must be from {{min}} to {{max}}", { min: minimum, max: maximum })]
  return minimum !== undefined && value < minimum ? [say("must be at least {{min}}", { min: minimum })] : []
}

const checkList = (value: ReadonlyArray<Json>, schema: Schema, path: Path): ReadonlyArray<Issue> => {
  const { items, maxItems } = schema
  const found = items === undefined ? [] : value.flatMap((item, i) => checkNode(item, items, [...path, i]))
  if (maxItems !== undefined && value.length > maxItems)
    found.push(
      issue(
        path,
        say("must have at most {{max}} entries, and has {{length}}", { max: maxItems, length: value.length }),
      ),
    )
  const [key] = schema["x-kubernetes-list-map-keys"] ?? []
  if (key !== undefined) {
    const seen = new Set<Json | undefined>()
    value.forEach((item, i) => {
      const name = valueAt(item, [key])
      if (seen.has(name))
        found.push(issue([...path, i, key], say("{{name}} is there already", { name: String(name) })))
      if (name !== undefined) seen.add(name)
    })
  }
  return found
}

const checkObject = (value: JsonObject, schema: Schema, path: Path): ReadonlyArray<Issue> => [
  ...(schema.required ?? []).flatMap((key) =>
    Object.hasOwn(value, key) ? [] : [issue([...path, key], say("is required"))],
  ),
  ...Object.entries(value).flatMap(([key, child]) => {
    const { properties } = schema
    // An object whose fields the CRD does not list (`metadata`) is checked elsewhere.
    if (properties === undefined) return []
    const property = own(properties, key)
    return property === undefined
      ? [issue([...path, key], unknownField)]
      : checkNode(child, property, [...path, key])
  }),
]

export function checkNode(value: Json, schema: Schema, path: Path): Array<Issue> {
  const here = (words: ReadonlyArray<Words>) => words.map((said) => issue(path, said))
  switch (schema.type) {
    case "string":
      return here(typeof value === "string" ? checkString(value, schema) : [say("must be text")])
    case "integer":
      return here(checkInteger(value, schema))
    case "boolean":
      return here(typeof value === "boolean" ? [] : [say("must be true or false")])
    case "array":
      return isList(value) ? [...checkList(value, schema, path)] : here([say("must be a list")])
    case "object":
      return isObject(value) ? [...checkObject(value, schema, path)] : here([say("must be an object")])
  }
}

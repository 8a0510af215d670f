// A SchemaError as one line for a condition, an Event or a log: field, what is wrong with its value, and the way out.
import { type Schema, SchemaIssue } from "effect"
import { truncateAtWord } from "./Text.ts"

/** More than this says nothing new: the rest is counted. */
const MAX_ISSUES = 5
const MAX_VALUE = 60

/** `spec.platform.users[0].name` */
const formatField = (path: ReadonlyArray<unknown>): string =>
  path.reduce<string>((text, part) => {
    if (typeof part === "number" || part === "") return `${text}[${JSON.stringify(part)}]`
    return text === "" ? String(part) : `${text}.${String(part)}`
  }, "")

/** The beginning of a value as JSON. However deep or long it is, no more of it is looked at than is shown. */
const beginningOf = (value: unknown, room: number): string => {
  if (typeof value === "string") return JSON.stringify(value.slice(0, room))
  if (typeof value !== "object" || value === null) return String(value)
  const isList = Array.isArray(value)
  let text = isList ? "[" : "{"
  for (const key of isList ? value.keys() : Object.keys(value)) {
    if (text.length > room) return text
    if (text.length > 1) text += ","
    const inner: unknown = Reflect.get(value, key)
    text += `${isList ? "" : `${JSON.stringify(key)}:`}${beginningOf(inner, Math.max(room - text.length, 0))}`
  }
  return `${text}${isList ? "]" : "}"}`
}

const formatValue = (issue: SchemaIssue.Issue): string => {
  if (!SchemaIssue.hasInput(issue)) return ""
  const text = beginningOf(issue.input, MAX_VALUE)
  return `, got ${text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text}`
}

const leafHook = (issue: SchemaIssue.Leaf): string => {
  switch (issue._tag) {
    case "MissingKey":
      return "is required"
    case "UnexpectedKey":
      return "is not a field of a PlatformInstance"
    case "InvalidType":
      // Without its input: a whole object in a message would hide the field.
      return `${SchemaIssue.defaultLeafHook(new SchemaIssue.InvalidType(issue.ast))}${formatValue(issue)}`
    default:
      return SchemaIssue.defaultLeafHook(issue)
  }
}

const checkHook = (issue: SchemaIssue.Filter): string | undefined => {
  const expected = issue.filter.annotations?.expected
  if (issue.issue._tag !== "InvalidValue" || issue.filter.annotations?.message !== undefined)
    return SchemaIssue.defaultCheckHook(issue)
  return typeof expected === "string" ? `Expected ${expected}${formatValue(issue)}` : undefined
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook, checkHook })

/** Every issue with its path, in the order of the schema. */
export const schemaIssues = (
  error: Schema.SchemaError,
): ReadonlyArray<{ readonly path: ReadonlyArray<PropertyKey>; readonly message: string }> =>
  format(error.issue).issues.map((issue) => ({
    path: (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part)),
    message: issue.message,
  }))

/** One line, at most 1,024 characters. Values come along where the decoder was told to report them. */
export const formatSchemaError = (error: Schema.SchemaError): string => {
  const issues = schemaIssues(error).map(({ path, message }) => {
    const field = formatField(path)
    return field === "" ? message : `${field}: ${message}`
  })
  const shown = issues.slice(0, MAX_ISSUES).join("; ")
  const more = issues.length > MAX_ISSUES ? `; and ${issues.length - MAX_ISSUES} more` : ""
  const wayOut =
    issues.length === 1
      ? ". Correct this field and apply it again."
      : ". Correct these fields and apply them again."
  return `${truncateAtWord(shown.replaceAll(/\s+/g, " "), 1024 - more.length - wayOut.length)}${more}${wayOut}`
}

// What the API server says when it refuses, sorted by what a user can do about it. Headlamp hands on the status code and
// the message alone, so causes are read off the message.
import { type Path, parsePath } from "./schema.ts"

export interface FieldMessage {
  readonly path: Path
  readonly message: string
}
export interface Refusal {
  readonly kind:
    | "forbidden" // 403: the user's rights
    | "denied" // an admission webhook or policy
    | "exists" // 409 on a create
    | "conflict" // 409 on a change, or a `test` of the patch that failed
    | "invalid" // 422, or a field the server does not know
    | "notFound" // 404
    | "unauthorized" // 401
    | "other"
  /** The server's own words. */
  readonly message: string
  /** Beside which fields parts of the message belong. */
  readonly fields: ReadonlyArray<FieldMessage>
}

/** All that a failed `test`, or a path that is not there, is answered with (apiserver, patch.go). */
const FAILED_TEST = "the server rejected our request due to an error in our request"

const FIELD = /(?:^|, |\[)((?:spec|metadata|status)(?:\.[A-Za-z]\w*|\[\d+\])*): (?=[A-Z])/g

const causesOf = (message: string): ReadonlyArray<FieldMessage> => {
  const at = message.indexOf(" is invalid: ")
  if (at < 0) return []
  const text = message.slice(at + " is invalid: ".length)
  const found = [...text.matchAll(FIELD)]
  return found.map((match, i) => {
    const begin = match.index + match[0].length
    const end = found[i + 1]?.index ?? text.length
    const words = text.slice(begin, end)
    return {
      path: parsePath(match[1] ?? ""),
      message: text.startsWith("[") && i === found.length - 1 ? words.replace(/\]$/, "") : words,
    }
  })
}

const unknownFieldsOf = (message: string): ReadonlyArray<FieldMessage> =>
  [...message.matchAll(/(unknown|duplicate) field "([^"]+)"/g)].map(([words, , path = ""]) => ({
    path: parsePath(path),
    message: words,
  }))

const kindOf = (status: number | undefined, message: string, creating: boolean): Refusal["kind"] => {
  if (message.includes(FAILED_TEST)) return "conflict"
  if (
    /admission webhook "[^"]*"|ValidatingAdmissionPolicy '[^']*'|MutatingAdmissionPolicy '[^']*'/.test(
      message,
    )
  )
    return "denied"
  if (status === 401) return "unauthorized"
  if (status === 403) return "forbidden"
  if (status === 404) return "notFound"
  if (status === 409) return creating && /already exists/.test(message) ? "exists" : "conflict"
  if (status === 422 || /strict decoding error/.test(message)) return "invalid"
  return "other"
}

const messageOf = (error: unknown): string => {
  if (error instanceof Error) return error.message
  return typeof error === "string" ? error : JSON.stringify(error)
}

const statusOf = (error: unknown): number | undefined => {
  const status: unknown =
    typeof error === "object" && error !== null && "status" in error ? error.status : undefined
  return typeof status === "number" ? status : undefined
}

/** `error`: what Headlamp throws, or anything else. */
export const refusalOf = (error: unknown, creating = false): Refusal => {
  const message = messageOf(error)
  const kind = kindOf(statusOf(error), message, creating)
  return {
    kind,
    message,
    fields: kind === "invalid" ? [...causesOf(message), ...unknownFieldsOf(message)] : [],
  }
}

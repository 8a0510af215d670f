// What is encrypted in a file of Pulumi's: a state, a checkpoint, an export, an entry of the history, a stack's settings. It is
// found in what the text means, and exchanged in the text: everything else stays as it was, to the byte.
import { Option, Predicate } from "effect"
import { parse } from "yaml"

export interface Sealed {
  /** `v1:<salt>:v1:<nonce>:<ciphertext>` */
  readonly salts: ReadonlySet<string>
  /** `v1:<nonce>:<ciphertext>` */
  readonly values: ReadonlySet<string>
}

/** How Pulumi marks what is not plain in a state, and with which mark a secret. */
const markKey = "4dabf18193072939515e22adb298388d"
const secretMark = "1b47061264138c4ac30d75fd1eb44270"

/** `secure` in settings and in the config of the history, `salt` in a state, the marked object in its resources. */
const look = (meaning: unknown): Sealed => {
  const salts = new Set<string>()
  const values = new Set<string>()
  const take = (into: Set<string>, value: unknown) => {
    if (typeof value === "string" && value.startsWith("v1:")) into.add(value)
  }
  /** An alias of YAML can lead back to where it stands. */
  const seen = new Set<unknown>()
  const pending: Array<unknown> = [meaning]
  while (pending.length > 0) {
    const one = pending.pop()
    if (typeof one !== "object" || one === null || seen.has(one)) continue
    seen.add(one)
    const fields: Readonly<Record<string, unknown>> = { ...one }
    take(salts, fields.encryptionsalt)
    if (Predicate.isObject(fields.state) && "salt" in fields.state) take(salts, fields.state.salt)
    if (fields[markKey] === secretMark) take(values, fields.ciphertext)
    take(values, fields.secure)
    if (fields.secure === true) take(values, fields.value)
    for (const each of Object.values(fields)) pending.push(each)
  }
  return { salts, values }
}

const understood = (text: string, isYaml: boolean): Option.Option<unknown> => {
  try {
    return Option.some(isYaml ? parse(text) : JSON.parse(text))
  } catch {
    return Option.none()
  }
}

/** Nothing when the text is cut off, or is of another form. */
export const sealedIn = (text: string, form: "json" | "yaml"): Option.Option<Sealed> =>
  Option.map(understood(text, form === "yaml"), look)

const token = /v1:[A-Za-z0-9+/=:]+/g

/** Nothing when not each of them is there as it is, letter by letter. */
export const exchanged = (text: string, by: ReadonlyMap<string, string>): Option.Option<string> => {
  const met = new Set<string>()
  const result = text.replaceAll(token, (old) => {
    const next = by.get(old)
    if (next === undefined) return old
    met.add(old)
    return next
  })
  return met.size === by.size ? Option.some(result) : Option.none()
}

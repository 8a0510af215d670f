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

/** `secure` in settings, `salt` in a state, the marked object in its resources, `secret` in the config of the history. */
const look = (found: unknown, salts: Set<string>, values: Set<string>): void => {
  if (Array.isArray(found)) {
    for (const each of found) look(each, salts, values)
    return
  }
  if (!Predicate.isObject(found)) return
  const fields: Readonly<Record<string, unknown>> = { ...found }
  const take = (into: Set<string>, value: unknown) => {
    if (typeof value === "string" && value.startsWith("v1:")) into.add(value)
  }
  take(salts, fields.encryptionsalt)
  if (fields.type === "passphrase" && Predicate.isObject(fields.state)) {
    const state: Readonly<Record<string, unknown>> = { ...fields.state }
    take(salts, state.salt)
  }
  if (fields[markKey] === secretMark) take(values, fields.ciphertext)
  take(values, fields.secure)
  if (fields.secret === true) take(values, fields.string)
  for (const each of Object.values(fields)) look(each, salts, values)
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
  Option.map(understood(text, form === "yaml"), (meaning) => {
    const salts = new Set<string>()
    const values = new Set<string>()
    look(meaning, salts, values)
    return { salts, values }
  })

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

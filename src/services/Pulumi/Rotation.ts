// Another passphrase for everything of an instance that one encrypts: the settings, the state, and each copy of it from which
// it could be put back. The engine's own change of a passphrase leaves the copies with the old one. Salts keep their bytes: so
// a file says nothing of how far the others are, and a run that was cut off is ended by the next.
import { gunzipSync, gzipSync } from "node:zlib"
import { Data, Effect } from "effect"
import { parse } from "yaml"
import { Disk } from "../Disk/Disk.ts"
import { type Derive, derive, type Key, opensSalt, saltFor, seedOf } from "./PassphraseKey.ts"

export class RotationError extends Data.TaggedError("RotationError")<{
  /** The files that open with neither passphrase. */
  readonly files: ReadonlyArray<string>
  readonly message: string
}> {}

export interface Rotated {
  /** Files that have the new passphrase now, and had the old one. */
  readonly changed: number
  readonly unchanged: number
  /** Cut off, or of another form: left as they are. */
  readonly unreadable: ReadonlyArray<string>
}

/** What a file holds that a passphrase encrypts. */
interface Sealed {
  readonly salts: ReadonlySet<string>
  readonly values: ReadonlySet<string>
}

/** Marks a secret of a state. */
const signature = "4dabf18193072939515e22adb298388d"
const secretSignature = "1b47061264138c4ac30d75fd1eb44270"
const largest = 128 * 1024 * 1024

const sealedIn = (content: unknown): Sealed => {
  const salts = new Set<string>()
  const values = new Set<string>()
  const keep = (set: Set<string>, value: unknown) => {
    if (typeof value === "string") set.add(value)
  }
  /** An alias of YAML can lead back to where it stands. */
  const seen = new Set<unknown>()
  const pending: Array<unknown> = [content]
  while (pending.length > 0) {
    const one = pending.pop()
    if (typeof one !== "object" || one === null || seen.has(one)) continue
    seen.add(one)
    const fields: Readonly<Record<string, unknown>> = { ...one }
    keep(salts, fields.encryptionsalt)
    if (typeof fields.state === "object" && fields.state !== null && "salt" in fields.state) {
      keep(salts, fields.state.salt)
    }
    if (fields[signature] === secretSignature) keep(values, fields.ciphertext)
    // Of the settings; and of an entry of the history.
    keep(values, fields.secure)
    if (fields.secure === true) keep(values, fields.value)
    pending.push(...Object.values(fields))
  }
  return { salts, values }
}

const isPacked = (bytes: Uint8Array) => bytes[0] === 0x1f && bytes[1] === 0x8b

interface Content {
  readonly file: string
  readonly text: string
  readonly packed: boolean
  readonly sealed: Sealed
}

/** Only names that can hold something encrypted; the others are the operator's own. */
const isCandidate = (name: string) =>
  /\.json(\.gz)?(\.bak)?$|^Pulumi\..*\.yaml$|^state-damaged(-recovered)?$/.test(name)

/** Every file of the folder; links are not followed. */
const filesBelow = Effect.fnUntraced(function* (root: string) {
  const disk = yield* Disk
  const found: Array<string> = []
  const pending = [root]
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const { name, kind } of yield* disk.readdir(folder)) {
      if (kind === "directory") pending.push(`${folder}/${name}`)
      else if (kind === "file" && isCandidate(name)) found.push(`${folder}/${name}`)
    }
  }
  return found.sort()
})

/** Undefined for what cannot be read as what it is. */
const parsed = (file: string, bytes: Uint8Array): Content | undefined => {
  const packed = isPacked(bytes)
  try {
    const text = (packed ? gunzipSync(bytes, { maxOutputLength: largest }) : Buffer.from(bytes)).toString(
      "utf8",
    )
    const content: unknown = file.endsWith(".yaml") ? parse(text) : JSON.parse(text)
    return { file, text, packed, sealed: sealedIn(content) }
  } catch {
    return undefined
  }
}

const readAll = Effect.fnUntraced(function* (root: string) {
  const disk = yield* Disk
  const contents: Array<Content> = []
  const unreadable: Array<string> = []
  for (const file of yield* filesBelow(root)) {
    const { size } = yield* disk.lstat(file)
    const content = size > largest ? undefined : parsed(file, yield* disk.readFile(file))
    if (content === undefined) unreadable.push(file)
    else if (content.sealed.salts.size + content.sealed.values.size > 0) contents.push(content)
  }
  return { contents, unreadable }
})

interface Keys {
  readonly from: Key
  readonly to: Key
}

/** What each encrypted text of a file becomes; undefined when one of them opens with neither. */
const exchanges = (
  { sealed }: Content,
  keys: ReadonlyMap<string, Keys>,
): ReadonlyMap<string, string> | undefined => {
  const result = new Map<string, string>()
  for (const salt of sealed.salts) {
    const seed = seedOf(salt)
    const both = seed === undefined ? undefined : keys.get(seed)
    if (seed === undefined || both === undefined) return undefined
    if (opensSalt(both.to, salt)) continue
    if (!opensSalt(both.from, salt)) return undefined
    result.set(salt, saltFor(both.to, seed))
  }
  for (const value of sealed.values) {
    const all = [...keys.values()]
    if (all.some(({ to }) => to.decrypt(value) !== undefined)) continue
    const opened = all.flatMap(({ from, to }) => {
      const plain = from.decrypt(value)
      return plain === undefined ? [] : [to.encrypt(plain)]
    })
    if (opened[0] === undefined) return undefined
    result.set(value, opened[0])
  }
  return result
}

/** All but the encrypted texts stays as it is, byte by byte: nothing else in a file has their form and their letters. */
const exchanged = ({ text }: Content, texts: ReadonlyMap<string, string>): string =>
  text.replaceAll(/v1:[A-Za-z0-9+/=:]+/g, (found) => texts.get(found) ?? found)

const named = (files: ReadonlyArray<string>) =>
  new RotationError({
    files,
    message: `neither the old passphrase nor the new one opens ${files.join(", ")}; nothing of this instance was changed`,
  })

/**
 * Everything of the instance in this folder opens with the new passphrase afterwards, and nothing with the old one. Only
 * while nobody is at work in it. Fails, and has changed nothing, where a file opens with neither. Each file changes in one
 * step, and what a crash leaves is ended by the next run.
 */
export const rotateInstance = Effect.fn("Rotation.rotate")(function* (
  root: string,
  passphrases: { readonly from: string; readonly to: string },
  deriveKey: Derive = derive,
) {
  const disk = yield* Disk
  const { contents, unreadable } = yield* readAll(root)
  const seeds = new Set(
    contents.flatMap(({ sealed }) => [...sealed.salts].flatMap((one) => seedOf(one) ?? [])),
  )
  const keys = new Map<string, Keys>()
  for (const seed of seeds) {
    keys.set(seed, {
      from: yield* deriveKey(passphrases.from, seed),
      to: yield* deriveKey(passphrases.to, seed),
    })
  }
  const planned = contents.map((content) => {
    const texts = exchanges(content, keys)
    if (texts === undefined) return { content, text: undefined }
    const text = exchanged(content, texts)
    // What is about to be written is read as it will be.
    const again = parsed(content.file, Buffer.from(text))
    const whole = again !== undefined && exchanges(again, keys)?.size === 0
    return { content, text: whole ? text : undefined }
  })
  const closed = planned.flatMap(({ content, text }) => (text === undefined ? [content.file] : []))
  if (closed.length > 0) return yield* named(closed)
  const changes = planned.flatMap(({ content, text }) =>
    text === undefined || text === content.text ? [] : [{ ...content, text }],
  )
  for (const { file, text, packed } of changes) {
    // A name that the backend's mending removes, too.
    const temporary = `${file}.0.tmp`
    yield* Effect.catchIf(
      disk.unlink(temporary),
      ({ code }) => code === "ENOENT",
      () => Effect.void,
    )
    yield* disk.writeNew(temporary, packed ? gzipSync(text) : Buffer.from(text), 0o600)
    yield* disk.rename(temporary, file)
    yield* disk.syncFolder(file.slice(0, file.lastIndexOf("/")))
  }
  const after = yield* readAll(root)
  const left = after.contents.filter((content) => exchanges(content, keys)?.size !== 0)
  if (left.length > 0) return yield* named(left.map(({ file }) => file))
  const rotated: Rotated = {
    changed: changes.length,
    unchanged: contents.length - changes.length,
    unreadable,
  }
  return rotated
})

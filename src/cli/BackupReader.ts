// The file of a backup as it is read: once as a whole, before anything of it counts, and then part by part, each time from its beginning.
// Nothing of it is held but what is small.
import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import { Decrypter } from "age-encryption"
import { Effect, Redacted, Schema, Stream } from "effect"
import { extract } from "tar-stream"
import {
  BACKUP_FORMAT,
  bytesOf,
  chunkName,
  Format,
  MANIFEST,
  type Manifest,
  ManifestText,
  parts,
  readableOf,
  STORAGE,
  STORAGE_END,
  STORAGE_FORMAT,
  StorageEnd,
} from "./BackupFile.ts"
import { cannot, PiError } from "./Kubectl.ts"

export interface Source {
  /** For messages. */
  readonly name: string
  /** From the beginning, each time. */
  readonly bytes: Stream.Stream<Uint8Array, PiError>
}

export interface Backup {
  readonly manifest: Manifest
  /** Those that are small. */
  readonly held: ReadonlyMap<string, Uint8Array>
  readonly part: (name: string) => Stream.Stream<Uint8Array, PiError>
  /** A tar, zipped; only where the manifest has it. */
  readonly storage: Stream.Stream<Uint8Array, PiError>
}

const beginning = "age-encryption.org/v1\n"
/** More than age's header has with one passphrase. */
const HEADER = 4096
/** Bytes; of what is held. */
const SMALL = 16 * 1024 ** 2
const heldParts: ReadonlySet<string> = new Set([MANIFEST, STORAGE_END, parts.instance, parts.certificates])

const headOf = (bytes: Source["bytes"]) =>
  Effect.tryPromise({
    try: async () => {
      let head = Buffer.alloc(0)
      for await (const chunk of Stream.toAsyncIterable(bytes)) {
        head = Buffer.concat([head, chunk.subarray(0, HEADER)])
        if (head.length >= HEADER) break
      }
      return head
    },
    catch: (cause) => (cause instanceof PiError ? cause : cannot(String(cause))),
  })

/** Whoever stops in the middle lets go of what it is read from. */
const chunksOf = async function* (content: ReadableStream<Uint8Array>) {
  const reader = content.getReader()
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

interface Entry {
  readonly name: string
  readonly size: number
  readonly isFile: boolean
  readonly content: AsyncIterable<Uint8Array>
}

/** What is not read of one is passed over. */
const entriesOf = async function* (
  bytes: Source["bytes"],
  fileKey: Uint8Array,
): AsyncGenerator<Entry, void, void> {
  const decrypter = new Decrypter()
  decrypter.addIdentity({ unwrapFileKey: () => fileKey })
  const plain = await decrypter.decrypt(readableOf(Stream.toAsyncIterable(bytes)))
  const from = Readable.from(chunksOf(plain))
  const entries = extract()
  from.on("error", (error) => entries.destroy(error))
  from.pipe(entries)
  try {
    for await (const entry of entries) {
      const { name, type, size = 0 } = entry.header
      yield { name, size, isFile: type === "file", content: bytesOf(entry) }
      entry.resume()
    }
  } finally {
    from.destroy()
  }
}

/** Of several entries one after the other: no further than the last of them. */
const contentOf = (
  entries: () => AsyncGenerator<Entry, void, void>,
  isPart: (name: string) => boolean,
  onError: (cause: unknown) => PiError,
): Stream.Stream<Uint8Array, PiError> =>
  Stream.suspend(() =>
    Stream.fromAsyncIterable(
      (async function* () {
        let found = false
        for await (const { name, content } of entries()) {
          if (isPart(name)) {
            found = true
            yield* content
          } else if (found) return
        }
      })(),
      onError,
    ),
  )

const damagedError = new Error("damaged")

/** Looks at all of it; fails where anything is not as it was sealed. */
const lookThrough = async (
  entries: AsyncGenerator<Entry, void, void>,
  requireFormat: (text: string) => void,
) => {
  const held = new Map<string, Uint8Array>()
  const digests = new Map<string, string>()
  const storage = createHash("sha256")
  let size = 0
  let chunks = 0
  for await (const entry of entries) {
    const { name, isFile } = entry
    if (!isFile || digests.has(name) || held.has(STORAGE_END)) throw damagedError
    const isChunk = name.startsWith(STORAGE)
    if (isChunk && name !== chunkName(chunks)) throw damagedError
    if (heldParts.has(name) && entry.size > SMALL) throw damagedError
    const digest = createHash("sha256")
    const kept: Array<Uint8Array> = []
    for await (const chunk of entry.content) {
      if (heldParts.has(name)) kept.push(chunk)
      if (isChunk) {
        storage.update(chunk)
        size += chunk.length
      } else digest.update(chunk)
    }
    if (isChunk) chunks += 1
    else digests.set(name, digest.digest("hex"))
    if (!heldParts.has(name)) continue
    const content = Buffer.concat(kept)
    held.set(name, content)
    if (name === MANIFEST) requireFormat(content.toString("utf8"))
  }
  if (!held.has(MANIFEST)) requireFormat("")
  return { held, digests, storage: { sha256: storage.digest("hex"), size, chunks } }
}

type Seen = Awaited<ReturnType<typeof lookThrough>>

const isWhole = ({ held, digests, storage }: Seen, manifest: Manifest): boolean => {
  const end = held.get(STORAGE_END)
  const isStored =
    manifest.storage === undefined
      ? storage.chunks === 0 && end === undefined
      : new TextDecoder().decode(end).trim() === Schema.encodeSync(StorageEnd)(storage)
  return (
    isStored &&
    (manifest.storage !== undefined) === (manifest.format === STORAGE_FORMAT) &&
    Object.values(parts).every((part) => manifest.parts[part] !== undefined) &&
    Object.entries(manifest.parts).every(([part, { sha256 }]) => digests.get(part) === sha256)
  )
}

/** Fails where anything of it is not as it was sealed. */
export const opened = Effect.fn("BackupReader.opened")(function* (
  { name, bytes }: Source,
  passphrase: Redacted.Redacted,
) {
  const head = yield* headOf(bytes)
  if (!new TextDecoder().decode(head.subarray(0, beginning.length)).startsWith(beginning)) {
    return yield* cannot(`${name} is no backup of kubectl pi: it does not begin as an age file does`)
  }
  const damaged = cannot(`${name} is cut off or damaged: nothing of it can be used; take another copy`)
  const asDamaged = (cause: unknown) => (cause instanceof PiError ? cause : damaged)
  const fileKey = yield* Effect.tryPromise({
    try: () => {
      const decrypter = new Decrypter()
      decrypter.addPassphrase(Redacted.value(passphrase))
      return decrypter.decryptHeader(head)
    },
    catch: (cause) =>
      String(cause).includes("no identity matched")
        ? cannot(`the passphrase does not open ${name}: it was made with another one`)
        : damaged,
  })
  const requireFormat = (text: string) => {
    const found = Schema.decodeOption(Format)(text)
    if (found._tag === "None") {
      throw cannot(`${name} is an age file without ${MANIFEST}: kubectl pi backup has not made it`)
    }
    const { format } = found.value
    if (format > STORAGE_FORMAT) {
      throw cannot(
        `${name} has format ${format}, and this program reads ${BACKUP_FORMAT} and ${STORAGE_FORMAT}: use the kubectl-pi of the release that made it, or a later one`,
      )
    }
  }
  const entries = () => entriesOf(bytes, fileKey)
  const seen = yield* Effect.tryPromise({
    try: () => lookThrough(entries(), requireFormat),
    catch: asDamaged,
  })
  const manifest = yield* Effect.mapError(
    Schema.decodeEffect(ManifestText)(new TextDecoder().decode(seen.held.get(MANIFEST))),
    () => damaged,
  )
  if (!isWhole(seen, manifest)) return yield* damaged
  const backup: Backup = {
    manifest,
    held: seen.held,
    part: (part) => contentOf(entries, (each) => each === part, asDamaged),
    storage: contentOf(entries, (each) => each.startsWith(STORAGE), asDamaged),
  }
  return backup
})

// The file of a backup: a tar inside the age format (https://age-encryption.org/v1) with a passphrase, so that `age -d FILE | tar x`
// opens it, too. The manifest comes first, and has the digest of every other part.
import { createHash, randomBytes } from "node:crypto"
import { Readable } from "node:stream"
import { createGunzip, gunzipSync } from "node:zlib"
import { Encrypter } from "age-encryption"
import { Context, Data, Effect, Redacted, Schema, Stream } from "effect"
import { extract, pack } from "tar-stream"
import { unpacked } from "../services/Backup/Archive.ts"
import { cannot, PiError } from "./Kubectl.ts"

/** Raised when an earlier release must not restore it. */
export const BACKUP_FORMAT = 1
/** Of one that has a storage root: whoever does not know of it must not restore it without. */
export const STORAGE_FORMAT = 2

const Part = Schema.Struct({ sha256: Schema.String, size: Schema.Finite })

export const Manifest = Schema.Struct({
  format: Schema.Literals([BACKUP_FORMAT, STORAGE_FORMAT]),
  /** 16 hexadecimal digits, drawn for each. */
  id: Schema.String,
  /** RFC 3339. */
  createdAt: Schema.String,
  instance: Schema.Struct({ namespace: Schema.String, name: Schema.String }),
  versions: Schema.Struct({
    operator: Schema.String,
    platform: Schema.String,
    /** Of the vCluster's chart. */
    vcluster: Schema.String,
  }),
  /** Of the records in the state directory. */
  stateFormat: Schema.Finite,
  /** The UID of `kube-system` inside: which cluster it is. */
  kubeSystemUID: Schema.String,
  /** What the secrets in the state are encrypted under: drawn for this backup, and of no use without it. */
  statePassphrase: Schema.String,
  /** Of the storage root that comes after the parts: where it was, and whether the spec has named it. */
  storage: Schema.optionalKey(Schema.Struct({ root: Schema.String, isCustom: Schema.Boolean })),
  parts: Schema.Record(Schema.String, Part),
})
export type Manifest = typeof Manifest.Type

export const ManifestText = Schema.fromJsonString(Manifest)
const encodeManifest = Schema.encodeSync(ManifestText)
export const Format = Schema.fromJsonString(Schema.Struct({ format: Schema.Finite }))

export const MANIFEST = "manifest.json"
export const parts = {
  /** The PlatformInstance, as it is made again. */
  instance: "instance.json",
  /** Its folder in the state directory. */
  state: "state.tar.gz",
  /** What `vcluster snapshot` gives. */
  vcluster: "vcluster.tar.gz",
  /** The vCluster's certificates and keys: the data of its Secret. */
  certificates: "certificates.json",
} as const

/** A storage root, `cat storage/* | tar xz` of it, in pieces of a size that can be held; their order is that of their names. */
export const STORAGE = "storage/"
export const chunkName = (index: number): string => `${STORAGE}${String(index).padStart(9, "0")}`
/** The last of all: it was read to its end, and nothing has run in between. */
export const STORAGE_END = "storage.json"
export const StorageEnd = Schema.fromJsonString(
  Schema.Struct({ sha256: Schema.String, size: Schema.Finite, chunks: Schema.Finite }),
)
const encodeStorageEnd = Schema.encodeSync(StorageEnd)

export const newId = (): string => randomBytes(8).toString("hex")
/** As safe as a key. */
export const newPassphrase = (): string => randomBytes(36).toString("base64")

const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")
const partOf = (content: Uint8Array) => ({ sha256: sha256(content), size: content.length })

/** The cost of each try at a passphrase, as a power of two; age's own default. Tests have another. */
export const WorkFactor = Context.Reference<number>("kubectl-pi/WorkFactor", { defaultValue: () => 18 })

/** What a stream of Node.js gives. */
export const bytesOf = async function* (
  content: AsyncIterable<unknown>,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const chunk of content) if (chunk instanceof Uint8Array) yield chunk
}

/** No more of it is asked for than is taken. */
export const readableOf = (content: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> => {
  const from = content[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const next = await from.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      cancel: async () => {
        await from.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/** The most of a storage root that is one entry: of how many bytes it is in all is not known before its end. */
const CHUNK = 4 * 1024 ** 2

const inChunks = async function* (content: AsyncIterable<Uint8Array>) {
  let held: Array<Uint8Array> = []
  let size = 0
  for await (const piece of content) {
    for (let at = 0; at < piece.length; ) {
      const next = piece.subarray(at, at + CHUNK - size)
      held.push(next)
      size += next.length
      at += next.length
      if (size < CHUNK) continue
      yield Buffer.concat(held)
      held = []
      size = 0
    }
  }
  if (size > 0) yield Buffer.concat(held)
}

const tarred = (
  contents: ReadonlyMap<string, Uint8Array>,
  storage: AsyncIterable<Uint8Array> | undefined,
) => {
  const tar = pack()
  /** Once the one before was taken: no more than one is held. */
  const put = (name: string, content: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
      tar.entry({ name, mode: 0o600, mtime: new Date(0) }, bytes, (error) =>
        error ? reject(error) : resolve(),
      )
    })
  const fill = async () => {
    for (const [name, content] of contents) await put(name, content)
    if (storage !== undefined) {
      const digest = createHash("sha256")
      let size = 0
      let chunks = 0
      for await (const chunk of inChunks(storage)) {
        digest.update(chunk)
        size += chunk.length
        await put(chunkName(chunks), chunk)
        chunks += 1
      }
      const end = encodeStorageEnd({ sha256: digest.digest("hex"), size, chunks })
      await put(STORAGE_END, new TextEncoder().encode(`${end}\n`))
    }
    tar.finalize()
  }
  fill().catch((error) => tar.destroy(error))
  return tar
}

/**
 * The file, as it is read: nothing of it before. A storage root comes as it is taken, and what says how much it was comes last: without
 * that the file is none.
 */
export const sealed = (
  about: Omit<Manifest, "parts">,
  contents: ReadonlyMap<string, Uint8Array>,
  passphrase: Redacted.Redacted,
  storage?: Stream.Stream<Uint8Array, PiError>,
): Stream.Stream<Uint8Array, PiError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const logN = yield* WorkFactor
      const manifest: Manifest = {
        ...about,
        parts: Object.fromEntries([...contents].map(([name, content]) => [name, partOf(content)])),
      }
      const first = new TextEncoder().encode(`${encodeManifest(manifest)}\n`)
      const onError = (cause: unknown) =>
        cause instanceof PiError ? cause : cannot(`the backup cannot be put together: ${String(cause)}`)
      const encrypted = yield* Effect.tryPromise({
        try: () => {
          const encrypter = new Encrypter()
          encrypter.setScryptWorkFactor(logN)
          encrypter.setPassphrase(Redacted.value(passphrase))
          const tar = tarred(
            new Map([[MANIFEST, first], ...contents]),
            storage === undefined ? undefined : Stream.toAsyncIterable(storage),
          )
          return encrypter.encrypt(readableOf(bytesOf(tar)))
        },
        catch: onError,
      })
      return Stream.fromReadableStream({ evaluate: () => encrypted, onError })
    }),
  )

/** Of which state the operator's copy is one; nothing where it did not come whole. */
export const stampOfState = (copy: Uint8Array): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const tar = yield* Effect.try(() => gunzipSync(copy))
    const files = yield* unpacked(tar)
    const stamp = new TextDecoder().decode(files.get("stamp"))
    return stamp === "" || !files.has("files/instance.json") ? undefined : stamp
  }).pipe(Effect.orElseSucceed(() => undefined))

class NotWhole extends Data.TaggedError("NotWhole") {}

const kubeSystem = "/registry/namespaces/kube-system"

/**
 * Which cluster a snapshot of a vCluster is of: the `same`, whose `kube-system` has this UID, or `another`; `unknown` where it
 * did not come whole.
 */
export const clusterOf = (
  snapshot: Stream.Stream<Uint8Array, PiError>,
  kubeSystemUID: string,
): Effect.Effect<"same" | "another" | "unknown", PiError> =>
  Effect.tryPromise({
    try: async () => {
      const entries = extract()
      const zipped = Readable.from(Stream.toAsyncIterable(snapshot))
      const unzipped = zipped.pipe(createGunzip())
      zipped.on("error", (error) => entries.destroy(error))
      unzipped.on("error", (error) => entries.destroy(error))
      unzipped.pipe(entries)
      let found: "same" | "another" | "unknown" = "unknown"
      for await (const entry of entries) {
        const isIt = entry.header.name === kubeSystem
        const chunks: Array<Uint8Array> = []
        // Of a large database no more than that is held unpacked.
        for await (const chunk of entry) if (isIt && chunk instanceof Uint8Array) chunks.push(chunk)
        if (isIt) found = Buffer.concat(chunks).includes(kubeSystemUID) ? "same" : "another"
      }
      return found
    },
    catch: (cause) => (cause instanceof PiError ? cause : new NotWhole()),
  }).pipe(Effect.catchTag("NotWhole", () => Effect.succeed("unknown" as const)))

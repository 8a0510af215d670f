// The file of a backup: a tar inside the age format (https://age-encryption.org/v1) with a passphrase, so that `age -d FILE | tar x`
// opens it, too. The manifest comes first, and has the digest of every other part.
import { createHash, randomBytes } from "node:crypto"
import { Readable } from "node:stream"
import { createGunzip, gunzipSync } from "node:zlib"
import { Decrypter, Encrypter } from "age-encryption"
import { Context, Effect, Redacted, Schema, Stream } from "effect"
import { extract } from "tar-stream"
import { tarOf, unpacked } from "../services/Backup/Archive.ts"
import { cannot } from "./Kubectl.ts"

/** Raised when an earlier release must not restore it. */
export const BACKUP_FORMAT = 1

const Part = Schema.Struct({ sha256: Schema.String, size: Schema.Finite })

export const Manifest = Schema.Struct({
  format: Schema.Literal(BACKUP_FORMAT),
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
  parts: Schema.Record(Schema.String, Part),
})
export type Manifest = typeof Manifest.Type

const ManifestText = Schema.fromJsonString(Manifest)
const encodeManifest = Schema.encodeSync(ManifestText)
const Format = Schema.fromJsonString(Schema.Struct({ format: Schema.Finite }))

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

export interface Backup {
  readonly manifest: Manifest
  readonly parts: ReadonlyMap<string, Uint8Array>
}

export const newId = (): string => randomBytes(8).toString("hex")
/** As safe as a key. */
export const newPassphrase = (): string => randomBytes(36).toString("base64")

const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")
const partOf = (content: Uint8Array) => ({ sha256: sha256(content), size: content.length })

/** The cost of each try at a passphrase, as a power of two; age's own default. Tests have another. */
export const WorkFactor = Context.Reference<number>("kubectl-pi/WorkFactor", { defaultValue: () => 18 })

export const sealed = Effect.fn("BackupFile.sealed")(function* (
  about: Omit<Manifest, "parts">,
  contents: ReadonlyMap<string, Uint8Array>,
  passphrase: Redacted.Redacted,
) {
  const manifest: Manifest = {
    ...about,
    parts: Object.fromEntries([...contents].map(([name, content]) => [name, partOf(content)])),
  }
  const logN = yield* WorkFactor
  return yield* Effect.tryPromise({
    try: async () => {
      const first = new TextEncoder().encode(`${encodeManifest(manifest)}\n`)
      const tar = tarOf(new Map([[MANIFEST, first], ...contents]))
      const written: Stream.Stream<Uint8Array> = Stream.fromAsyncIterable(tar, (cause) => cause).pipe(
        Stream.orDie,
        Stream.filter((chunk) => chunk instanceof Uint8Array),
      )
      const encrypter = new Encrypter()
      encrypter.setScryptWorkFactor(logN)
      encrypter.setPassphrase(Redacted.value(passphrase))
      const chunks: Array<Uint8Array> = []
      for await (const chunk of await encrypter.encrypt(Stream.toReadableStream(written))) chunks.push(chunk)
      return Buffer.concat(chunks)
    },
    catch: (cause) => cannot(`the backup cannot be put together: ${String(cause)}`),
  })
})

const beginning = "age-encryption.org/v1\n"

/** `name` is for messages. Fails where anything of it is not as it was sealed. */
export const opened = Effect.fn("BackupFile.opened")(function* (
  name: string,
  content: Uint8Array,
  passphrase: Redacted.Redacted,
) {
  if (!new TextDecoder().decode(content.subarray(0, beginning.length)).startsWith(beginning)) {
    return yield* cannot(`${name} is no backup of kubectl pi: it does not begin as an age file does`)
  }
  const damaged = cannot(`${name} is cut off or damaged: nothing of it can be used; take another copy`)
  const tar = yield* Effect.tryPromise({
    try: () => {
      const decrypter = new Decrypter()
      decrypter.addPassphrase(Redacted.value(passphrase))
      return decrypter.decrypt(content)
    },
    catch: (cause) =>
      String(cause).includes("no identity matched")
        ? cannot(`the passphrase does not open ${name}: it was made with another one`)
        : damaged,
  })
  const files = yield* Effect.mapError(unpacked(tar), () => damaged)
  const text = new TextDecoder().decode(files.get(MANIFEST))
  const { format } = yield* Effect.mapError(Schema.decodeEffect(Format)(text), () =>
    cannot(`${name} is an age file without ${MANIFEST}: kubectl pi backup has not made it`),
  )
  if (format > BACKUP_FORMAT) {
    return yield* cannot(
      `${name} has format ${format}, and this program reads ${BACKUP_FORMAT}: use the kubectl-pi of the release that made it, or a later one`,
    )
  }
  const manifest = yield* Effect.mapError(Schema.decodeEffect(ManifestText)(text), () => damaged)
  for (const [part, { sha256: digest }] of Object.entries(manifest.parts)) {
    const found = files.get(part)
    if (found === undefined || sha256(found) !== digest) return yield* damaged
  }
  if (Object.values(parts).some((part) => manifest.parts[part] === undefined)) return yield* damaged
  const backup: Backup = { manifest, parts: files }
  return backup
})

/** Of which state the operator's copy is one; nothing where it did not come whole. */
export const stampOfState = (copy: Uint8Array): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const tar = yield* Effect.try(() => gunzipSync(copy))
    const files = yield* unpacked(tar)
    const stamp = new TextDecoder().decode(files.get("stamp"))
    return stamp === "" || !files.has("files/instance.json") ? undefined : stamp
  }).pipe(Effect.orElseSucceed(() => undefined))

const kubeSystem = "/registry/namespaces/kube-system"

/**
 * Which cluster a snapshot of a vCluster is of: the `same`, whose `kube-system` has this UID, or `another`; `unknown` where it
 * did not come whole.
 */
export const clusterOf = (
  snapshot: Uint8Array,
  kubeSystemUID: string,
): Effect.Effect<"same" | "another" | "unknown"> =>
  Effect.promise(async () => {
    try {
      const entries = extract()
      const unzipped = Readable.from([snapshot]).pipe(createGunzip())
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
    } catch {
      return "unknown"
    }
  })

// The file backend: state, its copy from before, history, and locks, each file with an `.attrs` beside it. A file is
// written under another name and renamed; the `.attrs` is written in place, and a kill in between leaves it empty (seen).
import { createHash } from "node:crypto"
import { gunzipSync, gzipSync } from "node:zlib"
import { Clock, DateTime, Effect, Random, Schedule } from "effect"
import { CliError, wordsOf } from "./Errors.ts"
import { remember } from "./remember.ts"
import { readText, type Volume } from "./Volume.ts"

export interface Backend {
  readonly volume: Volume
  /** The folder of the backend's URL. */
  readonly root: string
  readonly project: string
  readonly stack: string
  /** `PULUMI_DIY_BACKEND_GZIP` */
  readonly gzip: boolean
}

export const stackName = (backend: Backend): string => `organization/${backend.project}/${backend.stack}`

/** Hex digits by the simulation's chance, eight a draw. */
export const randomHex = (length: number): Effect.Effect<string> =>
  Effect.map(Effect.replicateEffect(Random.nextIntBetween(0, 0xffffffff), Math.ceil(length / 8)), (numbers) =>
    numbers
      .map((number) => number.toString(16).padStart(8, "0"))
      .join("")
      .slice(0, length),
  )

export const randomUuid = Effect.map(randomHex(32), (hex) =>
  [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-"),
)

/** A few system calls. What they throw is what the CLI says. */
export const system = <A>(calls: () => A): Effect.Effect<A, CliError> =>
  Effect.try({ try: calls, catch: (error) => new CliError({ message: `error: ${wordsOf(error)}` }) })

/** Between two system calls somebody else may run, and this process may be killed. */
const moment = Effect.sleep("1 millis")

/** The same bytes are written to two or three files, and told of in each. */
const digests = new WeakMap<Uint8Array, string>()

const md5 = (content: Uint8Array): string => {
  const found = digests.get(content) ?? createHash("md5").update(content).digest("base64")
  digests.set(content, found)
  return found
}

const attributes = (content: Uint8Array, type: string) =>
  JSON.stringify({
    "user.cache_control": "",
    "user.content_disposition": "",
    "user.content_encoding": "",
    "user.content_language": "",
    "user.content_type": type,
    "user.metadata": null,
    md5: md5(content),
  })

/** Files of the backend are for everybody by its own mode; the runner's umask takes that away. */
const mode = 0o600

const writeBlob = Effect.fnUntraced(function* (
  volume: Volume,
  file: string,
  content: Uint8Array,
  type: string,
) {
  const temporary = `${file}.${yield* randomHex(8)}.tmp`
  yield* system(() => {
    volume.mkdir(file.slice(0, file.lastIndexOf("/")), 0o700)
    volume.writeFile(temporary, content, mode)
  })
  yield* moment
  yield* system(() => {
    volume.rename(temporary, file)
    volume.writeFile(`${file}.attrs`, "", mode)
  })
  yield* moment
  yield* system(() => volume.writeFile(`${file}.attrs`, attributes(content, type), mode))
})

const stateBase = ({ root, project, stack }: Backend) => `${root}/.pulumi/stacks/${project}/${stack}`

/** What was packed a moment ago is read a moment later, and the file system gives the same bytes for it. */
const known = new WeakMap<Uint8Array, string>()

/** In the format, and not packed: nobody looks at its size. The state goes into the history as it is. */
const packed = remember((text: string): Uint8Array => {
  const content = gzipSync(text, { level: 0 })
  known.set(content, text)
  return content
}, 32)

const unpacked = (content: Uint8Array): string => {
  const text = known.get(content) ?? gunzipSync(content).toString("utf8")
  known.set(content, text)
  return text
}

/** The state's text; undefined when the stack does not exist. */
export const readStateText = (backend: Backend): Effect.Effect<string | undefined, CliError> =>
  system(() => {
    const { volume } = backend
    for (const extension of [".json.gz", ".json"]) {
      const file = `${stateBase(backend)}${extension}`
      if (!volume.isFile(file)) continue
      const sidecar = readText(volume, `${file}.attrs`)
      if (sidecar === "") throw new Error("failed to load checkpoint: EOF")
      const content = volume.readFile(file)
      return extension === ".json" ? Buffer.from(content).toString("utf8") : unpacked(content)
    }
    return undefined
  })

export const writeStateText = Effect.fnUntraced(function* (backend: Backend, text: string) {
  const { volume } = backend
  const base = stateBase(backend)
  const [file, other] = backend.gzip
    ? [`${base}.json.gz`, `${base}.json`]
    : [`${base}.json`, `${base}.json.gz`]
  const type = backend.gzip ? "application/x-gzip" : "text/plain; charset=utf-8"
  const before = [file, other].find((each) => volume.isFile(each))
  if (before !== undefined) {
    // A copy: the state itself is never missing.
    const old = yield* system(() => volume.readFile(before))
    yield* writeBlob(volume, `${before}.bak`, old, type)
  }
  const content = backend.gzip ? packed(text) : Buffer.from(text, "utf8")
  // It tries for half a minute before it gives up (read in 3.274.1).
  yield* writeBlob(volume, file, content, type).pipe(
    Effect.retry({ schedule: Schedule.exponential("1 second", 1.2), times: 10 }),
  )
  if (before === other) yield* system(() => volume.remove(other))
})

/** The backend's own format: written when it is missing, and an error when it was cut off (read in 3.274.1). */
export const ensureMeta = Effect.fnUntraced(function* ({ root, volume }: Backend) {
  const file = `${root}/.pulumi/meta.yaml`
  const found = yield* system(() => readText(volume, file))
  if (found === undefined) {
    return yield* writeBlob(volume, file, Buffer.from("version: 1\n", "utf8"), "text/plain; charset=utf-8")
  }
  if (!found.includes("version:")) {
    return yield* new CliError({ message: `error: corrupt store: missing version in ".pulumi/meta.yaml"` })
  }
})

/** What an operation leaves behind for good. */
export const writeHistory = Effect.fnUntraced(function* (
  backend: Backend,
  entry: Readonly<Record<string, unknown>>,
  stateText: string,
) {
  const { root, project, stack, volume, gzip } = backend
  // Nanoseconds in the real one's names; more than the clock has.
  const now = `${yield* Clock.currentTimeMillis}${(yield* randomHex(6)).replaceAll(/[a-f]/g, "7")}`
  const extension = gzip ? ".json.gz" : ".json"
  const content = (text: string) => (gzip ? packed(text) : Buffer.from(text, "utf8"))
  const prefix = `${root}/.pulumi/history/${project}/${stack}/${stack}-${now}`
  yield* writeBlob(
    volume,
    `${prefix}.history${extension}`,
    content(JSON.stringify(entry)),
    "application/x-gzip",
  )
  yield* writeBlob(volume, `${prefix}.checkpoint${extension}`, content(stateText), "application/x-gzip")
})

const lockFolder = ({ root, project, stack }: Backend) =>
  `${root}/.pulumi/locks/organization/${project}/${stack}`

const refuseLocked = (backend: Backend, own?: string) =>
  system(() => {
    const folder = lockFolder(backend)
    const others = backend.volume
      .list(folder)
      .filter((name) => name.endsWith(".json") && `${folder}/${name}` !== own)
    if (others.length === 0) return
    const lines = others.map((name) => {
      const text = readText(backend.volume, `${folder}/${name}`) ?? "{}"
      const { username, hostname, pid, timestamp }: Record<string, unknown> = JSON.parse(text)
      return `  file://${folder}/${name}?no_tmp_dir=true: created by ${username}@${hostname} (pid ${pid}) at ${timestamp}`
    })
    throw new Error(
      `the stack is currently locked by ${others.length} lock(s). Either wait for the other process(es) to end or delete the lock file with \`pulumi cancel\`.\n${lines.join("\n")}`,
    )
  })

/** Takes the lock, and gives its file. */
export const lock = Effect.fnUntraced(function* (
  backend: Backend,
  holder: { readonly pid: number; readonly username: string; readonly hostname: string },
) {
  yield* refuseLocked(backend)
  const file = `${lockFolder(backend)}/${yield* randomUuid}.json`
  const timestamp = DateTime.formatIso(yield* DateTime.now)
  const content = Buffer.from(JSON.stringify({ ...holder, timestamp }), "utf8")
  yield* writeBlob(backend.volume, file, content, "text/plain; charset=utf-8")
  yield* refuseLocked(backend, file).pipe(Effect.tapError(() => unlock(backend, file)))
  return file
})

export const unlock = (backend: Backend, file: string): Effect.Effect<void, CliError> =>
  system(() => {
    backend.volume.remove(file)
    backend.volume.remove(`${file}.attrs`)
  })

// `npm install` as `src/services/Pulumi/Npm.ts` calls it: asks the registry for each package, unpacks file by file, writes
// the lock files last. What it says when it fails are the words of npm 11.
import { createHash } from "node:crypto"
import { Data, Effect } from "effect"
import type { ProcessContext, Program } from "../processes/Program.ts"
import { readText } from "../pulumi/Volume.ts"
import { makeRegistry, type Published, type Registry } from "./Registry.ts"

class NpmError extends Data.TaggedError("NpmError")<{ readonly code: string; readonly words: string }> {
  override get message() {
    return `npm error code ${this.code}\n${this.words}\n`
  }
}

/** Registries by the base of their addresses. */
export type Registries = Readonly<Record<string, Registry>>

/** Where nobody listens, connections are refused. */
const nobody = makeRegistry([])
nobody.refuse()

const registryAt = (registries: Registries, { url }: Place): Registry => registries[url] ?? nobody

interface Place {
  /** Base of its addresses, without a slash at the end. */
  readonly url: string
  readonly retries: number
  readonly timeoutMillis: number
}

const option = (argv: ReadonlyArray<string>, name: string): string | undefined =>
  argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3)

/** `--registry`, or the npmrc's for the scope or for all. */
const placeOf = (process: ProcessContext, name: string): Place => {
  const npmrc = readText(process.files, option(process.argv, "userconfig") ?? "") ?? ""
  const scope = name.startsWith("@") ? name.split("/")[0] : undefined
  const line = (key: string) => new RegExp(`^\\s*${key}\\s*=\\s*(\\S+)`, "m").exec(npmrc)?.[1]
  const scoped = scope === undefined ? undefined : line(`${scope}:registry`)
  const url = scoped ?? option(process.argv, "registry") ?? line("registry") ?? "https://registry.npmjs.org"
  return {
    url: url.replace(/\/$/, ""),
    retries: Number(option(process.argv, "fetch-retries") ?? 2),
    timeoutMillis: Number(option(process.argv, "fetch-timeout") ?? 300_000),
  }
}

const hostOf = (url: string) => {
  const { hostname, port, protocol } = new URL(url)
  return `${hostname}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`
}

const reasons: Readonly<Record<number, string>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
}

/** Waits between tries: `fetch-retry-mintimeout` 1 s, doubled. What is worth a try again is a server that is not well. */
const ask = Effect.fnUntraced(function* (registries: Registries, place: Place, path: string) {
  for (let attempt = 0; ; attempt++) {
    yield* Effect.sleep("30 millis")
    const met = registryAt(registries, place).meet()
    if (met._tag === "Answers") return
    const address = `${place.url}/${path}`
    if (met._tag === "Hangs") yield* Effect.sleep(place.timeoutMillis)
    const error =
      met._tag === "Hangs"
        ? new NpmError({ code: "ETIMEDOUT", words: `npm error network timeout at: ${address}` })
        : met._tag === "Refuses"
          ? new NpmError({
              code: "ECONNREFUSED",
              words: `npm error syscall connect\nnpm error errno ECONNREFUSED\nnpm error FetchError: request to ${address} failed, reason: connect ECONNREFUSED ${hostOf(place.url)}`,
            })
          : new NpmError({
              code: `E${met.status}`,
              words: `npm error ${met.status} ${met.status} ${reasons[met.status] ?? "Error"} - GET ${address}`,
            })
    const isWorthIt = met._tag !== "Status" || met.status >= 500 || met.status === 429 || met.status === 408
    if (!isWorthIt || attempt >= place.retries) return yield* error
    yield* Effect.sleep(1000 * 2 ** attempt)
  }
})

const integrity = (published: Published) =>
  `sha512-${createHash("sha512").update(JSON.stringify(published.files)).digest("base64")}`

/** The one version that a pin allows. */
const choose = Effect.fnUntraced(function* (
  registries: Registries,
  place: Place,
  name: string,
  version: string,
) {
  yield* ask(registries, place, name.replace("/", "%2f"))
  const known = registryAt(registries, place).find(name)
  if (known.length === 0) {
    return yield* new NpmError({
      code: "E404",
      words: `npm error 404 Not Found - GET ${place.url}/${name.replace("/", "%2f")}\nnpm error 404\nnpm error 404  '${name}@${version}' is not in this registry.`,
    })
  }
  const found = known.find((one) => one.version === version)
  if (found !== undefined) return found
  return yield* new NpmError({
    code: "ETARGET",
    words: `npm error notarget No matching version found for ${name}@${version}.\nnpm error notarget In most cases you or one of your dependencies are requesting\nnpm error notarget a package version that doesn't exist.`,
  })
})

const writing = (calls: () => void) =>
  Effect.try({
    try: calls,
    catch: (error) => {
      const code = error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN"
      return new NpmError({ code, words: `npm error syscall write\nnpm error ${String(error)}` })
    },
  })

/** A tarball, fetched and unpacked file by file. */
const unpack = Effect.fnUntraced(function* (
  process: ProcessContext,
  registries: Registries,
  place: Place,
  published: Published,
) {
  const { name, version, files } = published
  yield* ask(registries, place, `${name}/-/${name.split("/").at(-1)}-${version}.tgz`)
  if (registryAt(registries, place).isTampered(name)) {
    return yield* new NpmError({
      code: "EINTEGRITY",
      words: `npm error sha512 integrity checksum failed when using sha512: wanted ${integrity(published)} but got sha512-AAAA. (1024 bytes)`,
    })
  }
  const volume = process.files
  const folder = `${process.cwd}/node_modules/${name}`
  for (const [file, text] of Object.entries(files)) {
    yield* writing(() => {
      const target = `${folder}/${file}`
      volume.mkdir(target.slice(0, target.lastIndexOf("/")))
      volume.writeFile(target, text, 0o644)
    })
    yield* Effect.sleep("2 millis")
  }
})

const install = Effect.fnUntraced(function* (process: ProcessContext, registries: Registries) {
  const volume = process.files
  const manifest: { readonly dependencies?: Readonly<Record<string, string>> } = JSON.parse(
    readText(volume, `${process.cwd}/package.json`) ?? "{}",
  )
  const wanted = Object.entries(manifest.dependencies ?? {})
  const chosen = new Map<string, Published>()
  while (wanted.length > 0) {
    const [name = "", version = ""] = wanted.shift() ?? []
    if (chosen.has(name)) continue
    const published = yield* choose(registries, placeOf(process, name), name, version)
    chosen.set(name, published)
    wanted.push(...Object.entries(published.dependencies))
  }
  // A lock that is there is followed: what it says of a version is what has to come.
  const lock: { readonly packages?: Readonly<Record<string, { readonly integrity?: string }>> } = JSON.parse(
    readText(volume, `${process.cwd}/package-lock.json`) ?? "{}",
  )
  for (const published of chosen.values()) {
    const locked = lock.packages?.[`node_modules/${published.name}`]?.integrity
    if (locked !== undefined && locked !== integrity(published)) {
      return yield* new NpmError({
        code: "EINTEGRITY",
        words: `npm error sha512 integrity checksum failed when using sha512: wanted ${locked} but got ${integrity(published)}. (1024 bytes)`,
      })
    }
    yield* unpack(process, registries, placeOf(process, published.name), published)
  }
  const packages = Object.fromEntries(
    [...chosen.values()].map((one) => [
      `node_modules/${one.name}`,
      {
        version: one.version,
        resolved: `${placeOf(process, one.name).url}/-/${one.version}.tgz`,
        integrity: integrity(one),
      },
    ]),
  )
  yield* writing(() => {
    const lock = JSON.stringify(
      { name: "platform-package", lockfileVersion: 3, requires: true, packages },
      null,
      2,
    )
    volume.writeFile(`${process.cwd}/node_modules/.package-lock.json`, lock, 0o644)
    volume.writeFile(`${process.cwd}/package-lock.json`, lock, 0o644)
  })
  process.stdout(`\nadded ${chosen.size} packages in 2s\n`)
  return 0
})

/** The program `npm`. */
export const npmProgram =
  (registries: Registries): Program =>
  (process) =>
    Effect.sleep("300 millis").pipe(
      Effect.andThen(install(process, registries)),
      Effect.catch((error) =>
        Effect.sync(() => {
          process.stderr(error.message)
          return 1
        }),
      ),
    )

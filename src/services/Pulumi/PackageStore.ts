// The platform packages, one install a version however many instances there are:
//
//   <packages>/<key>/package.json, package-lock.json, node_modules/, store.json
//
// The folder that projects link to must be called `node_modules` itself: Node resolves from the real path of a
// file, and finds a package's own dependencies by that name only (contracts: seen). A version is installed into
// a temporary folder, measured, made read-only and renamed: one that is there under its key is whole.
import { createHash } from "node:crypto"
import { Effect, FileSystem, Option, Schema } from "effect"
import { runChild } from "../Process/Child.ts"
import { approvedHostBuilds, decodeReading } from "./ApprovedHostBuilds.ts"
import { baseEnvironment } from "./Environment.ts"
import { tail } from "./Messages.ts"
import { fetchError, npmInstall } from "./Npm.ts"
import type { PulumiOptions } from "./Options.ts"
import { contentDigest, fingerprint, makeReadOnly, makeWritable } from "./PackageDigest.ts"
import type { PlatformPackage } from "./Pulumi.ts"

/** What is known of an installed package: `store.json`. */
const StoreRecord = Schema.fromJsonString(
  Schema.Struct({
    format: Schema.Literal(1),
    version: Schema.String,
    digest: Schema.String,
    approvedHostBuilds: Schema.Array(Schema.String),
  }),
)
const encodeRecord = Schema.encodeSync(StoreRecord)
const decodeRecord = Schema.decodeUnknownOption(StoreRecord)

const temporaryPrefix = ".new-"
const brokenPrefix = ".broken-"

/** Names of registries, without the credentials that stand beside them in an npmrc. */
const registryLines = (npmrc: string): ReadonlyArray<string> =>
  npmrc.split("\n").filter((line) => /^\s*(@[^\s:=]+:)?registry\s*=/.test(line))

/** Keyed by version and registry: the same version of another registry may be another package. */
const keyOf = (version: string, registry: string | undefined, npmrc: string): string => {
  const source = [registry ?? "", ...registryLines(npmrc)].join("\n")
  return `${version}-${createHash("sha256").update(source).digest("hex").slice(0, 12)}`
}

const readHostBuilds = Effect.fn("PackageStore.readHostBuilds")(function* (
  directory: string,
  version: string,
  options: PulumiOptions,
) {
  const result = yield* runChild({
    command: options.nodePath,
    args: [options.runnerPath, "approved-host-builds", directory],
    env: baseEnvironment(process.env, options.tmpDir),
    grace: "5 seconds",
  }).pipe(
    Effect.mapError((error) => fetchError(version, error.message)),
    Effect.timeoutOrElse({
      duration: "1 minute",
      orElse: () =>
        Effect.fail(fetchError(version, "The package's main entrypoint did not load within a minute")),
    }),
  )
  if (!Option.contains(result.exitCode, 0)) {
    return yield* fetchError(
      version,
      `The package's main entrypoint cannot be loaded; use another spec.version. ${tail(result.stderr)}`,
    )
  }
  return yield* decodeReading(result.stdout).pipe(
    Effect.map(approvedHostBuilds),
    Effect.mapError(() =>
      fetchError(version, "The package's list of approved tenant host builds cannot be read"),
    ),
  )
})

/** Fetches, keeps and verifies. `fetch` itself is not to be run twice at a time for a version. */
export const makePackageStore = Effect.fn("PackageStore.make")(function* (
  packagesDir: string,
  options: PulumiOptions,
) {
  const fs = yield* FileSystem.FileSystem
  const npmrc = yield* options.npmrc === undefined
    ? Effect.succeed("")
    : fs.readFileString(options.npmrc).pipe(Effect.orElseSucceed(() => ""))
  /** Stat marks of what this process has verified byte by byte. */
  const verified = new Map<string, string>()

  const remove = (directory: string) =>
    makeWritable(directory).pipe(
      Effect.andThen(fs.remove(directory, { recursive: true, force: true })),
      Effect.ignore,
    )

  /** What an earlier operator began and never finished, and what was found broken. */
  const sweep = Effect.gen(function* () {
    const names = yield* fs.readDirectory(packagesDir).pipe(Effect.orElseSucceed((): Array<string> => []))
    const ours = `${temporaryPrefix}${options.identity.incarnation}-`
    const stale = names.filter(
      (name) => name.startsWith(brokenPrefix) || (name.startsWith(temporaryPrefix) && !name.startsWith(ours)),
    )
    yield* Effect.forEach(stale, (name) => remove(`${packagesDir}/${name}`), { discard: true })
  })

  const install = Effect.fn("PackageStore.install")(function* (version: string, directory: string) {
    const failed = (error: { readonly message: string }) =>
      fetchError(version, `The package cannot be kept in the state directory. ${tail(error.message)}`)
    yield* fs.makeDirectory(packagesDir, { recursive: true }).pipe(Effect.mapError(failed))
    const temporary = yield* Effect.acquireRelease(
      fs
        .makeTempDirectory({
          directory: packagesDir,
          prefix: `${temporaryPrefix}${options.identity.incarnation}-`,
        })
        .pipe(Effect.mapError(failed)),
      remove,
    )
    yield* npmInstall(temporary, version, options)
    const builds = yield* readHostBuilds(temporary, version, options)
    const digest = yield* contentDigest(`${temporary}/node_modules`).pipe(Effect.mapError(failed))
    const record = encodeRecord({ format: 1, version, digest, approvedHostBuilds: builds })
    yield* fs.writeFileString(`${temporary}/store.json`, record).pipe(Effect.mapError(failed))
    yield* makeReadOnly(temporary).pipe(Effect.mapError(failed))
    yield* fs.rename(temporary, directory).pipe(Effect.mapError(failed))
    // The digest was taken of these very files: they need not be read a second time.
    const mark = yield* fingerprint(`${directory}/node_modules`).pipe(Effect.mapError(failed))
    verified.set(directory, mark)
  }, Effect.scoped)

  /** The package as it stands, when what stands there is what was installed. */
  const stored = Effect.fn("PackageStore.stored")(function* (version: string, directory: string) {
    const none = Option.none<PlatformPackage>()
    const text = yield* fs.readFileString(`${directory}/store.json`).pipe(Effect.option)
    const record = Option.flatMap(text, decodeRecord)
    if (Option.isNone(record)) return none
    const mark = yield* fingerprint(`${directory}/node_modules`).pipe(Effect.option)
    if (Option.isNone(mark)) return none
    if (verified.get(directory) !== mark.value) {
      const digest = yield* contentDigest(`${directory}/node_modules`).pipe(Effect.option)
      if (!Option.contains(digest, record.value.digest)) return none
      verified.set(directory, mark.value)
    }
    const { digest, approvedHostBuilds: builds } = record.value
    return Option.some<PlatformPackage>({ version, directory, digest, approvedHostBuilds: builds })
  })

  const fetch = Effect.fn("PackageStore.fetch")(function* (version: string) {
    const directory = `${packagesDir}/${keyOf(version, options.registry, npmrc)}`
    const there = yield* stored(version, directory)
    if (Option.isSome(there)) return there.value
    if (yield* fs.exists(directory).pipe(Effect.orElseSucceed(() => false))) {
      yield* Effect.logWarning("installed package differs from its digest, installing it again").pipe(
        Effect.annotateLogs({ version, directory }),
      )
      const broken = `${packagesDir}/${brokenPrefix}${options.identity.incarnation}-${version}`
      yield* fs.rename(directory, broken).pipe(Effect.ignore)
      yield* remove(broken)
    }
    yield* install(version, directory)
    const installed = yield* stored(version, directory)
    return yield* Effect.fromOption(installed).pipe(
      Effect.mapError(() => fetchError(version, "The package changed while it was being installed")),
    )
  })

  yield* sweep
  return { fetch }
})

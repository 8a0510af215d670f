// The platform packages, one install a version however many instances there are:
//
//   <packages>/<key>/package.json, package-lock.json, node_modules/, store.json
//   <packages>/<key>.lock.json
//
// The lock of the first install stays when the folder goes: a version that comes again comes with the very same
// content, or npm refuses it.
//
// The folder that projects link to must be called `node_modules` itself: Node resolves from the real path of a
// file, and finds a package's own dependencies by that name only (contracts: seen). A version is installed into
// a temporary folder, measured, made read-only and renamed: one that is there under its key is whole.
import { createHash } from "node:crypto"
import { Effect, FileSystem, Option, Schema } from "effect"
import { Disk } from "../Disk/Disk.ts"
import { leavingRoom, requireRoom } from "../Disk/FreeSpace.ts"
import { runChild } from "../Process/Child.ts"
import { removeTemporaries } from "../StateStore/DurableFiles.ts"
import { approvedHostBuilds, decodeReading } from "./ApprovedHostBuilds.ts"
import { readingCommand } from "./Confinement.ts"
import { baseEnvironment } from "./Environment.ts"
import { tail, withSandboxHint } from "./Messages.ts"
import { fetchError, npmInstall } from "./Npm.ts"
import type { PulumiOptions } from "./Options.ts"
import { contentDigest, fingerprint, makeReadOnly, makeWritable } from "./PackageDigest.ts"
import { type PlatformPackage, PulumiError } from "./Pulumi.ts"

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

const lockSuffix = ".lock.json"
/** One that a crash has cut short is none. */
const decodeLock = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ lockfileVersion: Schema.Finite, packages: Schema.Unknown })),
)

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
  const env = baseEnvironment(process.env, options.tmpDir)
  const result = yield* runChild({
    ...readingCommand(
      { command: options.nodePath, args: [options.runnerPath, "approved-host-builds", directory] },
      directory,
      options,
      env,
    ),
    env,
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
    const message = `The package's main entrypoint cannot be loaded; use another spec.version. ${tail(result.stderr)}`
    return yield* fetchError(version, withSandboxHint(message, result.stderr, options.sandbox !== undefined))
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
    yield* Effect.ignore(removeTemporaries(packagesDir))
  })

  const install = Effect.fn("PackageStore.install")(function* (version: string, directory: string) {
    const failed = (error: { readonly message: string }) =>
      fetchError(version, `The package cannot be kept in the state directory. ${tail(error.message)}`)
    yield* requireRoom(packagesDir, options.minFreeSpace ?? 0).pipe(
      Effect.mapError(({ message }) => fetchError(version, message)),
    )
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
    const lock = `${directory}${lockSuffix}`
    const known = yield* Effect.option(fs.readFileString(lock))
    const isKnown = Option.exists(known, (text) => Option.isSome(decodeLock(text)))
    if (isKnown && Option.isSome(known)) {
      yield* fs.writeFileString(`${temporary}/package-lock.json`, known.value).pipe(Effect.mapError(failed))
    }
    yield* npmInstall(temporary, version, isKnown, options).pipe(
      leavingRoom(packagesDir, options.minFreeSpace ?? 0),
      Effect.catchTag("NoRoom", ({ message }) => fetchError(version, message)),
    )
    const builds = yield* readHostBuilds(temporary, version, options)
    const digest = yield* contentDigest(`${temporary}/node_modules`).pipe(Effect.mapError(failed))
    const record = encodeRecord({ format: 1, version, digest, approvedHostBuilds: builds })
    yield* fs.writeFileString(`${temporary}/store.json`, record).pipe(Effect.mapError(failed))
    if (!isKnown) yield* keepLock(`${temporary}/package-lock.json`, lock).pipe(Effect.mapError(failed))
    yield* makeReadOnly(temporary).pipe(Effect.mapError(failed))
    yield* fs.rename(temporary, directory).pipe(Effect.mapError(failed))
    // The digest was taken of these very files: they need not be read a second time.
    const mark = yield* fingerprint(`${directory}/node_modules`).pipe(Effect.mapError(failed))
    verified.set(directory, mark)
  }, Effect.scoped)

  /** Durable: a version is known by it for good. */
  const keepLock = Effect.fnUntraced(function* (from: string, lock: string) {
    const disk = yield* Disk
    const temporary = `${lock}.${options.identity.incarnation}.tmp`
    yield* fs.remove(temporary, { force: true }).pipe(Effect.ignore)
    yield* disk.writeNew(temporary, yield* disk.readFile(from), 0o600)
    yield* disk.rename(temporary, lock)
    yield* disk.syncFolder(packagesDir)
  })

  /** Fails when what lies there is no longer what was fetched. */
  const verify = Effect.fn("PackageStore.verify")(function* (platform: PlatformPackage) {
    const { directory, version } = platform
    // One that is not of this store is its owner's.
    if (!directory.startsWith(`${packagesDir}/`)) return
    const differs = () =>
      new PulumiError({
        step: "check package",
        version,
        message: `The package of ${version} in ${directory} differs from what was fetched, and is not run; the next try fetches it again`,
        reason: "Failed",
      })
    const mark = yield* fingerprint(`${directory}/node_modules`).pipe(Effect.mapError(differs))
    if (verified.get(directory) === mark) return
    const digest = yield* contentDigest(`${directory}/node_modules`).pipe(Effect.mapError(differs))
    if (digest !== platform.digest) return yield* differs()
    verified.set(directory, mark)
  })

  /** Removes what nobody needs. Gives the packages that stay. */
  const prune = Effect.fn("PackageStore.prune")(function* (isNeeded: (version: string) => boolean) {
    const names = yield* fs.readDirectory(packagesDir).pipe(Effect.orElseSucceed((): Array<string> => []))
    const kept: Array<PlatformPackage> = []
    for (const name of names.filter((each) => !/^\.|\.json$|\.tmp$/.test(each))) {
      const directory = `${packagesDir}/${name}`
      const text = yield* fs.readFileString(`${directory}/store.json`).pipe(Effect.option)
      // A package is put in its place whole: one without a record was cut short by a power cut, and is never used.
      const record = Option.getOrUndefined(Option.flatMap(text, decodeRecord))
      if (record !== undefined && isNeeded(record.version)) {
        kept.push({ ...record, directory })
        continue
      }
      const away = `${packagesDir}/${brokenPrefix}${options.identity.incarnation}-${name}`
      yield* fs.rename(directory, away).pipe(Effect.ignore)
      yield* remove(away)
      verified.delete(directory)
      yield* Effect.logInfo("removed a package that no instance needs").pipe(
        Effect.annotateLogs({ package: name }),
      )
    }
    return kept
  })

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
  return { fetch, verify, prune }
})

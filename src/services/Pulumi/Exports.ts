// Exports of the state, before and after each operation: what `pulumi stack import` takes once it is unpacked, with the
// secrets encrypted as they are in the state. The last three are kept, and the last one of each day for a week.
import { gzipSync } from "node:zlib"
import { Clock, Effect, Option, Schema } from "effect"
import { Disk, unless } from "../Disk/Disk.ts"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import { exportsDirectory } from "./Layout.ts"
import { readPacked, readStateText } from "./StateFile.ts"

const newest = 3
const days = 7
const dayMillis = 24 * 60 * 60 * 1000

const decodeState = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      version: Schema.Finite,
      checkpoint: Schema.Struct({ latest: Schema.optionalKey(Schema.NullOr(Schema.Unknown)) }),
    }),
  ),
)

/** `state-<milliseconds since the epoch>.json.gz`. */
const timeOf = (name: string): number | undefined => {
  const time = /^state-([0-9]+)\.json\.gz$/.exec(name)?.[1]
  return time === undefined ? undefined : Number(time)
}

/** Names of exports, newest first. */
export const exportNames = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => timeOf(name) !== undefined).sort((a, b) => (timeOf(b) ?? 0) - (timeOf(a) ?? 0))

/** Those that are not kept. */
export const surplus = (names: ReadonlyArray<string>, now: number): ReadonlyArray<string> => {
  const seen = new Set<number>()
  return exportNames(names).filter((name, index) => {
    const day = Math.floor((timeOf(name) ?? 0) / dayMillis)
    const isLastOfDay = !seen.has(day) && day > Math.floor(now / dayMillis) - days
    seen.add(day)
    return index >= newest && !isLastOfDay
  })
}

const namesIn = Effect.fnUntraced(function* (folder: string) {
  const disk = yield* Disk
  const entries = yield* disk.readdir(folder).pipe(unless(["ENOENT"], []))
  return entries.flatMap(({ name, kind }) => (kind === "file" ? [name] : []))
})

/** The state as it is now, unless the newest export says the same. On the disk afterwards. Nothing without a state. */
export const exportState = Effect.fn("Exports.write")(function* (paths: InstancePaths) {
  const disk = yield* Disk
  const folder = exportsDirectory(paths)
  const state = Option.flatMap(yield* readStateText(paths), decodeState)
  if (Option.isNone(state)) return
  const { version, checkpoint } = state.value
  if (checkpoint.latest === undefined || checkpoint.latest === null) return
  const text = JSON.stringify({ version, deployment: checkpoint.latest })
  const before = exportNames(yield* namesIn(folder))
  const last =
    before[0] === undefined ? Option.none() : yield* Effect.option(readPacked(`${folder}/${before[0]}`))
  if (Option.contains(Option.flatten(last), text)) return
  const now = yield* Clock.currentTimeMillis
  yield* disk.mkdir(folder, 0o700).pipe(unless(["EEXIST"], undefined))
  const file = `${folder}/state-${now}.json.gz`
  const temporary = `${file}.tmp`
  yield* disk.unlink(temporary).pipe(unless(["ENOENT"], undefined))
  yield* disk.writeNew(temporary, gzipSync(text), 0o600)
  yield* disk.rename(temporary, file)
  const names = yield* namesIn(folder)
  // What a crash has left of a write is no export.
  const gone = [...surplus(names, now), ...names.filter((name) => name.endsWith(".tmp"))]
  yield* Effect.forEach(
    gone,
    (name) => disk.unlink(`${folder}/${name}`).pipe(unless(["ENOENT"], undefined)),
    { discard: true },
  )
  yield* disk.syncFolder(folder)
  yield* disk.syncFolder(paths.root)
})

/** Every export, newest first. */
export const listExports = Effect.fnUntraced(function* (paths: InstancePaths) {
  const folder = exportsDirectory(paths)
  const names = yield* Effect.orElseSucceed(namesIn(folder), (): ReadonlyArray<string> => [])
  return exportNames(names).map((name) => `${folder}/${name}`)
})

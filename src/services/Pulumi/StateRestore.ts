// Puts a state back that was cut off. The backend renames each state over the one before and syncs nothing (read in the
// source of 3.274.1), so a power cut can leave an empty file, and with it copies of the last half a minute. What is
// put back is an older truth: a refresh and an up with patch force bring it up to what the target has.
import { gzipSync } from "node:zlib"
import { Effect, FileSystem, Option, Schema } from "effect"
import { Disk, type DiskError } from "../Disk/Disk.ts"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import { foldersTo, historyNames, list } from "./Backend.ts"
import { listExports } from "./Exports.ts"
import {
  damagedStateFile,
  earlierExportFile,
  exportsDirectory,
  historyDirectory,
  projectName,
  recoveredStateFile,
  settingsFile,
  stackName,
  stateFile,
} from "./Layout.ts"
import { Checkpoint, Deployment, readPacked, StateFileError } from "./StateFile.ts"

/** A copy of the state that can be read, and is this stack's. */
interface Copy {
  /** What it is, for people. */
  readonly name: string
  /** As the backend has it: a checkpoint. */
  readonly text: string
  readonly resources: number
  /** Milliseconds since the epoch, as the copy itself says. */
  readonly time: number
}

const Export = Schema.fromJsonString(Schema.Struct({ version: Schema.Finite, deployment: Schema.Unknown }))
const decodeExport = Schema.decodeUnknownOption(Export)
const decodeDeployment = Schema.decodeUnknownOption(Deployment)
const decodeCheckpoint = Schema.decodeUnknownOption(Schema.fromJsonString(Checkpoint))

/** The whole name of the stack, as checkpoints carry it (seen: CLI 3.274.1). */
const wholeName = `organization/${projectName}/${stackName}`

const providerType = "pulumi:providers:kubernetes"

/** None of its providers is for another cluster. */
const isOfCluster = ({ resources }: Deployment, clusterIdentifier: string): boolean =>
  (resources ?? []).every(({ type, inputs }) => {
    const cluster = type === providerType ? inputs?.clusterIdentifier : undefined
    return typeof cluster !== "string" || cluster === clusterIdentifier
  })

const copyOf = (
  name: string,
  text: string,
  deployment: Deployment,
  clusterIdentifier: string,
): Option.Option<Copy> => {
  if (!isOfCluster(deployment, clusterIdentifier)) return Option.none()
  const time = Date.parse(deployment.manifest?.time ?? "")
  return Option.some({
    name,
    text,
    resources: deployment.resources?.length ?? 0,
    time: Number.isNaN(time) ? 0 : time,
  })
}

const readCheckpoint = Effect.fnUntraced(function* (name: string, file: string, clusterIdentifier: string) {
  const text = yield* readPacked(file).pipe(Effect.orElseSucceed(() => Option.none<string>()))
  return Option.gen(function* () {
    const { checkpoint } = yield* Option.flatMap(text, decodeCheckpoint)
    if (checkpoint.stack !== undefined && checkpoint.stack !== wholeName) return yield* Option.none()
    return yield* copyOf(name, yield* text, checkpoint.latest ?? {}, clusterIdentifier)
  })
})

const readExport = Effect.fnUntraced(function* (file: string, clusterIdentifier: string) {
  const text = yield* readPacked(file).pipe(Effect.orElseSucceed(() => Option.none<string>()))
  return Option.gen(function* () {
    const { version, deployment } = yield* Option.flatMap(text, decodeExport)
    const decoded = yield* decodeDeployment(deployment)
    const checkpoint = JSON.stringify({ version, checkpoint: { stack: wholeName, latest: deployment } })
    return yield* copyOf("the newest export that can be read", checkpoint, decoded, clusterIdentifier)
  })
})

/** Every copy that can be read, newest first; of the same age, in this order. */
const readCopies = Effect.fnUntraced(function* (paths: InstancePaths, clusterIdentifier: string) {
  const history = historyDirectory(paths)
  const checkpoints = historyNames(yield* list(history))
    .filter((name) => /\.checkpoint\.json(\.gz)?$/.test(name))
    .toReversed()
  const found = yield* Effect.all([
    ...[".json.gz.bak", ".json.bak"].map((extension) =>
      readCheckpoint(
        "its copy from before the last write",
        `${stateFile(paths)}${extension}`,
        clusterIdentifier,
      ),
    ),
    ...checkpoints.map((name) =>
      readCheckpoint("the newest checkpoint that can be read", `${history}/${name}`, clusterIdentifier),
    ),
    ...[...(yield* listExports(paths)), earlierExportFile(paths)].map((file) =>
      readExport(file, clusterIdentifier),
    ),
  ])
  return found.flatMap(Option.toArray).sort((a, b) => b.time - a.time)
})

/** Whether a state is there and can be read; which file it is. One of another cluster would have everything replaced. */
const lookAtState = Effect.fnUntraced(function* (paths: InstancePaths, clusterIdentifier: string) {
  const fs = yield* FileSystem.FileSystem
  for (const extension of [".json.gz", ".json"]) {
    const file = `${stateFile(paths)}${extension}`
    if (!(yield* fs.exists(file).pipe(Effect.orElseSucceed(() => false)))) continue
    const text = yield* readPacked(file).pipe(Effect.orElseSucceed(() => Option.none<string>()))
    const read = Option.flatMap(text, decodeCheckpoint)
    const whole = Option.isSome(read)
    if (Option.exists(read, ({ checkpoint }) => !isOfCluster(checkpoint.latest ?? {}, clusterIdentifier))) {
      return yield* new StateFileError({ message: `${file} is of another cluster than the target` })
    }
    return { file: Option.some(file), whole }
  }
  return { file: Option.none<string>(), whole: false }
})

/** What a file system says of a failed write. */
const unwritable = (error: DiskError) => new StateFileError({ message: error.message })

/** Durable, a step at a time: after a crash in between there is no state, and it is put back the next time. */
const putBack = Effect.fnUntraced(function* (
  paths: InstancePaths,
  damaged: Option.Option<string>,
  copy: Option.Option<Copy>,
) {
  const disk = yield* Disk
  const file = `${stateFile(paths)}.json.gz`
  const folder = file.slice(0, file.lastIndexOf("/"))
  // A name that the backend's mending removes.
  const temporary = `${file}.0.tmp`
  if (Option.isSome(copy)) {
    for (const each of foldersTo(paths, folder)) {
      yield* disk.mkdir(each, 0o700).pipe(
        Effect.catchIf(
          ({ code }) => code === "EEXIST",
          () => Effect.void,
        ),
      )
    }
  }
  if (Option.isSome(copy)) yield* disk.writeNew(temporary, gzipSync(copy.value.text), 0o600)
  if (Option.isSome(damaged)) yield* disk.rename(damaged.value, damagedStateFile(paths))
  if (Option.isSome(copy)) yield* disk.rename(temporary, file)
  yield* disk.syncFolder(folder)
  yield* disk.syncFolder(paths.root)
}, Effect.mapError(unwritable))

/**
 * A state of which nothing is left leaves nothing to keep: an empty file stands for it, until an operation has succeeded.
 * The engine writes what it is about to make before it makes it. So where one was at work and there is no state, it has
 * made nothing, or the state was lost; which of them, nobody can tell.
 */
const markLost = Effect.fnUntraced(function* (paths: InstancePaths) {
  const disk = yield* Disk
  const mark = damagedStateFile(paths)
  const there = yield* Effect.option(disk.lstat(mark))
  if (Option.isSome(there)) return
  yield* disk.writeNew(mark, new Uint8Array(), 0o600)
  yield* disk.syncFolder(paths.root)
}, Effect.mapError(unwritable))

/**
 * Looks at the state, and puts a copy in its place when it cannot be read. `installed`: the record proves that
 * something was installed; `begun`: that an engine was at work and did not come to its end. Gives what was done, a
 * sentence. Fails, and has touched nothing, when something was installed
 * and no copy can be read: then an empty state would not know what to keep.
 */
export const restoreState = Effect.fn("StateRestore.restore")(function* (
  paths: InstancePaths,
  about: { readonly clusterIdentifier: string; readonly installed: boolean; readonly begun: boolean },
): Effect.fn.Return<Option.Option<string>, StateFileError, FileSystem.FileSystem | Disk> {
  const { file, whole } = yield* lookAtState(paths, about.clusterIdentifier)
  if (whole) return Option.none()
  const copies = yield* readCopies(paths, about.clusterIdentifier)
  const copy = Option.fromUndefinedOr(copies.find(({ resources }) => resources > 0 || !about.installed))
  if (Option.isNone(copy) && about.installed) {
    const name = Option.match(file, {
      onNone: () => `${stateFile(paths)} is missing`,
      onSome: (each) => `${each} cannot be read`,
    })
    return yield* new StateFileError({
      message: `${name}, and neither can its .bak file, a checkpoint of ${historyDirectory(paths)} or an export of ${exportsDirectory(paths)}`,
    })
  }
  if (Option.isNone(file) && Option.isNone(copy)) {
    if (about.begun) yield* markLost(paths)
    return Option.none()
  }
  yield* putBack(paths, file, copy)
  const what = Option.isSome(file) ? "cut off" : "missing"
  const kept = Option.isSome(file) ? `; the damaged one is kept as ${damagedStateFile(paths)}` : ""
  return Option.some(
    Option.match(copy, {
      onNone: () =>
        `The state file was ${what} before anything was installed; the install begins with an empty one${kept}.`,
      onSome: ({ name, time }) =>
        `The state file was ${what} and has been put back from ${name}${time > 0 ? ` (${new Date(time).toISOString()})` : ""}${kept}.`,
    }),
  )
})

/** Whether a state was put back and no operation has succeeded since: the target may hold what the state does not know. */
export const isRecovering = Effect.fnUntraced(function* (paths: InstancePaths) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.exists(damagedStateFile(paths)).pipe(Effect.orElseSucceed(() => false))
})

/** An operation has succeeded: what was damaged is of no more use than to look at, and what is empty of none. */
export const endRecovery = Effect.fn("StateRestore.end")(function* (paths: InstancePaths) {
  const disk = yield* Disk
  const damaged = damagedStateFile(paths)
  const { size } = yield* disk.lstat(damaged)
  yield* size === 0 ? disk.unlink(damaged) : disk.rename(damaged, recoveredStateFile(paths))
  yield* disk.syncFolder(paths.root)
})

/** Removes the stack's settings, which an operation that was cut off may have left in half; the next one writes them. */
export const forgetSettings = Effect.fn("StateRestore.forgetSettings")(function* (paths: InstancePaths) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.remove(settingsFile(paths), { force: true })
})

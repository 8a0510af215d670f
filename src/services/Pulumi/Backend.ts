// The files of the file backend, beside the state itself. The backend writes a file by renaming a temporary one,
// but the `.attrs` beside it in place: a CLI that is killed in between leaves an empty one, and every later
// command fails with "failed to load checkpoint: EOF" though the state is whole (seen: CLI 3.274.1). Without
// the file the state is read as it is. Nothing else tidies up either: each operation leaves a checkpoint and an
// entry in the history, for good.
import { Effect, FileSystem, Option, Schema } from "effect"
import { Disk, unless } from "../Disk/Disk.ts"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import { historyDirectory, locksDirectory, settingsFile, stackName, stateFile } from "./Layout.ts"

const decodeJson = Schema.decodeOption(Schema.fromJsonString(Schema.Unknown))

/** Names below a folder; none when it is not there. */
export const list = Effect.fnUntraced(function* (folder: string, recursive = false) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs
    .readDirectory(folder, { recursive })
    .pipe(Effect.orElseSucceed((): ReadonlyArray<string> => []))
})

/**
 * The backend's own file, which says how its folders are laid out. One without a version fails every command ("corrupt
 * store: missing version"), one that is missing is written anew (both read in the source of 3.274.1).
 */
const metaFile = "meta.yaml"

/** Removes what was cut off and is not needed, and temporary files. Only while nobody is at work in the backend. */
export const mendBackend = Effect.fn("Backend.mend")(function* (paths: InstancePaths) {
  const fs = yield* FileSystem.FileSystem
  const root = `${paths.backend}/.pulumi`
  const mended: Array<string> = []
  for (const name of yield* list(root, true)) {
    const file = `${root}/${name}`
    if (name.endsWith(".attrs")) {
      const text = yield* fs.readFileString(file)
      if (Option.isSome(decodeJson(text))) continue
      mended.push(name)
    } else if (name === metaFile) {
      if (/^version: *\d+ *$/m.test(yield* fs.readFileString(file))) continue
      mended.push(name)
    } else if (!/\.[0-9a-f]+\.tmp$/.test(name)) continue
    yield* fs.remove(file, { force: true })
  }
  return mended
})

/** Operations whose history is kept: enough to look back, and to put a state back. */
const kept = 10

/** `instance-<nanoseconds>.history.json.gz`, `….checkpoint.json.gz`, and an `.attrs` beside each. */
const operationOf = (name: string): string | undefined =>
  new RegExp(`^${stackName}-([0-9]+)\\.(history|checkpoint)\\.json`).exec(name)?.[1]

/** Names of a history's files, oldest operation first. */
export const historyNames = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const age = (name: string) => BigInt(operationOf(name) ?? 0)
  return names
    .filter((name) => operationOf(name) !== undefined)
    .sort((a, b) => (age(a) === age(b) ? 0 : age(a) < age(b) ? -1 : 1))
}

/** Removes the history of all but the newest operations. */
export const pruneHistory = Effect.fn("Backend.prune")(function* (paths: InstancePaths) {
  const fs = yield* FileSystem.FileSystem
  const folder = historyDirectory(paths)
  const names = historyNames(yield* list(folder))
  const operations = [...new Set(names.map(operationOf))].slice(0, -kept)
  const gone = names.filter((name) => operations.includes(operationOf(name)))
  yield* Effect.forEach(gone, (name) => fs.remove(`${folder}/${name}`, { force: true }), { discard: true })
})

/** The folders from the backend's own down to this one. */
export const foldersTo = (paths: InstancePaths, folder: string): ReadonlyArray<string> => {
  const parts = folder.slice(paths.backend.length + 1).split("/")
  return [
    paths.backend,
    ...parts.map((_, index) => `${paths.backend}/${parts.slice(0, index + 1).join("/")}`),
  ]
}

const unlessMissing = unless(["ENOENT"], undefined)

/**
 * Has the state, its newest checkpoint and the stack's settings on the disk. The backend syncs nothing (read in the
 * source of 3.274.1): without this, a power cut within half a minute after an operation could take all copies at once.
 */
export const syncBackend = Effect.fn("Backend.sync")(function* (paths: InstancePaths) {
  const disk = yield* Disk
  const history = historyDirectory(paths)
  const state = stateFile(paths)
  const checkpoint = historyNames(yield* list(history))
    .filter((name) => /\.checkpoint\.json(\.gz)?$/.test(name))
    .slice(-1)
  const files = [
    `${state}.json.gz`,
    `${state}.json`,
    `${paths.backend}/.pulumi/${metaFile}`,
    ...checkpoint.map((name) => `${history}/${name}`),
    settingsFile(paths),
  ]
  const folders = new Set([
    ...foldersTo(paths, state.slice(0, state.lastIndexOf("/"))),
    ...foldersTo(paths, history),
    // A lock that was given back does not come again.
    locksDirectory(paths),
    paths.project,
  ])
  for (const file of files) yield* unlessMissing(disk.syncFile(file))
  for (const folder of folders) yield* unlessMissing(disk.syncFolder(folder))
})

// The files of the file backend, beside the state itself. The backend writes a file by renaming a temporary one,
// but the `.attrs` beside it in place: a CLI that is killed in between leaves an empty one, and every later
// command fails with "failed to load checkpoint: EOF" though the state is whole (seen: CLI 3.274.1). Without
// the file the state is read as it is. Nothing else tidies up either: each operation leaves a checkpoint and an
// entry in the history, for good.
import { Effect, FileSystem, Option, Schema } from "effect"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import { projectName, stackName } from "./Layout.ts"

const decodeJson = Schema.decodeOption(Schema.fromJsonString(Schema.Unknown))

/** Names below a folder; none when it is not there. */
const list = Effect.fnUntraced(function* (folder: string, recursive = false) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs
    .readDirectory(folder, { recursive })
    .pipe(Effect.orElseSucceed((): ReadonlyArray<string> => []))
})

/** Removes sidecars that were cut off and temporary files. Only while nobody is at work in the backend. */
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

/** Removes the history of all but the newest operations. */
export const pruneHistory = Effect.fn("Backend.prune")(function* (paths: InstancePaths) {
  const fs = yield* FileSystem.FileSystem
  const folder = `${paths.backend}/.pulumi/history/${projectName}/${stackName}`
  const names = yield* list(folder)
  const operations = [...new Set(names.flatMap((name) => operationOf(name) ?? []))]
    .sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
    .slice(0, -kept)
  const old = new Set(operations)
  const gone = names.filter((name) => old.has(operationOf(name) ?? ""))
  yield* Effect.forEach(gone, (name) => fs.remove(`${folder}/${name}`, { force: true }), { discard: true })
})

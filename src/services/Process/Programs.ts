// The programs the operator runs: looked up once at the start, so that a missing one is named then and there.
import { Config, Data, Effect, FileSystem, Option } from "effect"

/** Not on the PATH, or there and not executable. */
export class ProgramMissing extends Data.TaggedError("ProgramMissing")<{ readonly message: string }> {}

const find = Effect.fnUntraced(function* (folders: ReadonlyArray<string>, name: string) {
  const fs = yield* FileSystem.FileSystem
  for (const folder of folders) {
    const candidate = `${folder}/${name}`
    const info = yield* Effect.option(fs.stat(candidate))
    if (Option.exists(info, ({ type, mode }) => type === "File" && (mode & 0o111) !== 0)) {
      return Option.some(candidate)
    }
  }
  return Option.none()
})

const searched = Config.withDefault(Config.String("PATH"), "")

/** A relative folder would be looked up wherever a child happens to run. */
const foldersOf = (path: string) => path.split(":").filter((folder) => folder.startsWith("/"))

/** The absolute path of one that the operator can do without. */
export const findProgram = Effect.fn("Process.findProgram")(function* (name: string) {
  return yield* find(foldersOf(yield* searched), name)
})

/** The absolute path of each of them on the PATH. Fails naming every one that is missing. */
export const findPrograms = Effect.fn("Process.findPrograms")(function* () {
  const path = yield* searched
  const folders = foldersOf(path)
  const found = yield* Effect.all({
    helm: find(folders, "helm"),
    pulumi: find(folders, "pulumi"),
    npm: find(folders, "npm"),
  })
  const missing = Object.entries(found).flatMap(([name, file]) => (Option.isNone(file) ? [name] : []))
  return yield* Option.match(Option.all(found), {
    onSome: Effect.succeed,
    onNone: () =>
      new ProgramMissing({
        message: `not on PATH (${path}): ${missing.join(", ")}; the operator needs helm, pulumi and npm there, executable`,
      }),
  })
})

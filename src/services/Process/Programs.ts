// The programs the operator runs: looked up once at the start, so that a missing one is named then and there.
import { Config, Data, Effect, FileSystem, Option } from "effect"

export class ProgramMissing extends Data.TaggedError("ProgramMissing")<{ readonly message: string }> {}

/** The absolute path of a program on PATH. */
export const findProgram = Effect.fn("Process.findProgram")(function* (name: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Config.withDefault(Config.String("PATH"), "")
  for (const folder of path.split(":").filter((each) => each.startsWith("/"))) {
    const candidate = `${folder}/${name}`
    const info = yield* Effect.option(fs.stat(candidate))
    if (Option.exists(info, ({ type, mode }) => type === "File" && (mode & 0o111) !== 0)) return candidate
  }
  return yield* new ProgramMissing({
    message: `${name} is not on PATH (${path}): the operator cannot work without it`,
  })
})

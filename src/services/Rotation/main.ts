// The rotation Job's process: everything in a state directory that is encrypted under one of some passphrases is encrypted under
// another one afterwards. It prints one line, which becomes the container's termination message, and exits 0 when all of it is, 1 when it is
// not, 10 when it is not and each file is as it was before the rotation, 2 when it was asked in a wrong way.
//
//   node rotate-passphrase.mjs --state-dir=<folder> --from-file=<file>... --to-file=<file>
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { Effect, Redacted } from "effect"
import { DiskLive } from "../Disk/DiskLive.ts"
import { rotate, summary } from "./Rotate.ts"

const end = (exitCode: 0 | 1 | 2 | 10, line: string): never => {
  process.stdout.write(`${line}\n`)
  process.exit(exitCode)
}

const given = () => {
  try {
    const { values } = parseArgs({
      options: {
        "state-dir": { type: "string" },
        "from-file": { type: "string", multiple: true },
        "to-file": { type: "string" },
      },
    })
    return values
  } catch (error) {
    return end(2, `refused: ${error instanceof Error ? error.message.split("\n")[0] : "wrong arguments"}`)
  }
}

/** As the engine reads it: without white space around it. */
const passphraseIn = (file: string): Redacted.Redacted => {
  try {
    const text = readFileSync(file, "utf8").trim()
    return text === "" ? end(10, `nothing was changed: ${file} is empty`) : Redacted.make(text)
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown"
    return end(10, `nothing was changed: ${file} cannot be read (${code})`)
  }
}

process.umask(0o077)
const { "state-dir": stateDir, "from-file": fromFiles = [], "to-file": toFile } = given()
if (stateDir === undefined || toFile === undefined || fromFiles.length === 0) {
  end(2, "refused: --state-dir, --from-file and --to-file are needed")
} else {
  const result = await Effect.runPromise(
    rotate({ stateDir, from: fromFiles.map(passphraseIn), to: passphraseIn(toFile) }).pipe(
      Effect.provide(DiskLive.layer),
      Effect.result,
    ),
  )
  if (result._tag === "Success") end(0, summary(result.success))
  else end(result.failure.untouched ? 10 : 1, result.failure.message)
}

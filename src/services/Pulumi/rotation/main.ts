// Gives every instance of a state directory another passphrase. Runs while the operator does not. Prints a line for each
// instance, never a secret; exits 0 when everything opens with the new passphrase, 1 when something does not, 2 when it was
// asked for in a wrong way.
//
//   node rotate-passphrase.mjs --state-dir=<folder> --from-file=<the passphrase> --to-file=<the next one>
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { DiskLive } from "../../Disk/DiskLive.ts"
import { rotateAll } from "../RotateAll.ts"

const end = (exitCode: 0 | 1 | 2, line: string): never => {
  process.stdout.write(`${line}\n`)
  process.exit(exitCode)
}

const request = () => {
  try {
    const text = { type: "string", default: "" } as const
    const { values } = parseArgs({ options: { "state-dir": text, "from-file": text, "to-file": text } })
    // As the engine reads it: without what is around it.
    const read = (file: string) => readFileSync(file, "utf8").trim()
    return {
      stateDir: values["state-dir"],
      from: read(values["from-file"]),
      to: read(values["to-file"]),
    }
  } catch (error) {
    return end(2, `refused: ${error instanceof Error ? error.message.split("\n")[0] : "wrong arguments"}`)
  }
}

const { stateDir, from, to } = request()
if (stateDir === "" || from === "" || to === "") {
  end(2, "refused: --state-dir, --from-file and --to-file are needed, and no passphrase is empty")
}
if (from === to) end(2, "refused: both passphrases are the same")
const all = await Effect.runPromise(
  rotateAll(stateDir, { from, to }).pipe(
    Effect.provide(DiskLive.layer),
    Effect.catchTag("DiskError", ({ path, message }) =>
      Effect.sync(() => end(1, `cannot go on, and can be run again: ${path}: ${message}`)),
    ),
  ),
)
for (const [instance, { changed, unchanged, unreadable }] of all.instances) {
  const left =
    unreadable.length === 0 ? "" : `; cannot be read and left as they are: ${unreadable.join(", ")}`
  process.stdout.write(`${instance}: ${changed} files changed, ${unchanged} had it already${left}\n`)
}
for (const [instance, { message }] of all.refused) process.stdout.write(`${instance}: ${message}\n`)
if (all.refused.size > 0) end(1, `${all.refused.size} instances could not be given the new passphrase`)
end(0, `${all.instances.size} instances have the new passphrase`)

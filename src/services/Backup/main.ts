// What `kubectl pi backup` and `restore` run in the operator's pod, which has the state directory and the passphrase. The passphrase of
// the backup comes as the first line of standard input, but for `adapt`. Exits 0 when it is done, 1 when it is not, 2 when it was asked in a wrong
// way, 3 when an operation of the instance is at work; what went wrong is one line on standard error.
//
//   node backup.mjs find   --state-dir=<folder> --instance=<namespace>/<name>                           prints JSON
//   node backup.mjs claims --state-dir=<folder> --instance=<namespace>/<name>                           prints JSON
//   node backup.mjs export --state-dir=<folder> --instance=<namespace>/<name> --passphrase-file=<file>  prints an archive
//   node backup.mjs import --state-dir=<folder> --instance=<namespace>/<name> --passphrase-file=<file>
//                          --id=<id> [--clone]                                                          reads an archive
//   node backup.mjs adapt  --state-dir=<folder> --instance=<namespace>/<name> --passphrase-file=<file>
//                          --id=<id>                                                                    reads a kubeconfig
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { gunzipSync, gzipSync } from "node:zlib"
import { Effect, Redacted } from "effect"
import release from "../../../release.json" with { type: "json" }
import type { Disk } from "../Disk/Disk.ts"
import { DiskLive } from "../Disk/DiskLive.ts"
import { STATE_FORMAT } from "../StateStore/StateStore.ts"
import { ArchiveError, packed, unpacked } from "./Archive.ts"
import { claimsBeside } from "./Claims.ts"
import { adapt, copyIn, copyOut, findState, type StateCopyError } from "./StateCopy.ts"

/** In the archive beside the files: their stamp. */
const STAMP = "stamp"
/** Of the files in the archive. */
const BELOW = "files/"

const end = (exitCode: 1 | 2 | 3, line: string): never => {
  process.stderr.write(`${line}\n`)
  process.exit(exitCode)
}

const given = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        "state-dir": { type: "string" },
        "passphrase-file": { type: "string" },
        instance: { type: "string" },
        id: { type: "string" },
        clone: { type: "boolean", default: false },
      },
    })
  } catch (error) {
    return end(2, `refused: ${error instanceof Error ? error.message.split("\n")[0] : "wrong arguments"}`)
  }
}

const instanceIn = (text: string | undefined) => {
  const [, namespace, name] =
    /^([a-z0-9][-a-z0-9]{0,62})\/([a-z0-9][-.a-z0-9]{0,252})$/.exec(text ?? "") ?? []
  return namespace === undefined || name === undefined
    ? end(2, "refused: --instance=<namespace>/<name> is needed")
    : { namespace, name }
}

const passphraseIn = (file: string | undefined): Redacted.Redacted => {
  try {
    const text = readFileSync(file ?? "", "utf8").trim()
    return text === "" ? end(1, `${file} is empty`) : Redacted.make(text)
  } catch (error) {
    return end(
      1,
      `${file} cannot be read (${error instanceof Error && "code" in error ? error.code : "unknown"})`,
    )
  }
}

/** The first line, and all that comes after it. */
const readInput = () => {
  const input = readFileSync(0)
  const at = input.indexOf("\n")
  const passphrase = input.subarray(0, at < 0 ? undefined : at).toString("utf8")
  if (passphrase === "") end(2, "refused: the first line of standard input is the passphrase of the backup")
  return { backup: Redacted.make(passphrase), rest: input.subarray(at + 1) }
}

process.umask(0o077)
const { positionals, values } = given()
const stateDir = values["state-dir"] ?? end(2, "refused: --state-dir is needed")
const key = instanceIn(values.instance)

const find = Effect.map(findState(stateDir, key), (found) =>
  JSON.stringify({
    format: STATE_FORMAT,
    operatorVersion: release.operatorVersion,
    chartVersion: release.vcluster.chartVersion,
    ...found,
  }),
)

const claimed = Effect.mapBoth(claimsBeside(stateDir, key), {
  onFailure: ({ path, message }) => new ArchiveError({ message: `${path}: ${message}` }),
  onSuccess: (claims) => JSON.stringify(claims),
})

const exported = Effect.gen(function* () {
  const own = passphraseIn(values["passphrase-file"])
  const { files, stamp } = yield* copyOut(stateDir, key, { own, backup: readInput().backup })
  const all = new Map<string, Uint8Array>([[STAMP, new TextEncoder().encode(stamp)]])
  for (const [name, content] of files) all.set(`${BELOW}${name}`, content)
  return gzipSync(yield* packed(all))
})

const imported = Effect.gen(function* () {
  const own = passphraseIn(values["passphrase-file"])
  const { backup, rest } = readInput()
  const tar = yield* Effect.try({
    try: () => gunzipSync(rest),
    catch: () => new ArchiveError({ message: "the archive is cut off" }),
  })
  const files = new Map<string, Uint8Array>()
  for (const [name, content] of yield* unpacked(tar)) {
    if (name.startsWith(BELOW)) files.set(name.slice(BELOW.length), content)
  }
  const id = values.id ?? end(2, "refused: --id is needed")
  return JSON.stringify(yield* copyIn(stateDir, key, { files, id, isClone: values.clone }, { own, backup }))
})

const adapted = Effect.suspend(() => {
  const own = passphraseIn(values["passphrase-file"])
  const kubeconfig = readFileSync(0, "utf8")
  const id = values.id ?? end(2, "refused: --id is needed")
  return Effect.map(adapt(stateDir, key, { id, kubeconfig, own }), (done) => JSON.stringify(done))
})

const modes = { find, claims: claimed, export: exported, import: imported, adapt: adapted }
const [mode = ""] = positionals
const run: Effect.Effect<string | Uint8Array, ArchiveError | StateCopyError, Disk> =
  mode === "find" || mode === "claims" || mode === "export" || mode === "import" || mode === "adapt"
    ? modes[mode]
    : end(2, "refused: it is find, claims, export, import or adapt")
const result = await Effect.runPromise(Effect.result(Effect.provide(run, DiskLive.layer)))
if (result._tag === "Success") {
  process.stdout.write(result.success)
} else {
  const { failure } = result
  end(failure._tag === "StateCopyError" && failure.busy ? 3 : 1, failure.message)
}

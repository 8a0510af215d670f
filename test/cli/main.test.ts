// `kubectl pi` as a process: what its standard output is connected to, and what it ends with.

import { spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { instance } from "./FakeKubectl.ts"

const main = new URL("../../src/cli/main.ts", import.meta.url).pathname

/** A kubectl that knows the instance, and whose log never ends. */
const folder = mkdtempSync(join(tmpdir(), "pi-main-"))
writeFileSync(join(folder, "instance.json"), JSON.stringify(instance))
writeFileSync(
  join(folder, "kubectl"),
  `#!/bin/sh
case "$*" in
  *" logs "*) while echo '{"timestamp":"t","level":"INFO","message":"m","annotations":{"instance":"team-a/one"}}'; do :; done;;
  *) cat ${folder}/instance.json;;
esac
`,
)
chmodSync(join(folder, "kubectl"), 0o755)

/** Runs it in a shell as `command`, with what the shell says it has ended with. */
const run = (command: string) => {
  const { stdout, stderr } = spawnSync(
    "bash",
    ["-c", `pi() { '${process.execPath}' '${main}' "$@"; }; ${command}`],
    {
      env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
      encoding: "utf8",
    },
  )
  return { said: stdout.trim().split("\n"), err: stderr.trim() }
}

describe("standard output", { timeout: 120_000 }, () => {
  it("that nobody reads any more is the end, and no error", () => {
    const { said, err } = run("set -o pipefail; pi logs one -f | head -n 1; echo $?")
    expect([said, err]).toEqual([["t INFO  m", "0"], ""])
  })

  it("that cannot be written is an error, in a line", () => {
    const { said, err } = run("pi status one > /dev/full; echo $?")
    expect([said, err]).toEqual([["1"], "kubectl pi: standard output cannot be written: ENOSPC"])
  })

  it("that is no terminal has no colour", () => {
    const { said, err } = run("pi status one; echo $?")
    expect([said[0], said.at(-1), err]).toEqual(["team-a/one", "0", ""])
  })
})

// Copies of a process.
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"

const program = fileURLToPath(new URL("forks.ts", import.meta.url))
const run = (...flags: ReadonlyArray<string>): unknown =>
  JSON.parse(execFileSync(process.execPath, [...flags, program], { encoding: "utf8" }))

const expected = {
  changing: { copies: Array(3).fill("2 20000 20000"), count: 1 },
  // It says as much as it wants to.
  long: 500_000,
  nested: "a copy of a copy",
  dead: "nothing",
  // A copy does not outlive what it is a copy of.
  orphaned: [],
}

it("a copy of a process has all that is known there, and changes none of it; there is one on Linux alone", () => {
  const copied = run("--single-threaded")
  assert.deepStrictEqual(copied, process.platform === "linux" ? expected : "it cannot be copied")
})

it("a process with other threads cannot be copied", () => {
  assert.strictEqual(run(), "it cannot be copied")
})

// kubectl-pi as a file of its own, run by whichever Node.js is in the PATH: an older one says that it is too old.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"

const folder = mkdtempSync(path.join(tmpdir(), "kubectl-pi-"))
const program = `${folder}/kubectl-pi.mjs`

beforeAll(() => {
  execFileSync(process.execPath, ["tools/bundle.ts", folder, "kubectl-pi"], {
    cwd: path.join(import.meta.dirname, "../.."),
  })
  // Against what never ends; a busy machine makes nothing fail.
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const runAs = (version: string) => {
  const pretend = `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`
  return spawnSync(process.execPath, [`--import=data:text/javascript,${pretend}`, program, "--version"], {
    encoding: "utf8",
  })
}

describe("kubectl-pi", () => {
  it("is one file, and looks for no other", () => {
    assert.deepStrictEqual(readdirSync(folder), ["kubectl-pi.mjs"])
    assert.notInclude(readFileSync(program, "utf8"), "sourceMappingURL")
  })

  it("says which Node.js it needs", () => {
    const { status, stderr, stdout } = runAs("20.20.2")
    assert.strictEqual(
      stderr,
      "kubectl-pi: this is Node.js 20.20.2, and it needs Node.js 24 or later in the PATH\n",
    )
    assert.strictEqual(stdout, "")
    assert.strictEqual(status, 1)
  })

  it("runs on one that is new enough", () => {
    const { status, stdout } = runAs("24.0.0")
    assert.strictEqual(status, 0)
    assert.match(stdout, /^kubectl pi v\d/)
  })

  it("can be read by the older one: esbuild lowers all syntax but modifiers inside of a regular expression", () => {
    assert.notMatch(readFileSync(program, "utf8"), /\/[^\n]*\(\?[ims]*-?[ims]+:/)
  })
})

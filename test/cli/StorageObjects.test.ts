// What a backup and a restore run over a storage root, with the tar of this machine.
import { execFileSync, spawnSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import {
  lookCommand,
  placeCommand,
  readCommand,
  tidyCommand,
  unpackCommand,
} from "../../src/cli/StorageObjects.ts"

const folder = mkdtempSync(join(tmpdir(), "storage-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** In a folder of this machine in place of the pod's. */
const run = (root: string, command: ReadonlyArray<string>, input: Uint8Array = new Uint8Array()) => {
  const script = command.at(-1) ?? ""
  return spawnSync("/bin/sh", ["-euc", script.replace("cd /storage;", `cd ${root};`)], {
    input,
    maxBuffer: 2 ** 26,
  })
}
const made = (name: string): string => {
  const root = join(folder, name)
  mkdirSync(root)
  return root
}
const said = (root: string, isCustom = false) =>
  run(root, lookCommand("pod", "01", isCustom))
    .stdout.toString()
    .trim()

const filled = (name: string): string => {
  const root = made(name)
  mkdirSync(join(root, "di-tenants/x"), { recursive: true })
  writeFileSync(join(root, "di-tenants/x/.file"), "mine", { mode: 0o604 })
  symlinkSync("/etc/passwd", join(root, "di-tenants/out"))
  symlinkSync("di-tenants", join(root, "di-framework"))
  writeFileSync(join(root, "-beside"), "an administrator's")
  writeFileSync(join(root, "of\ntwo lines"), "")
  return root
}

describe("a storage root", () => {
  it("comes whole, and into an empty one alone; what was cut off begins anew", () => {
    const archive = run(filled("one"), readCommand("pod", false)).stdout
    const to = made("to")
    assert.strictEqual(said(to), "empty")
    assert.notStrictEqual(run(to, unpackCommand("pod", "01"), archive.subarray(0, -10)).status, 0)
    assert.strictEqual(said(to), "begun")
    assert.notStrictEqual(run(to, placeCommand("pod", "01", false)).status, 0)
    assert.strictEqual(run(to, unpackCommand("pod", "01"), archive).status, 0)
    assert.strictEqual(said(to), "whole")
    for (let times = 0; times < 2; times++) {
      const placed = run(to, placeCommand("pod", "01", false))
      assert.strictEqual(placed.status, 0, placed.stderr.toString())
      assert.strictEqual(said(to), "whole")
    }
    assert.strictEqual(run(to, tidyCommand("pod", "01")).status, 0)
    assert.sameMembers(readdirSync(to), ["di-tenants", "di-framework", "-beside", "of\ntwo lines"])
    assert.strictEqual(lstatSync(join(to, "di-tenants/x/.file")).mode & 0o7777, 0o604)
    assert.isTrue(lstatSync(join(to, "di-tenants/out")).isSymbolicLink())
    assert.match(said(to), /^there \S+$/)
  })

  it("that the spec has named is the platform's folders alone, and no link in their place", () => {
    const archive = run(filled("two"), readCommand("pod", true)).stdout
    const to = made("custom")
    writeFileSync(join(to, "beside"), "an administrator's")
    assert.strictEqual(said(to, true), "empty")
    assert.strictEqual(run(to, unpackCommand("pod", "01"), archive).status, 0)
    assert.strictEqual(run(to, placeCommand("pod", "01", true)).status, 0)
    assert.strictEqual(run(to, tidyCommand("pod", "01")).status, 0)
    assert.sameMembers(readdirSync(to), ["beside", "di-tenants"])
    assert.strictEqual(said(to, true), "there di-tenants")
    const empty = run(made("nothing"), readCommand("pod", true))
    assert.strictEqual(empty.status, 0, empty.stderr.toString())
  })

  it("takes nothing out of it, whatever the archive has", () => {
    const evil = made("evil")
    symlinkSync(folder, join(evil, "link"))
    const archive = execFileSync(
      "tar",
      [
        "--create",
        "--gzip",
        "--absolute-names",
        "--transform=s,^link/,link/,",
        "--file=-",
        "-C",
        evil,
        "link",
        "-C",
        folder,
        join(folder, "evil"),
      ],
      { stdio: ["ignore", "pipe", "ignore"] },
    )
    const to = made("kept")
    run(to, unpackCommand("pod", "01"), archive)
    assert.isFalse(existsSync(join(folder, "new")))
    assert.deepStrictEqual(readdirSync(to), [".kubectl-pi-restore-01"])
  })

  it("is put back anew where somebody has taken away what a restore that was given up had put there", () => {
    const archive = run(filled("four"), readCommand("pod", false)).stdout
    const given = (name: string) => {
      const to = made(name)
      assert.strictEqual(run(to, unpackCommand("pod", "01"), archive).status, 0)
      assert.strictEqual(run(to, placeCommand("pod", "01", false)).status, 0)
      assert.strictEqual(said(to), "whole")
      return to
    }
    const cleared = given("cleared")
    for (const name of readdirSync(cleared))
      if (!name.startsWith(".")) rmSync(join(cleared, name), { recursive: true })
    assert.strictEqual(said(cleared), "begun")
    assert.notStrictEqual(run(cleared, placeCommand("pod", "01", false)).status, 0)
    const another = given("another")
    // Of another instance that has lived there since.
    renameSync(join(another, "di-tenants"), join(folder, "moved"))
    mkdirSync(join(another, "di-tenants"))
    assert.match(said(another), /^there \S+$/)
    const part = given("part")
    rmSync(join(part, "of\ntwo lines"))
    assert.match(said(part), /^there \S+$/)
  })

  it("has the modes that it had, whatever the folder that it comes into has", () => {
    const from = filled("five")
    chmodSync(join(from, "di-tenants/x"), 0o700)
    const archive = run(from, readCommand("pod", true)).stdout
    const to = made("group")
    chmodSync(to, 0o2775)
    assert.strictEqual(run(to, unpackCommand("pod", "01"), archive).status, 0)
    assert.strictEqual(run(to, placeCommand("pod", "01", true)).status, 0)
    assert.strictEqual(lstatSync(join(to, "di-tenants/x")).mode & 0o7777, 0o700)
    assert.strictEqual(lstatSync(to).mode & 0o7777, 0o2775)
  })

  it("that has a file of the same name by now is not overwritten", () => {
    const archive = run(filled("three"), readCommand("pod", false)).stdout
    const to = made("taken")
    run(to, unpackCommand("pod", "01"), archive)
    writeFileSync(join(to, "-beside"), "newer")
    const placed = run(to, placeCommand("pod", "01", false))
    assert.strictEqual(placed.status, 1)
    assert.strictEqual(readFileSync(join(to, "-beside"), "utf8"), "newer")
  })
})

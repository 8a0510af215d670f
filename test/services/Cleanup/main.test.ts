import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"

let mount: string
beforeEach(() => {
  mount = mkdtempSync(join(tmpdir(), "cleanup-"))
  mkdirSync(join(mount, "one"))
})
afterEach(() => rmSync(mount, { recursive: true, force: true }))

const cleanup = (...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["src/services/Cleanup/main.ts", ...args], {
    encoding: "utf8",
  })
  return { status, lines: stdout.split("\n").slice(0, -1), stderr }
}

describe("the cleanup process", () => {
  it("removes nothing where nothing is mounted", () => {
    const given = [
      "--base=/base",
      "--current-base=/base",
      "--namespace=team-a",
      "--name=one",
      `--mount=${mount}`,
    ]
    expect(cleanup(...given)).toEqual({
      status: 1,
      lines: [`removed nothing: nothing is mounted at ${mount}`],
      stderr: "",
    })
    expect(existsSync(join(mount, "one"))).toBe(true)
  })

  it("refuses what is no name, in one line", () => {
    const given = [
      "--base=/base",
      "--current-base=/base",
      "--namespace=team-a",
      "--name=../..\nx",
      `--mount=${mount}`,
    ]
    expect(cleanup(...given)).toEqual({
      status: 2,
      lines: ['refused: --name "../..\\nx" is not the name of an instance'],
      stderr: "",
    })
  })

  it("refuses an argument it does not know", () => {
    const { status, lines } = cleanup("--force")
    expect(status).toBe(2)
    expect(lines).toHaveLength(1)
  })
})

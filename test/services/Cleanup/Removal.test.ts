import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { RemovalError, removeDirectory } from "../../../src/services/Cleanup/Removal.ts"
import { watchSyncs } from "../../support/syncs.ts"

let world: string
/** `<base>/<namespace>`. */
let parent: string
const outside = (...path: ReadonlyArray<string>) => join(world, "outside", ...path)

beforeEach(() => {
  world = mkdtempSync(join(tmpdir(), "cleanup-"))
  parent = join(world, "base", "team-a")
  mkdirSync(parent, { recursive: true })
  mkdirSync(outside("inner"), { recursive: true })
  writeFileSync(outside("canary"), "alive")
  writeFileSync(outside("inner", "canary"), "alive")
  mkdirSync(join(parent, "two"))
  writeFileSync(join(parent, "two", "canary"), "alive")
})
afterEach(() => rmSync(world, { recursive: true, force: true }))

/** Root may remove anything: as root, the folders are handed to another user, and so is this process for a moment. */
const asOrdinaryUser = (folders: ReadonlyArray<string>, act: () => void): void => {
  const root = process.geteuid?.() === 0
  if (root) {
    for (const folder of folders) chownSync(folder, 1000, 1000)
    process.setegid?.(1000)
    process.seteuid?.(1000)
  }
  try {
    act()
  } finally {
    if (root) {
      process.seteuid?.(0)
      process.setegid?.(0)
    }
  }
}

const expectCanariesAlive = () => {
  for (const canary of [outside("canary"), outside("inner", "canary"), join(parent, "two", "canary")])
    expect(readFileSync(canary, "utf8")).toBe("alive")
}

describe("removing an instance's directory", () => {
  it("takes everything in it and nothing beside it", () => {
    mkdirSync(join(parent, "one", "di-tenants", "acme"), { recursive: true })
    writeFileSync(join(parent, "one", "di-tenants", "acme", "blob"), "data")
    writeFileSync(join(parent, "one", ".hidden"), "data")
    expect(removeDirectory(parent, "one")).toBe(true)
    expect(readdirSync(parent)).toEqual(["two"])
    expectCanariesAlive()
  })

  it("is on the disk when it says that all is gone: the parent is synced without it", async () => {
    mkdirSync(join(parent, "one", "di-tenants"), { recursive: true })
    await using watched = await watchSyncs((path) => [path, ...readdirSync(path)])
    expect(removeDirectory(parent, "one")).toBe(true)
    expect(watched.seen).toEqual([[realpathSync(parent), "two"]])
  })

  it("succeeds when it is not there, again and again, and leaves nothing", () => {
    expect(removeDirectory(parent, "one")).toBe(false)
    expect(removeDirectory(parent, "one")).toBe(false)
    expect(readdirSync(parent)).toEqual(["two"])
  })

  it("removes links inside it as links", () => {
    mkdirSync(join(parent, "one", "inner"), { recursive: true })
    symlinkSync(outside(), join(parent, "one", "absolute"))
    symlinkSync("../../../../outside/inner", join(parent, "one", "inner", "relative"))
    symlinkSync("../two", join(parent, "one", "sibling"))
    symlinkSync("/nowhere", join(parent, "one", "dangling"))
    symlinkSync(".", join(parent, "one", "loop"))
    linkSync(outside("canary"), join(parent, "one", "hard"))
    expect(removeDirectory(parent, "one")).toBe(true)
    expect(readdirSync(parent)).toEqual(["two"])
    expectCanariesAlive()
  })

  it("refuses one that is a link", () => {
    symlinkSync(outside(), join(parent, "one"))
    expect(() => removeDirectory(parent, "one")).toThrow("one is a symbolic link")
    expect(lstatSync(join(parent, "one")).isSymbolicLink()).toBe(true)
    expectCanariesAlive()
  })

  it("refuses a parent that is a link", () => {
    mkdirSync(outside("one"))
    symlinkSync(outside(), join(world, "link"))
    expect(() => removeDirectory(join(world, "link"), "one")).toThrow(RemovalError)
    expect(existsSync(outside("one"))).toBe(true)
  })

  it("refuses a file", () => {
    writeFileSync(join(parent, "one"), "data")
    expect(() => removeDirectory(parent, "one")).toThrow("one is not a directory")
    expect(existsSync(join(parent, "one"))).toBe(true)
  })

  it("takes names that are no text", () => {
    const bytes = Buffer.concat([Buffer.from(`${parent}/one/`), Buffer.from([0xff, 0x0a, 0xc3, 0x28])])
    mkdirSync(join(parent, "one"))
    mkdirSync(bytes)
    writeFileSync(Buffer.concat([bytes, Buffer.from("/"), Buffer.from([0x80])]), "data")
    expect(removeDirectory(parent, "one")).toBe(true)
    expect(existsSync(join(parent, "one"))).toBe(false)
  })

  it("takes a tree deeper than any path may be long", () => {
    let tree = "bottom"
    mkdirSync(join(parent, tree))
    writeFileSync(join(parent, tree, "file"), "data")
    // From the inside out: each level is the former tree moved into a new directory.
    for (let level = 0; level < 1500; level++) {
      const next = `level-${level}`
      mkdirSync(join(parent, next))
      renameSync(join(parent, tree), join(parent, next, "abcd"))
      tree = next
    }
    renameSync(join(parent, tree), join(parent, "one"))
    expect(removeDirectory(parent, "one")).toBe(true)
    expect(readdirSync(parent)).toEqual(["two"])
  })

  it("takes more entries than one look reads", () => {
    mkdirSync(join(parent, "one"))
    for (let n = 0; n < 1000; n++) writeFileSync(join(parent, "one", `${n}`), "")
    expect(removeDirectory(parent, "one")).toBe(true)
    expect(readdirSync(parent)).toEqual(["two"])
  })

  it("says which entry it could not remove, and goes on from there later", () => {
    const locked = join(parent, "one", "locked")
    mkdirSync(join(locked, "inner"), { recursive: true })
    chmodSync(locked, 0o500)
    asOrdinaryUser([world, join(world, "base"), parent, join(parent, "one"), locked], () =>
      expect(() => removeDirectory(parent, "one")).toThrow("inner: EACCES"),
    )
    chmodSync(locked, 0o700)
    expect(removeDirectory(parent, "one")).toBe(true)
  })
})

// The cleanup process with what the kernel really says of its mount: each node has `<base>/<namespace>` bind mounted as a
// container has, in a mount namespace of its own.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { inMounts } from "./inMounts.ts"

let world: string
const at = (path: string) => join(world, path)

beforeEach(() => {
  world = realpathSync(mkdtempSync(join(tmpdir(), "mounts-")))
  for (const folder of ["node/instances", "elsewhere/team-a/one", "ssd/platform", "storage"])
    mkdirSync(at(folder), { recursive: true })
  writeFileSync(at("elsewhere/team-a/one/canary"), "alive")
})
afterEach(() => rmSync(world, { recursive: true, force: true }))

/** Makes the node as `commands` say, in the world's folder, mounts what lies at `<base>/team-a`, and cleans up. */
const cleanup = (commands: string, currentBase = at("node/instances")) => {
  const script = `set -e
cd "$1"
${commands}
mkdir -p node/instances/team-a/one
touch node/instances/team-a/one/file
mount --rbind node/instances/team-a storage
cd "$2"
exec "$3" src/services/Cleanup/main.ts --base="$1/node/instances" --current-base="$4" --namespace=team-a --name=one \
  --mount="$1/storage"`
  const args = ["sh", "-c", script, "sh", world, process.cwd(), process.execPath, currentBase]
  const { status, stdout, stderr } = spawnSync("unshare", [...inMounts, ...args], { encoding: "utf8" })
  return { status, said: stdout.trimEnd().replaceAll(world, ""), stderr }
}

const removed = { status: 0, said: "removed /node/instances/team-a/one", stderr: "" }
const leadsTo = (root: string) => ({
  status: 1,
  said: `removed nothing: /node/instances/team-a leads to ${root} on the node`,
  stderr: "",
})
const isMount = {
  status: 1,
  said: "removed nothing: /node/instances/team-a is a mount point on the node, or leads to one",
  stderr: "",
}

describe("the cleanup of a node", () => {
  it.each([
    ["like any other", ""],
    ["whose base is a disk of its own", "mount -t tmpfs disk node/instances"],
    ["whose base lies on a disk of its own", "mount -t tmpfs disk node; mkdir node/instances"],
    [
      "whose base is a link to a folder of its name",
      "rmdir node/instances; mkdir ssd/instances; ln -s ../ssd/instances node/instances",
    ],
    [
      "whose base is another folder of its name",
      "mkdir ssd/instances; mount --bind ssd/instances node/instances",
    ],
    [
      "whose base is a folder of a disk",
      "mount -t tmpfs disk ssd; mkdir -p ssd/data/instances; mount --bind ssd/data/instances node/instances",
    ],
  ])("%s removes the directory", (_, commands) => {
    expect(cleanup(commands)).toEqual(removed)
  })

  it.each([
    ["a link", "rmdir node/instances; ln -s ../ssd/platform node/instances"],
    ["another folder", "mount --bind ssd/platform node/instances"],
  ])("whose base is %s of another name does so once the operator's base is that folder", (_, commands) => {
    expect(cleanup(commands)).toEqual(leadsTo("/ssd/platform/team-a"))
    rmSync(at("node/instances"), { recursive: true, force: true })
    mkdirSync(at("node/instances"))
    expect(cleanup(commands, at("ssd/platform"))).toEqual(removed)
  })

  it.each([
    ["is a link to one of its name", "ln -s ../../elsewhere/team-a node/instances/team-a"],
    [
      "is a mount of one of its name",
      "mkdir node/instances/team-a; mount --bind elsewhere/team-a node/instances/team-a",
    ],
  ])("whose namespace's folder %s removes nothing", (_, commands) => {
    expect(cleanup(commands)).toEqual(leadsTo("/elsewhere/team-a"))
    expect(existsSync(at("elsewhere/team-a/one/canary"))).toBe(true)
  })

  it.each([
    ["is a disk", "mkdir node/instances/team-a; mount -t tmpfs disk node/instances/team-a"],
    ["is a link to a disk", "mount -t tmpfs disk ssd; ln -s ../../ssd node/instances/team-a"],
  ])("whose namespace's folder %s removes nothing", (_, commands) => {
    expect(cleanup(commands)).toEqual(isMount)
  })

  it("with a mount inside the directory removes nothing", () => {
    const inside = "node/instances/team-a/one/inner"
    expect(cleanup(`mkdir -p ${inside}; mount --bind elsewhere/team-a ${inside}`)).toEqual({
      status: 1,
      said: `removed nothing: /${inside} is a mount point on the node: unmount it first`,
      stderr: "",
    })
    expect(existsSync(at("elsewhere/team-a/one/canary"))).toBe(true)
  })
})

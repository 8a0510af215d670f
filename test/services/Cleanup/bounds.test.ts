// F38: whatever an instance and its storage root are called, and whatever lies there, a cleanup is refused or touches
// `<base>/<namespace>/<name>` alone. In memory with the Job's process as the node's twin runs it; then with the real
// removal on real directories. The process itself is in bounds.real.test.ts.
import { posix } from "node:path"
import { assert, describe, it } from "vitest"
import { RemovalError, removeDirectory } from "../../../src/services/Cleanup/Removal.ts"
import { mountProblem, targetProblem } from "../../../src/services/Cleanup/Target.ts"
import { remove } from "../../twins/controllers/node/Cleanup.ts"
import { NodeFiles } from "../../twins/controllers/node/Files.ts"
import { Prng } from "../../twins/simulation/Prng.ts"
import { allowed, canaries, draw, isOutside, requested } from "./cases.ts"
import { cleanUpReally, type Outcome, realFolder } from "./realCases.ts"

describe("F38: a cleanup", () => {
  it("of any of 10,000 random names, roots and trees is refused or keeps to its folder", () => {
    const prng = new Prng(38)
    const outcomes = { refused: 0, failed: 0, removed: 0, nothing: 0 }
    for (let round = 0; round < 10_000; round++) {
      const drawn = draw(prng)
      const { containers, volumes } = requested(drawn)
      const files = new NodeFiles()
      for (const [path, entry] of drawn.entries) files.put(path, entry)
      if (drawn.mountPoint !== undefined) files.mount(drawn.mountPoint)
      const before = new Set(files.below(""))
      const mounted = files.resolve(posix.normalize(volumes[0].hostPath.path))
      const { code, log = "" } = remove({ files, mounted: () => mounted, container: containers[0] })
      const after = new Set(files.below(""))
      const gone = [...before].filter((path) => !after.has(path))
      const what = JSON.stringify({ round, ...drawn, entries: [...drawn.entries], log })

      const root = allowed(drawn, containers[0].args[0]?.slice("--base=".length) ?? "")
      for (const canary of canaries) {
        if (before.has(canary) && isOutside(canary, root))
          assert.isTrue(after.has(canary), `${canary} of ${what}`)
      }
      assert.deepStrictEqual(
        gone.filter((path) => isOutside(path, root)),
        [],
        what,
      )
      if (code !== 0) outcomes[code === 2 ? "refused" : "failed"] += 1
      else outcomes[log.startsWith("removed") ? "removed" : "nothing"] += 1
    }
    console.info(JSON.stringify(outcomes))
    for (const count of Object.values(outcomes)) assert.isAbove(count, 500)
  })

  it("on a real directory, 50 times, is refused or keeps to its folder", () => {
    const prng = new Prng(3838)
    const outcomes: Record<Outcome, number> = { refused: 0, failed: 0, removed: 0, nothing: 0 }
    for (let round = 0; round < 50; round++) {
      const drawn = draw(prng)
      const { containers, volumes } = requested(drawn)
      const base = containers[0].args[0]?.slice("--base=".length) ?? ""
      const { namespace, name } = drawn
      const target = { base, currentBase: base, namespace, name, mount: "/storage" }
      const outcome = cleanUpReally(drawn, (world) => {
        if (targetProblem(target) !== undefined) return "refused"
        const folder = realFolder(world, volumes[0].hostPath.path)
        if (folder === undefined) return "failed"
        const mountinfo = `1 0 8:1 ${folder.slice(world.length)} /storage rw - ext4 /dev/sda rw`
        if (mountProblem(mountinfo, target) !== undefined) return "failed"
        try {
          return removeDirectory(folder, name) ? "removed" : "nothing"
        } catch (error) {
          assert.instanceOf(error, RemovalError)
          return "failed"
        }
      })
      outcomes[outcome] += 1
    }
    console.info(JSON.stringify(outcomes))
    for (const count of Object.values(outcomes)) assert.isAbove(count, 0)
  })
})

// F38 with the Job's own process, on real directories that are mounted for it as a container runtime does: 50 random
// names, roots and trees, with links and mounts in them.
import { spawnSync } from "node:child_process"
import { assert, describe, it } from "vitest"
import { Prng } from "../../twins/simulation/Prng.ts"
import { type Case, draw, requested } from "./cases.ts"
import { inMounts } from "./inMounts.ts"
import { cleanUpReally, type Outcome, realFolder } from "./realCases.ts"

const main = "src/services/Cleanup/main.ts"

/** No argument can hold one, of no program. */
const holdsNul = ({ base, namespace, name }: Case) => `${base}${namespace}${name}`.includes("\0")

const outcomeOf = (status: number | null, said: string): Outcome => {
  if (status === 2) return "refused"
  if (status === 1 && /^(removed nothing|cannot remove .*): /.test(said)) return "failed"
  assert.strictEqual(status, 0, said)
  return said.startsWith("removed ") ? "removed" : "nothing"
}

const cleanUp =
  (drawn: Case) =>
  (world: string): Outcome => {
    const { containers, volumes } = requested(drawn)
    const args = containers[0].args.map((arg) => arg.replace(/^--mount=.*/, `--mount=${world}/storage`))
    const run = (command: string, ...given: ReadonlyArray<string>) =>
      spawnSync(command, given, { encoding: "utf8" })
    // What is no name is refused before anything is mounted: so does the API server.
    const unmounted = run(process.execPath, main, ...args)
    if (unmounted.status === 2) return outcomeOf(2, unmounted.stdout)
    const folder = realFolder(world, volumes[0].hostPath.path)
    if (folder === undefined) return "failed"
    const disk = drawn.mountPoint === undefined ? "" : `${world}${drawn.mountPoint}`
    const script = `set -e
if [ -n "$3" ] && mkdir -p "$3"; then mount -t tmpfs disk "$3"; fi
mkdir "$1/storage"
mount --rbind "$2" "$1/storage"
shift 3
exec "$@"`
    const given = ["sh", "-c", script, "sh", world, folder, disk, process.execPath, main, ...args]
    const { status, stdout, stderr } = run("unshare", ...inMounts, ...given)
    return outcomeOf(status, stdout + stderr)
  }

describe("F38: the process of a cleanup", () => {
  it("on real directories, 50 times, is refused or keeps to its folder", () => {
    const prng = new Prng(383838)
    const outcomes: Record<Outcome, number> = { refused: 0, failed: 0, removed: 0, nothing: 0 }
    for (let round = 0; round < 50; ) {
      const drawn = draw(prng)
      if (holdsNul(drawn)) continue
      round += 1
      outcomes[cleanUpReally(drawn, cleanUp(drawn))] += 1
    }
    console.info(JSON.stringify(outcomes))
    for (const count of Object.values(outcomes)) assert.isAbove(count, 0)
  })
})

// What shell scripts of tools/ share: the lock of the local cluster, and what a long step says meanwhile.
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { hear } from "./heard.ts"

let place = ""
const running: Array<ChildProcess> = []
beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), "locks-"))
})
afterEach(() => {
  for (const child of running.splice(0)) if (child.exitCode === null) child.kill("SIGKILL")
  rmSync(place, { recursive: true, force: true })
})

const begin = (script: string) => {
  const env = { ...process.env, PLATFORM_OPERATOR_CLUSTER: `${place}/cluster`, place, TMPDIR: place }
  const child = spawn("bash", ["-c", script], { env, stdio: ["ignore", "pipe", "pipe"] })
  running.push(child)
  return hear(child)
}
const go = (name: string) => writeFileSync(path.join(place, name), "")
const until = (name: string) => `while [ -d $place ] && [ ! -e $place/${name} ]; do command sleep 0.05; done`

describe("the local cluster's lock", () => {
  const take = ". tools/cluster/lib.sh; take_lock; echo has it"

  it("is gone with the cluster", async () => {
    assert.strictEqual(await begin(`${take}; remove_lock`).ended, 0)
    assert.deepStrictEqual(readdirSync(place), [])
  })

  it("counts for whoever waited while the one before was removed", async () => {
    const first = begin(`${take}; ${until("first")}; remove_lock`)
    await first.says("has it")
    const second = begin(`${take}; ${until("second")}; remove_lock`)
    await second.says("waiting for it")
    assert.notInclude(second.said(), "has it")
    go("first")
    await second.says("has it")
    const lock = path.join(place, "cluster.lock")
    assert.isTrue(existsSync(lock))
    assert.strictEqual(spawnSync("flock", ["-n", lock, "true"]).status, 1)
    go("second")
    assert.deepStrictEqual([await first.ended, await second.ended], [0, 0])
    assert.isFalse(existsSync(lock))
  })
})

describe("a step that takes long", () => {
  it("says every 15 seconds what is done, and for how long", async () => {
    const step = begin(
      `say() { echo "tool: $*"; }; sleep() { :; }; export -f sleep; . tools/quietly.sh; quiet_doing="building the plugin"; quietly bash -c '${until("go")}'; echo done`,
    )
    await step.says(
      "tool: building the plugin: 15 seconds so far\ntool: building the plugin: 30 seconds so far\n",
    )
    go("go")
    assert.strictEqual(await step.ended, 0)
    assert.include(step.said(), "done\n")
  })
})

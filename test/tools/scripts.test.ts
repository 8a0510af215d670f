// What shell scripts of tools/ share: the lock of the local cluster, and what a long step says meanwhile.
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
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

describe("the local cluster's port", () => {
  const choose = (port: string) => `
    . tools/cluster/lib.sh; . tools/cluster/prerequisites.sh; . tools/cluster/pki.sh
    mkdir -p "$state/pki" && touch "$state"/pki/{ca.crt,admin.crt,admin.key}
    kubeconfig "$state/kubeconfig" "https://127.0.0.1:${port}" admin
    echo "port $(choose_port)"`

  it("is that of the last start, as long as it is free", async () => {
    // Whoever lets go of a free port leaves it free.
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const port = String((server.address() as AddressInfo).port)
    const taken = begin(choose(port))
    assert.strictEqual(await taken.ended, 0)
    assert.match(taken.said(), /port 16[45]\d\d\n/)
    server.close()
    await once(server, "close")
    const free = begin(choose(port))
    assert.strictEqual(await free.ended, 0)
    assert.include(free.said(), `port ${port}\n`)
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

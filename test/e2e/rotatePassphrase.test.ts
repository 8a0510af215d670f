// Another passphrase for everything: the operator goes on with it, the one before opens nothing, and a rollback of the chart, which
// puts that one back, loses nothing.
import { execFileSync, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { installChart, rollBackChart } from "./support/Chart.ts"
import { operatorNamespace } from "./support/Cluster.ts"
import {
  deleteInstance,
  editInstance,
  getInstance,
  type Key,
  manifest,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, getJson, kubectl, names } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import {
  incarnation,
  instanceState,
  leader,
  operatorLog,
  readRecord,
  stateDirectory,
} from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { buildPlugin, inFolder, pi, type Said } from "./support/Plugin.ts"
import { untilTrue } from "./support/Until.ts"

holdOperator("exclusive")
leavesNothing("rotation")

const key: Key = { namespace: "rotation", name: "one" }
const inOperators = ["--namespace", operatorNamespace]
const rotate = (...args: ReadonlyArray<string>): Promise<Said> => pi("rotate-passphrase", ...args)

const Secret = Schema.Struct({ data: Schema.Record(Schema.String, Schema.String) })
const passphraseIn = async (secret: string, name: string): Promise<string> => {
  const { data } = await getJson(Secret, ["secret", secret, ...inOperators])
  return Buffer.from(data[name] ?? "", "base64").toString()
}
const current = () => passphraseIn("platform-operator-passphrase", "passphrase")

/** What the Job's program says of the state as it is now, with this passphrase as the one to rotate to. */
const opensAll = async (passphrase: string): Promise<boolean> => {
  const copy = inFolder("state")
  const state = await stateDirectory()
  execFileSync("sh", ["-c", 'rm -rf "$2" && mkdir -p "$2" && cp -a "$1/instances" "$2/"', "sh", state, copy])
  for (const [name, text] of [
    ["to", passphrase],
    ["from", "one that opens nothing"],
  ] as const) {
    writeFileSync(inFolder(name), text, { mode: 0o600 })
  }
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      ...["src/services/Rotation/main.ts", `--state-dir=${copy}`],
      ...[`--from-file=${inFolder("from")}`, `--to-file=${inFolder("to")}`],
    ],
    { encoding: "utf8" },
  )
  if (status === 0) assert.match(stdout, /: 0 files have the new passphrase now, [1-9]\d* had it already$/m)
  else
    assert.match(
      stdout,
      /^nothing was changed: neither the passphrase nor the next one opens rotation\/one: /,
    )
  return status === 0
}

const finishedAt = async (): Promise<string> =>
  readRecord(await instanceState(key.namespace, key.name)).installed.finishedAt
/** Applies another spec: the engine opens settings and state, and writes both. */
const upgrade = async (tenants: ReadonlyArray<string>) => {
  const before = await finishedAt()
  await editInstance(key, { platform: { tenants: tenants.map((name) => ({ name })) } })
  await untilTrue("it is installed", async () => (await finishedAt()) !== before)
  await untilReady(key)
}

describe("a rotation of the passphrase", { timeout: 1_800_000 }, () => {
  const seen: Array<string> = []

  beforeAll(async () => {
    buildPlugin()
    await createNamespace(key.namespace)
    // Rolled back to below: as it is, with the passphrase of now.
    await installChart("--set", "repairInterval=31m")
    await leader()
    await apply(manifest(key))
    await untilReady(key)
  }, 3_600_000)
  afterAll(async () => {
    await deleteInstance(key)
    // Whoever rolls back to this release finds the passphrase of now.
    await installChart()
  }, 3_600_000)

  it("says what it would do, and does nothing", async () => {
    const before = await current()
    const said = await rotate()
    assert.strictEqual(said.exitCode, 2, said.err)
    assert.match(said.err, /claim platform-operator-state .* Secret platform-operator-passphrase/)
    assert.strictEqual(await current(), before)
    assert.isDefined(await incarnation())
  })

  it("has everything open with a new one, and nothing with the one before", async () => {
    const before = await current()
    assert.isTrue(await opensAll(before))
    const said = await rotate("--yes")
    assert.strictEqual(said.exitCode, 0, said.err)
    assert.match(said.out, /: the passphrase is rotated; 1 instance: \d+ files have the new passphrase now/)
    const after = await current()
    seen.push(before, after)
    assert.notStrictEqual(after, before)
    assert.isTrue(await opensAll(after))
    assert.isFalse(await opensAll(before))
    await leader()
    assert.deepStrictEqual(await names("jobs", ...inOperators), [])
  })

  it("and the instance is upgraded and repaired with it", async () => {
    await upgrade(["acme"])
    assert.isTrue(await opensAll(await current()))
    const status = await pi("status", key.name, "-n", key.namespace)
    assert.match(status.out, /Phase: +Ready/)
  })

  it("goes on after it was ended in the middle, with the operator stopped meanwhile", async () => {
    const patch =
      '--patch={"metadata":{"annotations":{"platform.di-framework.dev/replicas-before-rotation":"1"}},"spec":{"replicas":0}}'
    await kubectl(["patch", "deployment", "platform-operator", "--type=merge", patch, ...inOperators])
    const next = `of a command that was ended at ${Date.now()}`
    const data = `--patch={"data":{"next":"${Buffer.from(next).toString("base64")}"}}`
    await kubectl([
      "patch",
      "secret",
      "platform-operator-passphrase-rotation",
      "--type=merge",
      data,
      ...inOperators,
    ])
    const said = await rotate("--yes")
    assert.strictEqual(said.exitCode, 0, said.err)
    seen.push(await current())
    assert.strictEqual(await current(), next)
    await leader()
    await upgrade(["acme", "globex"])
  })

  it("is lost by no rollback of the chart: what puts an older passphrase back is mended by the next one", async () => {
    const now = await current()
    // Helm 4 sees that the field has become another's.
    const refused = await rollBackChart().then(
      () => "it was not refused",
      (error: unknown) => String(error),
    )
    assert.match(refused, /platform-operator-passphrase.* conflict with .*\.data\.passphrase/)
    assert.strictEqual(await current(), now)
    await rollBackChart("--force-conflicts")
    const put = await current()
    assert.notStrictEqual(put, now)
    assert.isTrue(await opensAll(now))
    const said = await rotate("--yes")
    assert.strictEqual(said.exitCode, 0, said.err)
    seen.push(await current())
    assert.isTrue(await opensAll(await current()))
    await leader()
    await upgrade(["acme"])
    assert.strictEqual((await getInstance(key)).status?.phase, "Ready")
  })

  it("and no passphrase is in the operator's log or in an object beside its Secrets", async () => {
    const events = await kubectl([
      "get",
      "events,pods,jobs,deployments,configmaps",
      "-o",
      "json",
      ...inOperators,
    ])
    const log = await operatorLog()
    assert.isAbove(seen.length, 3)
    for (const passphrase of seen) {
      assert.isFalse(log.includes(passphrase))
      assert.isFalse(events.includes(passphrase))
      assert.isFalse(events.includes(Buffer.from(passphrase).toString("base64")))
    }
  })
})

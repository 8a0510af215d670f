// An instance that is backed up, lost with all that was its (vCluster, directory of the node, state), and restored by an operator
// that has another passphrase; and a copy of it beside it.
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { hostNamespace } from "../../src/schema/Names.ts"
import { storageRootBase } from "./support/Cluster.ts"
import { inside, readKubeconfig } from "./support/Inside.ts"
import {
  conditionOf,
  deleteInstance,
  findHostNamespace,
  getInstance,
  type Key,
  manifest,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, kubectl } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { isThere } from "./support/NodeFolders.ts"
import { instanceState, killOperator, leader, readRecord } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { buildPlugin, inFolder, pi, startPi } from "./support/Plugin.ts"
import { deployment, settings } from "./support/Tenant.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("exclusive")
leavesNothing("backup")

const key: Key = { namespace: "backup", name: "one" }
const copy: Key = { namespace: "backup", name: "two" }
const file = inFolder("one.age")
const passphrase = inFolder("backup.pass")
const withPassphrase = ["--passphrase-file", passphrase]

/** What a tenant, the platform and the cluster itself have inside, by their UIDs. */
const uidsInside = (of: Key): Promise<ReadonlyArray<string>> =>
  inside(of, async (context) =>
    (
      await kubectl([
        ...context,
        "get",
        "namespaces,configmaps,deployments,serviceaccounts,tenants.platform.di-framework.dev",
        "--all-namespaces",
        "-o",
        'jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.uid}{"\\n"}{end}',
      ])
    )
      .split("\n")
      // The cluster makes these anew, with its certificates.
      .filter((line) => line !== "" && !line.includes("kube-root-ca.crt"))
      .toSorted(),
  )
const runsInside = (of: Key) =>
  inside(of, (context) =>
    kubectl([
      ...context,
      ...["wait", "--for=condition=Available", "deployment/web", "-n", "default", "--timeout=300s"],
    ]),
  )
const authority = async (of: Key): Promise<unknown> =>
  parse(await readKubeconfig(of)).clusters[0].cluster["certificate-authority-data"]
const installedBy = async (of: Key) => conditionOf(await getInstance(of), "Installed")?.reason

describe("an instance that is backed up", { timeout: 1_800_000 }, () => {
  let before: ReadonlyArray<string> = []
  let ca: unknown

  beforeAll(async () => {
    buildPlugin()
    writeFileSync(passphrase, "correct horse battery staple\n", { mode: 0o600 })
    await createNamespace(key.namespace)
    await leader()
    await apply(manifest(key))
    await untilReady(key)
    await inside(key, async (context) => {
      for (const object of [deployment, settings])
        await kubectl([...context, "apply", "-f", "-"], { input: JSON.stringify(object) })
    })
    await runsInside(key)
    before = await uidsInside(key)
    ca = await authority(key)
  }, 3_600_000)
  afterAll(async () => {
    await deleteInstance(key)
    await deleteInstance(copy)
  }, 3_600_000)

  it("is one file for its owner alone, and stays Ready over it", async () => {
    const said = await pi("backup", key.name, "-n", key.namespace, "-f", file, ...withPassphrase)
    assert.strictEqual(said.exitCode, 0, said.err)
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    assert.isFalse(readFileSync(file, "latin1").includes("tenant"))
    assert.strictEqual((await getInstance(key)).status?.phase, "Ready")
  })

  it("is not restored over what is there", async () => {
    const said = await pi("restore", "-f", file, ...withPassphrase)
    assert.strictEqual(said.exitCode, 1)
    assert.match(said.err, /backup\/one is there: nothing is restored over it/)
  })

  it("is lost as a whole, and the operator gets another passphrase", async () => {
    const { root } = await instanceState(key.namespace, key.name)
    await deleteInstance(key)
    await untilTrue(
      "nothing is left",
      async () => (await findHostNamespace(key)) === undefined && !existsSync(root),
    )
    assert.isFalse(isThere(`${storageRootBase}/backup/one`))
    const said = await pi("rotate-passphrase", "--yes")
    assert.strictEqual(said.exitCode, 0, said.err)
    await leader()
  })

  it("comes back as it was, though the restore and the operator are ended in the middle", async () => {
    const first = startPi("restore", "-f", file, ...withPassphrase)
    await untilTrue("it is made", () => exists("pi", key.name, "-n", key.namespace))
    await first.interrupt()
    await killOperator()
    await until("it waits for its data", async () =>
      conditionOf(await getInstance(key), "Ready")?.message.includes(
        "is being restored: nothing is installed",
      ),
    )
    const said = await pi("restore", "-f", file, ...withPassphrase)
    assert.strictEqual(said.exitCode, 0, said.err)
    assert.match(said.err, /is on its way already/)
    await untilReady(key)
    await runsInside(key)
    assert.deepStrictEqual(await uidsInside(key), before)
    assert.strictEqual(await authority(key), ca)
    assert.strictEqual(await installedBy(key), "SpecChanged")
    assert.strictEqual(
      readRecord(await instanceState(key.namespace, key.name)).kubeSystemUID,
      before.find((line) => line.startsWith("Namespace /kube-system "))?.split(" ")[2],
    )
  })

  it("is copied under another name, beside the first one", async () => {
    const said = await pi("restore", copy.name, "-f", file, ...withPassphrase)
    assert.strictEqual(said.exitCode, 0, said.err)
    await untilReady(copy)
    await runsInside(copy)
    assert.deepStrictEqual(await uidsInside(copy), before)
    assert.notStrictEqual(await authority(copy), ca)
    assert.strictEqual(await installedBy(copy), "SpecChanged")
    assert.notStrictEqual(hostNamespace(copy), hostNamespace(key))
    assert.strictEqual((await getInstance(key)).status?.phase, "Ready")
    assert.isFalse(await exists("pod", "vcluster-restore", "-n", hostNamespace(copy)))
  })
})

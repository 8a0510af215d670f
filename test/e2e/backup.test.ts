// An instance that is backed up, lost with all that was its (vCluster, directory of the node, state), and restored by an operator
// that has another passphrase; and a copy of it beside it.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { hostNamespace } from "../../src/schema/Names.ts"
import { onNode, storageRootBase } from "./support/Cluster.ts"
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

const rootOf = ({ namespace, name }: Key) => `${storageRootBase}/${namespace}/${name}`

/** What tenants may leave on the node: links that lead out, odd modes and owners, holes, two names for a file, a pipe. */
const fillStorage = (of: Key) =>
  onNode(
    ...["sh", "-euc"],
    `mkdir -p ${rootOf(of)}/di-tenants/drill/deep; cd ${rootOf(of)}/di-tenants/drill
    echo mine > file; chmod 2640 file; chown 1234:2345 file; touch -d 2020-01-02T03:04:05Z file
    ln -s /etc/shadow out; ln -s ../../../../../../up up; ln -s file near; ln file second; mkfifo pipe
    truncate -s 256M hole; echo end >> hole; chmod 1731 deep; chown 77:88 deep; touch 'deep/a name
of two lines' deep/.hidden`,
  )
/** Names, kinds, modes, owners, times, sizes, blocks, links and contents of all that lies there. */
const lookAtStorage = (of: Key) =>
  onNode(
    ...["sh", "-euc"],
    `cd ${rootOf(of)}/di-tenants/drill; find . -printf '%p %y %m %U:%G %T@ %s %n %l\\n' | LC_ALL=C sort
    cat file second; sha256sum hole; [ $(du -k hole | cut -f1) -lt 1024 ] && echo sparse; [ file -ef second ] && echo one`,
  )

describe("an instance that is backed up", { timeout: 1_800_000 }, () => {
  let before: ReadonlyArray<string> = []
  let ca: unknown
  let stored = ""

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
    await fillStorage(key)
    stored = await lookAtStorage(key)
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

  it("has its storage root in it, too, if it may be asleep meanwhile", async () => {
    rmSync(file)
    const said = await pi("backup", key.name, "-n", key.namespace, "-f", file, ...withPassphrase, "--storage")
    assert.strictEqual(said.exitCode, 0, said.err)
    assert.match(said.err, /is put to sleep, .*\n.*is being woken/)
    await untilReady(key)
    await runsInside(key)
    assert.strictEqual(await lookAtStorage(key), stored)
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

  it("is not put over files that lie in its storage root", async () => {
    await onNode("sh", "-euc", `mkdir -p ${rootOf(key)}; echo other > ${rootOf(key)}/other`)
    const said = await pi("restore", "-f", file, ...withPassphrase)
    assert.strictEqual(said.exitCode, 1)
    assert.match(said.err, /storage root \S+\/backup\/one on the node is not empty \(other lies there\)/)
    assert.isFalse(await exists("pi", key.name, "-n", key.namespace))
    await onNode("rm", "-rf", rootOf(key))
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
    assert.strictEqual(await lookAtStorage(key), stored)
    assert.notInclude(await onNode("ls", "-A", rootOf(key)), "kubectl-pi")
    assert.strictEqual(await authority(key), ca)
    assert.strictEqual(await installedBy(key), "SpecChanged")
    assert.strictEqual(
      readRecord(await instanceState(key.namespace, key.name)).kubeSystemUID,
      before.find((line) => line.startsWith("Namespace /kube-system "))?.split(" ")[2],
    )
  })

  it("is restored already where the same is asked for again", async () => {
    const said = await pi("restore", "-f", file, ...withPassphrase)
    assert.strictEqual(said.exitCode, 0, said.err)
    assert.match(said.out, /its data is back since \S+, from this backup: nothing is left to do/)
  })

  it("is copied under another name, beside the first one", async () => {
    const said = await pi("restore", copy.name, "-f", file, ...withPassphrase)
    assert.strictEqual(said.exitCode, 0, said.err)
    await untilReady(copy)
    await runsInside(copy)
    assert.deepStrictEqual(await uidsInside(copy), before)
    assert.strictEqual(await lookAtStorage(copy), stored)
    assert.notStrictEqual(await authority(copy), ca)
    assert.strictEqual(await installedBy(copy), "SpecChanged")
    assert.notStrictEqual(hostNamespace(copy), hostNamespace(key))
    assert.strictEqual((await getInstance(key)).status?.phase, "Ready")
    assert.isFalse(await exists("pod", "vcluster-restore", "-n", hostNamespace(copy)))
  })
})

// The vCluster of an instance is moved from one version of it to the next over its data, and back from one that does not start.
import { createHash } from "node:crypto"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { hostNamespace } from "../../src/schema/Names.ts"
import { operatorArgs, restartWith } from "./support/Chart.ts"
import { run } from "./support/Child.ts"
import { operatorNamespace, programs } from "./support/Cluster.ts"
import { inside } from "./support/Inside.ts"
import {
  annotateInstance,
  conditionOf,
  deleteInstance,
  getInstance,
  type Key,
  manifest,
  revisions,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, getJson, kubectl, uidOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { instanceState, leader, stateDirectory } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { tellOf } from "./support/Told.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("exclusive")
leavesNothing("vcluster-upgrade")

const key: Key = { namespace: "vcluster-upgrade", name: "one" }
const host = hostNamespace(key)
const inNamespace = ["--namespace", key.namespace]

const repository = join(import.meta.dirname, "..", "..")
/** Where the operator finds the charts of this test, among its state. */
const folder = "vcluster-charts"
const inPod = `/var/lib/platform-operator/${folder}`

/** This repository's chart with that version, where the operator has its state. Gives the flags that take it. */
const chartOf = async (version: string): Promise<ReadonlyArray<string>> => {
  const work = mkdtempSync(join(tmpdir(), "chart-"))
  const chart = join(work, "vcluster")
  cpSync(join(repository, "charts", "vcluster"), chart, { recursive: true })
  const about = join(chart, "Chart.yaml")
  writeFileSync(about, readFileSync(about, "utf8").replace(/^version: .*$/m, `version: ${version}`))
  const charts = join(await stateDirectory(), folder)
  mkdirSync(charts, { recursive: true, mode: 0o755 })
  await run(join(programs, "helm"), ["package", chart, "--destination", charts])
  rmSync(work, { recursive: true })
  const digest = createHash("sha256").update(readFileSync(join(charts, `vcluster-${version}.tgz`)))
  return [
    `--vcluster-chart=${inPod}/vcluster-${version}.tgz`,
    `--vcluster-chart-digest=sha256:${digest.digest("hex")}`,
  ]
}
const withImage = (args: ReadonlyArray<string>, image: string): ReadonlyArray<string> =>
  args.map((arg) => (arg.startsWith("--vcluster-image=") ? `--vcluster-image=${image}` : arg))

const StatefulSet = Schema.Struct({
  spec: Schema.Struct({
    template: Schema.Struct({
      spec: Schema.Struct({ containers: Schema.Array(Schema.Struct({ image: Schema.String })) }),
    }),
  }),
})
const image = async (): Promise<string> => {
  const { spec } = await getJson(StatefulSet, ["statefulset", "vcluster", "--namespace", host])
  return spec.template.spec.containers[0]?.image ?? ""
}

/** What has to stay as it was: the cluster inside, and what somebody has made in it. */
const insideNow = (): Promise<ReadonlyArray<string>> =>
  inside(key, (context) =>
    Promise.all([
      uidOf("namespace", "kube-system", ...context),
      uidOf("configmap", "kept", "--namespace", "default", ...context),
    ]),
  )

const chartVersion = async (): Promise<string | undefined> => {
  const { pod } = await leader()
  const path = `/api/v1/namespaces/${operatorNamespace}/pods/${pod}:8080/proxy/metrics`
  const line = (await kubectl(["get", "--raw", path]))
    .split("\n")
    .find((each) => each.startsWith("platforminstance_info{") && each.includes(`"${key.namespace}"`))
  return /chart_version="([^"]*)"/.exec(line ?? "")?.[1]
}

const exportsFolder = async (): Promise<string> =>
  join((await instanceState(key.namespace, key.name)).root, "exports")

const Events = Schema.Struct({
  items: Schema.Array(Schema.Struct({ reason: Schema.String, message: Schema.String })),
})
const eventOf = (reason: string): Promise<string> =>
  until(`there is an Event ${reason}`, async () => {
    const { items } = await getJson(Events, ["events", ...inNamespace, `--field-selector=reason=${reason}`])
    return items[0]?.message
  })

describe("an upgrade of the vCluster", { timeout: 1_800_000 }, () => {
  let args: ReadonlyArray<string> = []
  let before: ReadonlyArray<string> = []

  beforeAll(async () => {
    args = await operatorArgs()
    const earlier = (await run(join(repository, "tools/cluster/earlier-vcluster"), [])).trim()
    await restartWith([...withImage(args, earlier), ...(await chartOf("0.36.0"))])
    await leader()
    await createNamespace(key.namespace)
    await apply(manifest(key))
    await untilReady(key)
    assert.strictEqual(await image(), earlier)
    await inside(key, (context) =>
      kubectl(["create", "configmap", "kept", "--namespace", "default", "--from-literal=a=b", ...context]),
    )
    before = await insideNow()
  }, 3_600_000)
  afterAll(async () => {
    await deleteInstance(key)
    await restartWith(args)
    rmSync(join(await stateDirectory(), folder), { recursive: true, force: true })
  }, 3_600_000)

  it("does not come about because the operator has another chart", async () => {
    await restartWith(args)
    await leader()
    await untilReady(key)
    assert.strictEqual(await chartVersion(), "0.36.0")
    assert.deepStrictEqual(await revisions("vcluster", host), ["1 deployed"])
  })

  it("goes from 0.36.0 to 0.36.1, and what is inside stays", async () => {
    // The same state again would be no other copy.
    rmSync(await exportsFolder(), { recursive: true })
    const watched = await tellOf(key)
    await annotateInstance(key, "platform.di-framework.dev/upgrade-vcluster=true")
    assert.match(
      await eventOf("VclusterUpgraded"),
      /from chart 0\.36\.0 to 0\.37\.3, and is the same cluster/,
    )
    await untilReady(key)
    console.log(watched.targetSince(0).join("\n"))
    await watched.end()
    assert.match(await image(), /vcluster-oss:0\.36\.1$/)
    assert.deepStrictEqual(await revisions("vcluster", host), ["1 superseded", "2 deployed"])
    assert.deepStrictEqual(await insideNow(), before)
    assert.lengthOf(readdirSync(await exportsFolder()), 1)
    await untilTrue("its metric has the chart", async () => (await chartVersion()) === "0.37.3")
    assert.strictEqual(conditionOf(await getInstance(key), "TargetReady")?.status, "True")
  })

  it("to one that does not start is rolled back, and what is inside stays", async () => {
    const broken = withImage(args, "docker.io/library/busybox:1.36")
    const shorter = broken.filter((arg) => !arg.startsWith("--install-timeout="))
    const watched = await tellOf(key)
    await restartWith([...shorter, "--install-timeout=3m", ...(await chartOf("0.38.0"))])
    const why = await eventOf("VclusterNotUpgraded")
    assert.match(
      why,
      /keeps chart 0\.37\.3, and does not get 0\.38\.0: .* was not ready again within 3 minutes/,
    )
    await untilTrue("it is rolled back", async () =>
      (await revisions("vcluster", host)).includes("4 deployed"),
    )
    await untilReady(key)
    console.log([why, ...watched.targetSince(0)].join("\n"))
    await watched.end()
    assert.match(await image(), /vcluster-oss:0\.36\.1$/)
    assert.deepStrictEqual(await insideNow(), before)
    assert.strictEqual(await chartVersion(), "0.37.3")
  })
})

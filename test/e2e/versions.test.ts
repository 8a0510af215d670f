// Versions as a user changes them: an upgrade, one that never finishes and is given up for another, and those that
// cannot be installed, which leave the platform that is there running.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { startChild } from "./support/Child.ts"
import { full } from "./support/Cluster.ts"
import { inside } from "./support/Inside.ts"
import {
  conditionOf,
  deleteInstance,
  editInstance,
  getInstance,
  type Key,
  SeenInstance,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, getJson, kubectlPath } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { operatorLog } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { until, untilTrue } from "./support/Until.ts"
import { watch } from "./support/Watch.ts"

holdOperator("shared")
leavesNothing("versions")

const namespace = "versions"
const key: Key = { namespace, name: "one" }

const create = ({ name }: Key, version: string): Promise<string> =>
  apply({
    apiVersion: "platform.di-framework.dev/v1alpha1",
    kind: "PlatformInstance",
    metadata: { namespace, name },
    spec: { version, target: { type: "vcluster" }, platform: { tenants: [{ name: "acme" }] } },
  })

const versionPath = ["configmap", "di-platform-version", "--namespace", "wasmcloud"]
const Version = Schema.Struct({ data: Schema.Struct({ version: Schema.String }) })
/** The version whose program was the last to begin in the target. */
const begunInside = async (context: ReadonlyArray<string>): Promise<string> =>
  (await getJson(Version, [...context, ...versionPath])).data.version

const Objects = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      kind: Schema.String,
      metadata: Schema.Struct({ name: Schema.String, uid: Schema.String }),
      status: Schema.optionalKey(Schema.Struct({ readyReplicas: Schema.optionalKey(Schema.Finite) })),
    }),
  ),
})
const platformKinds =
  "namespaces,crds,deployments.apps,services,tenants.platform.di-framework.dev,validatingadmissionpolicies"
/** What the platform consists of, each with its UID: what was deleted and made again is another one. */
const objectsInside = async (context: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const { items } = await getJson(Objects, [...context, platformKinds, "--all-namespaces"])
  return items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`).sort()
}
/** A pod of a Deployment that was changed may still be starting when the install has ended. */
const untilDeploymentsRun = (context: ReadonlyArray<string>): Promise<boolean> =>
  until("controller and hosts run", async () => {
    const { items } = await getJson(Objects, [...context, "deployments", "--namespace", "wasmcloud"])
    assert.sameMembers(
      items.filter(({ status }) => status?.readyReplicas === 1).map(({ metadata }) => metadata.name),
      ["di-platform-controller", "wasmcloud-hosts"],
    )
    return true
  })

/** Waits until the install of the newest generation has failed. */
const untilFailed = (which: Key): Promise<SeenInstance> =>
  until(`${which.name} has failed`, async () => {
    const instance = await getInstance(which)
    const { generation } = instance.metadata
    return instance.status?.phase === "Failed" && instance.status.observedGeneration === generation
      ? instance
      : undefined
  })

describe("the version of an instance", () => {
  beforeAll(async () => {
    await createNamespace(namespace)
    await create(key, "6.0.21")
  })
  afterAll(() => deleteInstance(key))

  it("is shown beside the one installed while an upgrade runs", async () => {
    const first = await untilReady(key)
    assert.strictEqual(first.status?.installedVersion, "6.0.21")
    assert.strictEqual(await inside(key, begunInside), "6.0.21")

    const rows: Array<string> = []
    const table = startChild(kubectlPath, [
      ...["get", "pi", key.name, "--namespace", namespace],
      ...["--watch", "--no-headers"],
    ])
    table.lines((line) => rows.push(line.trim().split(/\s+/).slice(1, 4).join(" ")))
    await untilTrue("the table is there", () => rows.length > 0)
    await editInstance(key, { version: "6.0.22" })
    const upgraded = await untilReady(key)
    await untilTrue("the table tells of it", () => rows.at(-1) === "6.0.22 6.0.22 Ready")
    await table.end()

    assert.deepStrictEqual(
      rows.filter((row, index) => row !== rows[index - 1]),
      ["6.0.21 6.0.21 Ready", "6.0.22 6.0.21 Ready", "6.0.22 6.0.21 Installing", "6.0.22 6.0.22 Ready"],
    )
    assert.include(conditionOf(upgraded, "Installed"), { status: "True", reason: "VersionChanged" })
    await inside(key, async (context) => {
      assert.strictEqual(await begunInside(context), "6.0.22")
      await untilDeploymentsRun(context)
    })
  })

  it("can be set back while an upgrade never finishes, which is no failure", async () => {
    const before = await inside(key, objectsInside)
    const seen = watch(
      SeenInstance,
      `/apis/platform.di-framework.dev/v1alpha1/namespaces/${namespace}/platforminstances?fieldSelector=metadata.name=${key.name}`,
    )
    await editInstance(key, { version: "6.0.91" })
    await inside(key, (context) =>
      untilTrue("6.0.91 has begun", async () => (await begunInside(context)) === "6.0.91"),
    )
    const patched = Date.now()
    await editInstance(key, { version: "6.0.22" })
    const ready = await untilReady(key)
    console.log(`from the edit to Ready: ${((Date.now() - patched) / 1000).toFixed(1)} s`)
    await seen.end()

    assert.strictEqual(ready.status?.installedVersion, "6.0.22")
    assert.include(conditionOf(ready, "Installed"), { status: "True" })
    assert.match(await operatorLog(), /"cancelling operation".*"instance":"versions\/one"/)
    assert.isEmpty(seen.seen.filter(({ object }) => conditionOf(object, "Installed")?.status === "False"))
    await inside(key, async (context) => {
      assert.strictEqual(await begunInside(context), "6.0.22")
      assert.deepStrictEqual(await objectsInside(context), before)
    })
  })

  if (full)
    it("may be one that does not exist: it is named, and the platform keeps running", async () => {
      const before = await inside(key, objectsInside)
      await editInstance(key, { version: "6.0.99" })
      const failed = await untilFailed(key)
      const installed = conditionOf(failed, "Installed")
      assert.include(installed, { status: "False", reason: "InstallFailed" })
      assert.include(installed?.message, "6.0.99")
      assert.strictEqual(failed.status?.installedVersion, "6.0.22")
      await inside(key, async (context) => {
        assert.deepStrictEqual(await objectsInside(context), before)
        await untilDeploymentsRun(context)
      })
      const patched = Date.now()
      await editInstance(key, { version: "6.0.22" })
      await untilReady(key)
      console.log(`from the correction to Ready: ${((Date.now() - patched) / 1000).toFixed(1)} s`)
    })

  if (full)
    it("may be one whose program throws: its words are told, and nothing is deleted", async () => {
      const before = await inside(key, objectsInside)
      await editInstance(key, { version: "6.0.90" })
      const failed = await untilFailed(key)
      const installed = conditionOf(failed, "Installed")
      assert.include(installed, { status: "False", reason: "InstallFailed" })
      assert.include(installed?.message, "the stand-in throws with a part of the platform registered")
      await inside(key, async (context) => {
        assert.strictEqual(await begunInside(context), "6.0.90")
        assert.deepStrictEqual(await objectsInside(context), before)
      })
      await editInstance(key, { version: "6.0.22" })
      await untilReady(key)
      assert.strictEqual(await inside(key, begunInside), "6.0.22")
    })

  if (full)
    it("needs a tenant host image of its own when it approves none", async () => {
      await deleteInstance(key)
      const old: Key = { namespace, name: "old" }
      await create(old, "6.0.19")
      try {
        const failed = await untilFailed(old)
        for (const type of ["Installed", "ConfigApplied", "Ready"]) {
          assert.include(conditionOf(failed, type), { status: "False", reason: "TenantHostImageUnsupported" })
        }
        await editInstance(old, { platform: { tenantHostImage: "ghcr.io/di-framework/wash:2.7.0" } })
        const ready = await untilReady(old)
        assert.strictEqual(ready.status?.installedVersion, "6.0.19")
      } finally {
        await deleteInstance(old)
      }
    })
})

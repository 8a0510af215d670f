// A package that is after more than its own (6.0.92 of the stand-in), in the operator's pod beside another instance.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { operatorNamespace } from "./support/Cluster.ts"
import { inside } from "./support/Inside.ts"
import { conditionOf, deleteInstance, editInstance, manifest, untilReady } from "./support/Instance.ts"
import { apply, createNamespace, getJson, kubectl } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { instanceState, leader, operatorLog, stateDirectory } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { until } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("sandbox")

const namespace = "sandbox"
const neighbour = { namespace, name: "neighbour" }
const hostile = { namespace, name: "hostile" }

const hostileManifest = {
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: hostile,
  spec: { version: "6.0.92", target: { type: "vcluster" }, platform: { tenants: [{ name: "acme" }] } },
}

const Outcomes = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))
const Attempts = Schema.Struct({
  data: Schema.Struct({ refused: Outcomes, signal: Schema.String, had: Outcomes }),
})
const decodeBuilds = Schema.decodeSync(
  Schema.fromJsonString(Schema.Struct({ approvedHostBuilds: Schema.Array(Schema.String) })),
)

describe("a hostile package", () => {
  beforeAll(async () => {
    await createNamespace(namespace)
    await Promise.all([apply(manifest(neighbour)), apply(hostileManifest)])
    await Promise.all([untilReady(neighbour), untilReady(hostile)])
  })
  afterAll(() => Promise.all([deleteInstance(hostile), deleteInstance(neighbour)]))

  it("is refused all that is not its own while it is installed, and its neighbour is untouched", async () => {
    // Once more, now that the neighbour has a record and a state.
    const { metadata } = await untilReady(hostile)
    await editInstance(hostile, { platform: { tenants: [{ name: "acme" }, { name: "globex" }] } })
    const again = await untilReady(hostile)
    assert.isAbove(again.metadata.generation, metadata.generation)
    const record = readFileSync((await instanceState(namespace, neighbour.name)).record, "utf8")
    const { refused, signal, had } = await inside(hostile, async (context) => {
      const attempts = await getJson(Attempts, [
        ...context,
        ...["configmap", "di-platform-attempts", "--namespace", "wasmcloud"],
      ])
      return attempts.data
    })
    // There is no npmrc in the tests, and the neighbour has a kubeconfig in the pod only while it is worked at.
    const { npmrc, "kubeconfig-of-a-neighbour": kubeconfig, "write-plugins": plugins, ...others } = refused
    // They lie in the image, whose file system nobody writes to.
    assert.strictEqual(plugins, "EROFS")
    assert.include(["EACCES", "absent"], kubeconfig)
    assert.strictEqual(npmrc, "absent")
    assert.isAbove(Object.keys(others).length, 20)
    assert.deepStrictEqual(
      others,
      Object.fromEntries(Object.keys(others).map((attempt) => [attempt, "EACCES"])),
    )
    assert.strictEqual(signal, "EPERM")
    assert.deepStrictEqual(new Set(Object.values(had)), new Set(["done"]))
    const ready = await untilReady(neighbour)
    assert.strictEqual(conditionOf(ready, "Installed")?.status, "True")
    assert.include(record, "kubeSystemUID")
  })

  it("is refused it when it is loaded after its fetch", async () => {
    const packages = join(await stateDirectory(), "packages")
    const folder = readdirSync(packages).find((name) => /^6\.0\.92-[0-9a-f]+$/.test(name)) ?? "missing"
    const builds = decodeBuilds(readFileSync(join(packages, folder, "store.json"), "utf8")).approvedHostBuilds
    assert.deepStrictEqual(builds.slice(1), [
      "token EACCES",
      "environment-of-the-operator EACCES",
      "other-packages EACCES",
      "write-package EACCES",
      "write-tmp EACCES",
    ])
  })

  it("runs in a sandbox, by the operator's log and by its metric", async () => {
    assert.match(await operatorLog(), /"programs of packages run in a sandbox".*"landlockAbi":[1-9]/)
    const { pod } = await leader()
    const path = `/api/v1/namespaces/${operatorNamespace}/pods/${pod}:8080/proxy/metrics`
    const metrics = await until("its metrics answer", () =>
      kubectl(["get", "--raw", path]).catch(() => undefined),
    )
    assert.match(metrics, /^platform_operator_sandbox_active 1$/m)
  })
})

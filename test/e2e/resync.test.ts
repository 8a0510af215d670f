// The loss of the Service that owns everything vCluster has synced: the garbage collector takes all of it, and with it
// what only the platform's Helm release made inside. The operator brings the instance back by itself.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { operatorNamespace } from "./support/Cluster.ts"
import { inside, readKubeconfig } from "./support/Inside.ts"
import { findHostNamespace, type Key, manifest, revisions, untilReady } from "./support/Instance.ts"
import { apply, createNamespace, getJson, kubectl } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { containersOf, podsOf } from "./support/Pods.ts"
import { until, untilTrue } from "./support/Until.ts"
import { type Watch, watch } from "./support/Watch.ts"

holdOperator("shared")
leavesNothing("resync")

const key: Key = { namespace: "resync", name: "one" }
const operator = `system:serviceaccount:${operatorNamespace}:platform-operator`

const Instance = Schema.Struct({
  status: Schema.optionalKey(
    Schema.Struct({
      phase: Schema.optionalKey(Schema.String),
      target: Schema.optionalKey(
        Schema.Struct({
          serviceUID: Schema.optionalKey(Schema.String),
          resyncServiceUID: Schema.optionalKey(Schema.String),
          resyncStarted: Schema.optionalKey(Schema.String),
        }),
      ),
      conditions: Schema.optionalKey(
        Schema.Array(Schema.Struct({ type: Schema.String, status: Schema.String, reason: Schema.String })),
      ),
    }),
  ),
})
type Instance = typeof Instance.Type
const conditionOf = ({ status }: Instance, type: string) =>
  status?.conditions?.find((condition) => condition.type === type)
const isReady = (instance: Instance): boolean => conditionOf(instance, "Ready")?.status === "True"
const isResynced = (instance: Instance): boolean => conditionOf(instance, "Installed")?.reason === "Resync"

const Identified = Schema.Struct({ metadata: Schema.Struct({ name: Schema.String, uid: Schema.String }) })
const uidOf = async (...args: ReadonlyArray<string>): Promise<string> =>
  (await getJson(Identified, args)).metadata.uid

const Token = Schema.Struct({ data: Schema.Struct({ token: Schema.String }) })
const Notes = Schema.Struct({ items: Schema.Array(Schema.Struct({ message: Schema.String })) })

/** What is inside before and after: a Secret of the chart, a pod that reads it, a tenant. */
const lookInside = (): Promise<{
  readonly token: string
  readonly tenant: string
  readonly hosts: ReadonlyArray<string>
  readonly records: ReadonlyArray<string>
}> =>
  inside(key, async (context) => {
    const platform = [...context, "--namespace", "wasmcloud"]
    const pods = await podsOf(...platform, "--selector=app=wasmcloud")
    const running = pods.filter((pod) => containersOf(pod)[0]?.ready === true)
    return {
      token: (await getJson(Token, [...platform, "secret", "wasmcloud-hosts"])).data.token,
      tenant: await uidOf(...context, "namespace", "di-tenant-acme"),
      hosts: running.map(({ metadata }) => metadata.uid),
      records: await revisions("wasmcloud", "wasmcloud", ...context),
    }
  })

// An install and a resync, each of them a minute and more on a busy machine.
describe("the owner Service of an instance", () => {
  let host = ""
  let instances: Watch<Instance>
  let controlPlanes: Watch<typeof Identified.Type>
  let before: Awaited<ReturnType<typeof lookInside>>
  let service = ""

  beforeAll(async () => {
    await createNamespace(key.namespace)
    await apply(manifest(key))
    await untilReady(key)
    host = await until("the host namespace", () => findHostNamespace(key))
    before = await lookInside()
    service = await uidOf("service", "vcluster", "--namespace", host)
    instances = watch(
      Instance,
      `/apis/platform.di-framework.dev/v1alpha1/namespaces/${key.namespace}/platforminstances?fieldSelector=metadata.name=one`,
    )
    controlPlanes = watch(
      Identified,
      `/api/v1/namespaces/${host}/pods?fieldSelector=metadata.name=vcluster-0`,
    )
    await untilTrue(
      "both watches have begun",
      () => instances.seen.length > 0 && controlPlanes.seen.length > 0,
    )
  })
  afterAll(async () => {
    await Promise.all([instances.end(), controlPlanes.end()])
    await kubectl([
      ...["delete", "pi", key.name, "--namespace", key.namespace],
      ...["--ignore-not-found", "--timeout=300s"],
    ])
  })

  it("is not to be deleted by whoever may delete everything else", async () => {
    const answer = await kubectl(["delete", "service", "vcluster", "--namespace", host]).then(
      () => "it was deleted",
      (error: unknown) => String(error),
    )
    assert.match(answer, /ValidatingAdmissionPolicy 'platform-operator-protect-vcluster-service'/)
    assert.strictEqual(await uidOf("service", "vcluster", "--namespace", host), service)
  })

  it("lost all the same, is put back, and the platform installed again at once", async () => {
    const secret = await uidOf("secret", "vc-vcluster", "--namespace", host)
    const lost = Date.now()
    await kubectl([`--as=${operator}`, "delete", "service", "vcluster", "--namespace", host])

    const since = () => instances.seen.filter(({ at }) => at >= lost).map(({ object }) => object)
    await untilTrue("it is Ready after a resync", () => {
      const newest = since().at(-1)
      return newest !== undefined && isReady(newest) && isResynced(newest)
    })
    console.log(`from the loss to Ready: ${((Date.now() - lost) / 1000).toFixed(1)} s`)

    const told = since()
    const away = told.slice(told.findIndex((instance) => !isReady(instance)))
    // Never Ready in between, and nothing on the way was a failure.
    assert.isEmpty(away.filter((instance) => isReady(instance) && !isResynced(instance)))
    assert.notInclude(
      told.map(({ status }) => status?.phase),
      "Failed",
    )
    const replaced = await uidOf("service", "vcluster", "--namespace", host)
    assert.notStrictEqual(replaced, service)
    assert.isTrue(away.some(({ status }) => status?.target?.resyncServiceUID === replaced))
    assert.strictEqual(told.at(-1)?.status?.target?.serviceUID, replaced)
    assert.isUndefined(told.at(-1)?.status?.target?.resyncServiceUID)
    assert.isUndefined(told.at(-1)?.status?.target?.resyncStarted)
    assert.notStrictEqual(await uidOf("secret", "vc-vcluster", "--namespace", host), secret)
  })

  it("costs one restart of the control plane", () => {
    const uids = new Set(controlPlanes.seen.map(({ object }) => object.metadata.uid))
    assert.strictEqual(uids.size, 2)
  })

  it("leaves nothing missing that the platform's chart had rendered, and the pod that needs it runs", async () => {
    const after = await until("the pod runs", async () => {
      const now = await lookInside()
      return now.hosts.length === 1 ? now : undefined
    })
    assert.strictEqual(after.token, before.token)
    assert.notDeepEqual(after.hosts, before.hosts)
    assert.strictEqual(after.tenant, before.tenant)
    assert.deepStrictEqual(before.records, ["1 deployed"])
    assert.deepStrictEqual(after.records, ["1 superseded", "2 deployed"])
    const { items } = await getJson(Notes, [
      ...["events", "--namespace", key.namespace],
      "--field-selector=involvedObject.name=one,reason=Repaired",
    ])
    assert.lengthOf(items, 1)
    assert.match(
      items[0]?.message ?? "",
      /^set right inside the instance: .*Secret wasmcloud\/wasmcloud-hosts \(missing\)/,
    )
  })

  it("has the address it had, in a kubeconfig that works", async () => {
    assert.include(await readKubeconfig(key), `https://vcluster.${host}.svc:443`)
    await inside(key, (context) => kubectl([...context, "get", "namespaces"]))
  })
})

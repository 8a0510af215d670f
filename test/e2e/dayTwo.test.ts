// What people ask of an instance by annotations.
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  ANNOTATION_APPROVE,
  ANNOTATION_APPROVED,
  ANNOTATION_DAY_TWO,
  ANNOTATION_PAUSED,
  ANNOTATION_WINDOW,
  PLAN_KEY,
} from "../../src/schema/Names.ts"
import { approvalOf, PlansText } from "../../src/schema/Plan.ts"
import { full } from "./support/Cluster.ts"
import {
  annotateInstance,
  conditionOf,
  deleteInstance,
  editInstance,
  findHostNamespace,
  getInstance,
  type Key,
  manifest,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("day-two")

const key: Key = { namespace: "day-two", name: "one" }
const inNamespace = ["--namespace", key.namespace]
const annotate = (text: string) => annotateInstance(key, text)
const ready = async () => conditionOf(await getInstance(key), "Ready")

const Events = Schema.Struct({
  items: Schema.Array(Schema.Struct({ reason: Schema.String, message: Schema.String })),
})

const ConfigMaps = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({ data: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)) }),
  ),
})

const eventOf = (reason: string) =>
  until(`the Event ${reason}`, async () => {
    const uid = (await getInstance(key)).metadata.uid
    const selector = `--field-selector=involvedObject.uid=${uid},reason=${reason}`
    return (await getJson(Events, ["events", ...inNamespace, selector])).items.at(0)
  })

describe("a paused instance", () => {
  let host = ""
  const hasSecret = () => exists("secret", "one-kubeconfig", ...inNamespace)
  const hasPolicy = () => exists("networkpolicy", "platform-operator-control-plane", "--namespace", host)

  beforeAll(async () => {
    await createNamespace(key.namespace)
    await apply(manifest(key))
    await untilReady(key)
    host = (await findHostNamespace(key)) ?? assert.fail("it has a host namespace")
  })

  it("is left as it is, and its next spec with it", async () => {
    await annotate(`${ANNOTATION_PAUSED}=true`)
    await untilTrue(
      "it is paused",
      async () => (await ready())?.message?.startsWith("paused since ") === true,
    )
    await eventOf("Paused")
    await kubectl(["delete", "networkpolicy", "platform-operator-control-plane", "--namespace", host])
    await editInstance(key, { platform: { tenants: [{ name: "acme" }] } })
    await kubectl(["delete", "secret", "one-kubeconfig", ...inNamespace])
    // The operator has looked at it since.
    await untilTrue(
      "the status names no Secret",
      async () => (await getInstance(key)).status?.kubeconfigSecretRef === undefined,
    )
    // A wrong value ends nothing.
    await annotate(`${ANNOTATION_PAUSED}=no`)
    assert.include((await eventOf("AnnotationInvalid")).message, '"true" still counts')
    assert.deepStrictEqual([await hasSecret(), await hasPolicy()], [false, false])
    const { status, metadata } = await getInstance(key)
    assert.isBelow(status?.observedGeneration ?? 0, metadata.generation)
    assert.strictEqual(status?.phase, "Ready")
  })

  it("is set right when the pause ends, and gets its spec", async () => {
    await annotate(`${ANNOTATION_PAUSED}-`)
    await untilReady(key)
    assert.match((await eventOf("Resumed")).message, /^no longer paused, after /)
    assert.deepStrictEqual([await hasSecret(), await hasPolicy()], [true, true])
    assert.strictEqual((await ready())?.message, "version 6.0.22 is ready")
  })

  it("whose changes have to be approved tells what they do, and waits", async () => {
    await annotate(`${ANNOTATION_APPROVE}=required`)
    const users = [{ name: "dev", memberships: [{ tenant: "beta", role: "developer" }] }]
    await editInstance(key, { platform: { tenants: [{ name: "beta" }], users } })
    const { generation } = (await getInstance(key)).metadata
    const selector = `--field-selector=metadata.name=${key.name}-history`
    const plan = await until("there is a plan", async () => {
      const { items } = await getJson(ConfigMaps, ["configmaps", ...inNamespace, selector])
      const text = items[0]?.data?.[PLAN_KEY]
      const made = text === undefined ? undefined : Schema.decodeSync(PlansText)(text).spec
      return made?.generation === generation && made.unreadable === undefined ? made : undefined
    })
    assert.deepStrictEqual(plan.create, { Namespace: 2, Tenant: 1 })
    // Whoever takes a tenant out of the spec wants it gone.
    assert.deepStrictEqual(
      [plan.deleted.toSorted(), plan.data],
      [["Namespace di-runtime-acme", "Namespace di-tenant-acme", "Tenant acme"], []],
    )
    assert.include((await eventOf("Planned")).message, "delete 3 (Namespace 2, Tenant 1)")
    await eventOf("ApprovalPending")
    const { status } = await getInstance(key)
    assert.isBelow(status?.observedGeneration ?? 0, generation)
    await untilTrue("its plan is told", async () =>
      /^generation \d+ waits for approval, .*create 3 /.test((await ready())?.message ?? ""),
    )
    await annotate(`${ANNOTATION_APPROVED}=${approvalOf(plan)}`)
    await untilReady(key)
    assert.strictEqual((await ready())?.message, "version 6.0.22 is ready")
    await annotate(`${ANNOTATION_APPROVE}-`)
  })

  it.runIf(full)("with a maintenance window is upgraded when it opens", async () => {
    // Half a day away by the clock of UTC, and open for a minute.
    const hour = (new Date().getUTCHours() + 12) % 24
    const closed = `${String(hour).padStart(2, "0")}:00-${String(hour).padStart(2, "0")}:01 UTC`
    await annotate(`${ANNOTATION_WINDOW}=${closed}`)
    await untilTrue("the operator has seen it", async () => {
      const { metadata } = await getInstance(key)
      return metadata.annotations?.[ANNOTATION_DAY_TWO]?.includes(closed) === true
    })
    await editInstance(key, { version: "6.0.21" })
    await untilTrue(
      "it waits",
      async () =>
        (await ready())?.message?.startsWith("version 6.0.21 waits for the maintenance window") === true,
    )
    assert.strictEqual((await getInstance(key)).status?.installedVersion, "6.0.22")
    await annotate(`${ANNOTATION_WINDOW}=00:00-24:00 UTC`)
    await untilReady(key)
    assert.strictEqual((await getInstance(key)).status?.installedVersion, "6.0.21")
  })

  it("is deleted all the same", async () => {
    await annotate(`${ANNOTATION_PAUSED}=true`)
    await untilTrue(
      "it is paused",
      async () => (await ready())?.message?.startsWith("paused since ") === true,
    )
    await deleteInstance(key)
    assert.isUndefined(await findHostNamespace(key))
  })
})

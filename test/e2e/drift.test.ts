// Repairs that look and do nothing: what somebody deletes inside is told and left, and put back once repairs repair again.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ANNOTATION_DRIFT, PLAN_KEY } from "../../src/schema/Names.ts"
import { objectsOf, type Plan, PlansText } from "../../src/schema/Plan.ts"
import { installChart, rollBackChart } from "./support/Chart.ts"
import { inside } from "./support/Inside.ts"
import {
  annotateInstance,
  deleteInstance,
  getInstance,
  type Key,
  manifest,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { instanceState, leader, readRecord } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("exclusive")
leavesNothing("drift")

const key: Key = { namespace: "drift", name: "one" }
const inNamespace = ["--namespace", key.namespace]
const annotate = (text: string) => annotateInstance(key, text)

const Events = Schema.Struct({
  items: Schema.Array(Schema.Struct({ reason: Schema.String, message: Schema.String })),
})
/** Those of the instance with this reason: their words. */
const eventsOf = async (reason: string): Promise<ReadonlyArray<string>> => {
  const { uid } = (await getInstance(key)).metadata
  const selector = `--field-selector=involvedObject.uid=${uid},reason=${reason}`
  return (await getJson(Events, ["events", ...inNamespace, selector])).items.map(({ message }) => message)
}

const ConfigMaps = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({ data: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)) }),
  ),
})
const reportNow = async (): Promise<Plan | undefined> => {
  const selector = `--field-selector=metadata.name=${key.name}-history`
  const { items } = await getJson(ConfigMaps, ["configmaps", ...inNamespace, selector])
  const text = items[0]?.data?.[PLAN_KEY]
  return text === undefined ? undefined : Schema.decodeSync(PlansText)(text).drift
}
/** Another one than that which was made then. */
const nextReport = (madeAt?: string): Promise<Plan> =>
  until("it is looked at", async () => {
    const report = await reportNow()
    return report?.madeAt === madeAt ? undefined : report
  })

/** What is deleted: an object of the program, and one of a Helm release that the program has made. */
const deleted = [
  ["configmap", "di-platform-version"],
  ["deployment", "wasmcloud-hosts"],
] as const
const inPlatform = ["--namespace", "wasmcloud"]
const present = (): Promise<ReadonlyArray<boolean>> =>
  inside(key, (context) =>
    Promise.all(deleted.map(([kind, name]) => exists(kind, name, ...inPlatform, ...context))),
  )

const finishedAt = async (): Promise<string> =>
  readRecord(await instanceState(key.namespace, key.name)).installed.finishedAt

// Each look is a preview of the whole platform, which takes minutes on a busy machine.
describe("an instance whose repairs look and do nothing", { timeout: 1_800_000 }, () => {
  let report: Plan | undefined
  let installed = ""

  beforeAll(async () => {
    await createNamespace(key.namespace)
    await installChart("--set", "repairInterval=2m")
    await leader()
    await apply(manifest(key))
    await untilReady(key)
  }, 3_600_000)
  afterAll(async () => {
    await deleteInstance(key)
    await rollBackChart()
  }, 3_600_000)

  it("differs in nothing as it was installed", async () => {
    await annotate(`${ANNOTATION_DRIFT}=detect`)
    report = await nextReport()
    assert.deepStrictEqual([objectsOf(report), await eventsOf("DriftFound")], [0, []], JSON.stringify(report))
    installed = await finishedAt()
  })

  it("tells once what was deleted, and leaves it so over looks", async () => {
    const { lastRepair } = (await getInstance(key)).status ?? {}
    await inside(key, async (context) => {
      for (const [kind, name] of deleted) await kubectl([...context, "delete", kind, name, ...inPlatform])
    })
    const [note = ""] = await until("it is told", async () => {
      const notes = await eventsOf("DriftFound")
      return notes.some((each) => each.includes("ConfigMap") && each.includes("wasmcloud-hosts"))
        ? notes
        : undefined
    })
    assert.match(note, / inside the instance; a repair would: /)
    report = (await reportNow()) ?? assert.fail("there is a report")
    assert.strictEqual(report.create.ConfigMap, 1)
    assert.include(report.restored, "Deployment wasmcloud/wasmcloud-hosts (missing)")
    report = await nextReport(report.madeAt)
    assert.strictEqual(report.create.ConfigMap, 1)
    assert.deepStrictEqual(await present(), [false, false])
    // No install and no repair has ended meanwhile, and the instance says that it is well.
    const { status } = await getInstance(key)
    assert.deepStrictEqual([status?.phase, status?.lastRepair], ["Ready", lastRepair])
    assert.strictEqual(await finishedAt(), installed)
    assert.deepStrictEqual(await eventsOf("Repaired"), [])
  })

  it("is set right when repairs repair again", async () => {
    await annotate(`${ANNOTATION_DRIFT}-`)
    await untilTrue("a repair has ended", async () => (await finishedAt()) !== installed)
    assert.deepStrictEqual(await present(), [true, true])
    await untilTrue("it is told", async () =>
      (await eventsOf("Repaired")).some((each) => each.includes("wasmcloud-hosts")),
    )
    assert.isTrue((await reportNow())?.outdated)
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Duration, Option } from "effect"
import { emptyMemory } from "../../../../src/actors/instance/Memory.ts"
import { repairDue } from "../../../../src/actors/instance/metrics/InstanceMetrics.ts"
import { instanceValues } from "../../../../src/actors/instance/metrics/instanceValues.ts"
import type { DayTwoMemo } from "../../../../src/schema/DayTwo.ts"
import { ANNOTATION_DRIFT, ANNOTATION_WINDOW } from "../../../../src/schema/Names.ts"
import { noPlans, type Plan, planOf } from "../../../../src/schema/Plan.ts"
import type { InstanceRecord } from "../../../../src/services/StateStore/StateStore.ts"
import { noon, record } from "../../support/facts.ts"
import { storedAs } from "../../support/instances.ts"

const object = storedAs(record.uid)
const agreed: InstanceRecord = {
  ...record,
  agreed: { uid: record.uid, generation: 1, spec: { version: "6.0.22", target: { type: "vcluster" } } },
}
const valuesOf = (of: InstanceRecord, memo: Omit<DayTwoMemo, "uid">, drift?: Plan) => {
  const memory = emptyMemory(record.uid, {}, Option.some(of), Option.none())
  memory.dayTwo = Option.some({ uid: record.uid, ...memo })
  memory.plans = Option.some({ ...noPlans(record.uid), ...(drift === undefined ? {} : { drift }) })
  return instanceValues(object, memory)
}
const dueOf = (...given: Parameters<typeof valuesOf>) => repairDue(valuesOf(...given), Duration.minutes(30))

describe("a repair is due", () => {
  const due = Date.parse(noon) + 30 * 60_000

  it("an interval after the last one, also while a change waits", () => {
    assert.strictEqual(dueOf(record, {}), due)
    assert.strictEqual(dueOf(agreed, { awaits: 2 }), due)
  })

  it("never where it waits with the change: nobody knows what was agreed on", () => {
    assert.isUndefined(dueOf(record, { awaits: 2 }))
    assert.isUndefined(dueOf({ ...agreed, agreed: { uid: "other", generation: 1, spec: {} } }, { awaits: 2 }))
  })

  it("never while it is paused", () => {
    assert.isUndefined(dueOf(agreed, { pausedSince: noon }))
  })
})

describe("where repairs look and do nothing", () => {
  const detects = { kept: { [ANNOTATION_DRIFT]: "detect", [ANNOTATION_WINDOW]: "Sat 02:00-04:00" } }
  const report = (madeAt: string): Plan =>
    planOf(
      { uid: record.uid, version: "6.0.22", generation: 1, madeAt, after: noon },
      {
        basis: { package: "", config: "", state: "" },
        steps: [{ deed: "create", type: "kubernetes:core/v1:ConfigMap", name: "settings" }],
        drifted: ["Deployment wasmcloud/hosts (missing)"],
      },
      [],
    )
  const later = "2026-11-03T13:00:00Z"
  const millis = (from: string) => Date.parse(from) + 30 * 60_000

  it("a look is due, an interval after the last one or the last repair, whatever the window", () => {
    assert.strictEqual(dueOf(record, detects), millis(noon))
    assert.strictEqual(dueOf(record, detects, report(later)), millis(later))
    assert.strictEqual(dueOf(record, detects, report("2026-11-03T11:00:00Z")), millis(noon))
    assert.strictEqual(dueOf(record, {}, report(later)), millis(noon))
  })

  it("so many objects differ as the last look has found, until an install begins", () => {
    assert.strictEqual(valuesOf(record, detects, report(later)).drifted, 2)
    assert.isUndefined(valuesOf(record, detects).drifted)
    assert.isUndefined(valuesOf(record, {}, report(later)).drifted)
    assert.isUndefined(valuesOf(record, detects, { ...report(later), outdated: true }).drifted)
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Duration, Option } from "effect"
import { emptyMemory } from "../../../../src/actors/instance/Memory.ts"
import { repairDue } from "../../../../src/actors/instance/metrics/InstanceMetrics.ts"
import { instanceValues } from "../../../../src/actors/instance/metrics/instanceValues.ts"
import type { DayTwoMemo } from "../../../../src/schema/DayTwo.ts"
import type { InstanceRecord } from "../../../../src/services/StateStore/StateStore.ts"
import { noon, record } from "../../support/facts.ts"
import { storedAs } from "../../support/instances.ts"

const object = storedAs(record.uid)
const agreed: InstanceRecord = {
  ...record,
  agreed: { uid: record.uid, generation: 1, spec: { version: "6.0.22", target: { type: "vcluster" } } },
}
const dueOf = (of: InstanceRecord, memo: Omit<DayTwoMemo, "uid">) => {
  const memory = emptyMemory(record.uid, {}, Option.some(of), Option.none())
  memory.dayTwo = Option.some({ uid: record.uid, ...memo })
  return repairDue(instanceValues(object, memory), Duration.minutes(30))
}

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

import { assert, describe, it } from "@effect/vitest"
import {
  type Condition,
  type ConditionUpdate,
  conditionTypes,
  findCondition,
  isTrue,
  reasons,
  setCondition,
} from "../../src/schema/Conditions.ts"

const noon = "2026-11-03T12:00:00Z"
const later = "2026-11-03T13:00:00Z"

const pending: ConditionUpdate = {
  type: "Ready",
  status: "False",
  reason: "TargetPending",
  message: "waiting",
  observedGeneration: 1,
}
const ready: ConditionUpdate = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "the instance is ready",
  observedGeneration: 1,
}

describe("setCondition", () => {
  it("adds a condition with the time it was first seen", () => {
    assert.deepStrictEqual(setCondition([], pending, noon), [{ ...pending, lastTransitionTime: noon }])
  })

  it("moves lastTransitionTime with the status", () => {
    const conditions = setCondition(setCondition([], pending, noon), ready, later)
    assert.deepStrictEqual(conditions, [{ ...ready, lastTransitionTime: later }])
  })

  it("keeps lastTransitionTime when only reason, message or generation change", () => {
    const conditions = setCondition([], pending, noon)
    const next: ConditionUpdate = {
      type: "Ready",
      status: "False",
      reason: "Installing",
      message: "installing 6.0.22",
      observedGeneration: 2,
    }
    assert.deepStrictEqual(setCondition(conditions, next, later), [{ ...next, lastTransitionTime: noon }])
  })

  it("returns the very same conditions when nothing changes", () => {
    const conditions = setCondition([], pending, noon)
    assert.strictEqual(setCondition(conditions, pending, later), conditions)
  })

  it("returns the very same conditions when a message is cut to the same text", () => {
    const long = { ...pending, message: "word ".repeat(300) }
    const conditions = setCondition([], long, noon)
    assert.strictEqual(setCondition(conditions, long, later), conditions)
  })

  it("leaves other conditions and their order alone, foreign ones too", () => {
    const foreign: Condition = {
      type: "example.com/Audited",
      status: "Unknown",
      reason: "Never",
      message: "",
      lastTransitionTime: noon,
    }
    const conditions = setCondition(setCondition([foreign], pending, noon), ready, later)
    assert.deepStrictEqual(conditions, [foreign, { ...ready, lastTransitionTime: later }])
  })

  it("cuts a message at a word, to 1,024 characters", () => {
    const [condition] = setCondition([], { ...pending, message: "word ".repeat(300) }, noon)
    assert.isAtMost(condition?.message.length ?? 0, 1024)
    assert.isTrue(condition?.message.endsWith("word…"))
  })
})

describe("reading conditions", () => {
  const conditions = setCondition([], ready, noon)

  it("finds a condition, or nothing", () => {
    assert.strictEqual(findCondition(conditions, "Ready")?.reason, "Ready")
    assert.isUndefined(findCondition(conditions, "Installed"))
    assert.isUndefined(findCondition(undefined, "Ready"))
  })

  it("takes what is not there for not true", () => {
    assert.isTrue(isTrue(conditions, "Ready"))
    assert.isFalse(isTrue(conditions, "Installed"))
  })
})

describe("reasons", () => {
  it("of every failure of target and install are also Ready's, which repeats them", () => {
    const ready: ReadonlyArray<string> = reasons.Ready.False
    const failures = ["TargetUnreachable", "TargetError", "TargetDeleteFailed", ...reasons.Installed.False]
    assert.deepStrictEqual(
      failures.filter((reason) => !ready.includes(reason)),
      [],
    )
  })

  it("are CamelCase words, as metav1.Condition wants them", () => {
    for (const type of conditionTypes)
      for (const reason of [...reasons[type].True, ...reasons[type].False])
        assert.match(reason, /^[A-Z][A-Za-z]+$/)
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import {
  type Approval,
  agreedIn,
  agreedRecord,
  countingSpec,
  type Standing,
  standingOf,
} from "../../../src/actors/instance/approval.ts"
import { noPlans, type Plan, planOf, unreadablePlan, withPlan } from "../../../src/schema/Plan.ts"
import type { PlatformInstance } from "../../../src/schema/PlatformInstance.ts"
import type { InstanceRecord } from "../../../src/services/StateStore/StateStore.ts"
import { record as bare, later, noon } from "../support/facts.ts"

const instanceAt = (generation: number, version: string): PlatformInstance => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: {
    name: "one",
    namespace: "team-a",
    uid: "life",
    resourceVersion: "1",
    generation,
    creationTimestamp: noon,
  },
  spec: { version, target: { type: "vcluster" }, deletionPolicy: "Delete" },
})
const before = instanceAt(1, "6.0.22")
const wanted = instanceAt(3, "6.0.23")
const bareInstalled = bare.installed ?? assert.fail("it is of something that is installed")
const record: InstanceRecord = { ...bare, agreed: agreedRecord(before) }

const of = { uid: "life", version: "6.0.23", generation: 3, madeAt: later, after: noon }
const basis = { package: "p", config: "c", state: "s" }
const claim = { deed: "delete", type: "kubernetes:core/v1:PersistentVolumeClaim", name: "a" } as const
const harmless = planOf(of, { basis, steps: [], drifted: [] }, [])
const grave = planOf(of, { basis, steps: [claim], drifted: [] }, [])
const unreadable = unreadablePlan(of, "it throws")
const earlier = planOf({ ...of, generation: 2 }, { basis, steps: [claim], drifted: [] }, [])

const plans = (spec: Plan) => Option.some(withPlan(noPlans("life"), "spec", spec))
const nothing: Approval = {
  required: false,
  approved: Option.none(),
  asked: Option.none(),
  waited: false,
  plans: Option.some(noPlans("life")),
}
const installed = Option.some({ version: "6.0.22", generation: 1 })
const standing = (own: Partial<Approval>, known: InstanceRecord = record, instance = wanted): Standing =>
  standingOf({ instance, record: Option.some(known), installed, approval: { ...nothing, ...own } })

describe("a change", () => {
  const required = true
  const asked = Option.some("6.0.23")
  it.each<readonly [string, Partial<Approval>, "Agreed" | "Plan" | "Approval"]>([
    ["without annotations", {}, "Agreed"],
    ["with a plan asked of it", { asked }, "Plan"],
    ["with a plan asked of the spec", { asked: Option.some("spec") }, "Plan"],
    ["with a plan asked of another version", { asked: Option.some("6.0.24") }, "Agreed"],
    ["after one that waited", { waited: true }, "Plan"],
    ["where the plans cannot be read", { plans: Option.none() }, "Plan"],
    ["asked, with a plan that takes nothing", { asked, plans: plans(harmless) }, "Agreed"],
    [
      "asked, with one that an install has found outdated",
      { asked, plans: plans({ ...harmless, outdated: true }) },
      "Plan",
    ],
    [
      "asked, with one from before the last repair",
      { asked, plans: plans({ ...harmless, after: later }) },
      "Plan",
    ],
    ["asked, with one of an earlier generation", { asked, plans: plans(earlier) }, "Plan"],
    ["asked, with one that could not be made", { asked, plans: plans(unreadable) }, "Approval"],
    ["with a plan that takes data, whoever has asked", { plans: plans(grave) }, "Approval"],
    ["of a version whose plan for another generation takes data", { plans: plans(earlier) }, "Plan"],
    ["with such a plan, approved", { plans: plans(grave), approved: Option.some(grave.id) }, "Agreed"],
    ["with another plan approved", { plans: plans(grave), approved: Option.some(harmless.id) }, "Approval"],
    ["that has to be approved", { required, plans: plans(harmless) }, "Approval"],
    ["that has to be approved, before its plan", { required }, "Approval"],
    ["that is approved", { required, plans: plans(harmless), approved: Option.some(harmless.id) }, "Agreed"],
    [
      "whose approved plan is outdated",
      { required, plans: plans({ ...harmless, outdated: true }), approved: Option.some(harmless.id) },
      "Approval",
    ],
    [
      "that is approved without a plan",
      { required, plans: plans(unreadable), approved: Option.some(unreadable.id) },
      "Agreed",
    ],
  ])("%s", (_, own, expected) => {
    const now = standing(own)
    assert.strictEqual(now._tag === "Agreed" ? "Agreed" : now.approval ? "Approval" : "Plan", expected)
    // What waits leaves what was agreed on last.
    const counts = countingSpec(wanted, now, installed)
    assert.deepStrictEqual(counts, now._tag === "Agreed" ? wanted : before)
  })

  it("does not wait once it has begun, unless the number was another spec's", () => {
    const approval = { required: true }
    assert.strictEqual(standing(approval, { ...record, agreed: agreedRecord(wanted) })._tag, "Agreed")
    const other = agreedRecord(instanceAt(3, "6.0.24"))
    assert.strictEqual(standing(approval, { ...record, agreed: other })._tag, "Waits")
  })

  it("is none of a first install, nor over what another life has left", () => {
    const first = standingOf({
      instance: wanted,
      record: Option.none(),
      installed: Option.none(),
      approval: { ...nothing, required: true },
    })
    assert.strictEqual(first._tag, "Agreed")
    // As it is picked up.
    const { agreed: begun, ...left } = record
    const adopted = { ...left, installed: { ...bareInstalled, generation: 0 } }
    const over = { version: "6.0.22", generation: 0 }
    const found = (known: InstanceRecord) =>
      standingOf({
        instance: wanted,
        record: Option.some(known),
        installed: Option.some(over),
        approval: { ...nothing, required: true },
      })._tag
    assert.strictEqual(found(adopted), "Agreed")
    assert.strictEqual(found({ ...adopted, agreed: { ...agreedRecord(before), uid: "before" } }), "Agreed")
    // Its first install has begun: the next change is none of that.
    assert.strictEqual(found({ ...adopted, ...(begun === undefined ? {} : { agreed: begun }) }), "Waits")
  })

  it("is none where what was agreed on, and is installed, is asked for again", () => {
    const again = instanceAt(4, "6.0.22")
    assert.strictEqual(standing({ required: true }, record, again)._tag, "Agreed")
    // Begun, and not installed: something of it may be there.
    const begun: InstanceRecord = { ...record, agreed: agreedRecord(wanted) }
    assert.strictEqual(standing({ required: true }, begun, again)._tag, "Waits")
    assert.strictEqual(standing({ required: true }, begun, instanceAt(4, "6.0.23"))._tag, "Waits")
  })

  it("that a plan was made of waits for it, whoever has asked for that plan and asks no more", () => {
    assert.strictEqual(standing({ plans: plans(unreadable) })._tag, "Waits")
    assert.strictEqual(standing({ plans: plans({ ...harmless, outdated: true }) })._tag, "Waits")
    const stands = standing({ plans: plans(harmless) })
    assert.deepStrictEqual(stands, { _tag: "Agreed", plan: Option.some(harmless) })
  })

  it("leaves what is installed, where nobody knows the spec that was agreed on", () => {
    const broken = { uid: "life", generation: 1, spec: { version: 6 } }
    assert.isTrue(Option.isNone(agreedIn(Option.some({ ...record, agreed: broken }), "life")))
    assert.isTrue(Option.isNone(agreedIn(Option.some(record), "another")))
    const now = standing({ required: true }, { ...record, agreed: broken })
    const counts = countingSpec(wanted, now, installed)
    assert.deepStrictEqual([counts.metadata.generation, counts.spec.version], [1, "6.0.22"])
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Option, Schema } from "effect"
import type { Facts } from "../../../src/actors/instance/Facts.ts"
import { nextStatus } from "../../../src/actors/instance/report.ts"
import { isTrue, reasons } from "../../../src/schema/Conditions.ts"
import { decodeManifestStatus } from "../../../src/schema/Manifest.ts"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import { codePoints } from "../../../src/schema/Text.ts"
import {
  done,
  failed,
  installing,
  later,
  noon,
  readyStatus,
  record,
  repairedPart,
  seen,
} from "../support/facts.ts"
import { kstatus } from "../support/kstatus.ts"

// Whatever the facts: a few fields, drawn one by one, make every state there is.
const generations = Schema.Literals([1, 2, 3])
const optional = <S extends Schema.Constraint>(schema: S) => Schema.toType(Schema.OptionFromNullOr(schema))
const factsArbitrary = Arbitrary.schema(
  Schema.Struct({
    generation: generations,
    deletion: optional(
      Schema.Literals([
        "Working",
        "WaitingForCleanup",
        "UninstallFailed",
        "StorageCleanupFailed",
        "TargetDeleteFailed",
      ]),
    ),
    dismantled: Schema.Boolean,
    targetUndetermined: Schema.Boolean,
    targetNotReady: optional(Schema.Literals(reasons.TargetReady.False)),
    begun: Schema.Boolean,
    protection: optional(Schema.Boolean),
    running: optional(
      Schema.Struct({
        reason: Schema.Literals(reasons.Installed.True),
        over: Schema.Literals(["nothing", "otherVersion", "sameVersion"]),
        generation: generations,
      }),
    ),
    installedGeneration: optional(generations),
    failure: optional(
      Schema.Struct({
        reason: Schema.Literals(["InstallFailed", "TenantAuthSecretUnavailable", "InvalidStorageRoot"]),
        generation: generations,
      }),
    ),
    held: optional(Schema.Literal("paused since then")),
    upgradeWaits: optional(Schema.Literal("chart 0.38.0 of the vCluster waits")),
    outstanding: optional(Schema.Literals(["otherVersion", "sameVersion"])),
    kubeconfigSecret: optional(Schema.Literal("one-kubeconfig")),
    words: Schema.Literals([1, 400]),
  }),
).pipe(
  Arbitrary.map((raw): Facts => {
    const text = "why ".repeat(raw.words).trim()
    return {
      generation: raw.generation,
      deletion: Option.map(raw.deletion, (what) =>
        what === "Working" || what === "WaitingForCleanup"
          ? { _tag: what, message: text }
          : { _tag: "Failed", reason: what, message: text },
      ),
      dismantled: raw.dismantled && Option.isSome(raw.deletion),
      targetUndetermined: raw.targetUndetermined,
      targetNotReady: Option.map(raw.targetNotReady, (reason) => ({ reason, message: text })),
      begun: raw.begun,
      protection: Option.map(raw.protection, (installed) => ({ installed, message: text })),
      running: Option.flatMap(raw.running, ({ reason, over, generation }) =>
        installing(reason, over, generation),
      ),
      record: Option.map(raw.installedGeneration, (generation) => ({
        ...record,
        installed: { ...repairedPart, reason: "SpecChanged", generation },
      })),
      failure: Option.map(raw.failure, (failure) => ({ ...failure, message: text })),
      held: raw.held,
      upgradeWaits: raw.upgradeWaits,
      outstanding: Option.map(raw.outstanding, (over) => ({ version: "6.0.23", over })),
      kubeconfigSecret: raw.kubeconfigSecret,
    }
  }),
)
const histories = Arbitrary.array(factsArbitrary, { minLength: 1, maxLength: 5 })
const many = { arbitrary: { runs: 1_000 } }

/** The statuses of a history, each made of the one before, a minute apart. */
const statuses = (history: ReadonlyArray<Facts>): ReadonlyArray<PlatformInstanceStatus> => {
  const all: Array<PlatformInstanceStatus> = [{}]
  history.forEach((facts, minute) => {
    all.push(nextStatus(all.at(-1) ?? {}, facts, `2026-11-03T12:0${minute}:00Z`))
  })
  return all
}

describe("a status, whatever happens", () => {
  it.prop(
    "changes once: the same facts make the same of it",
    { history: histories },
    ({ history }) => {
      const last = statuses(history).at(-1) ?? {}
      const facts = history.at(-1) ?? seen
      assert.deepStrictEqual(nextStatus(last, facts, "2026-11-03T23:00:00Z"), last)
    },
    many,
  )

  it.effect.prop(
    "is one the API server stores",
    { history: histories },
    ({ history }) =>
      Effect.gen(function* () {
        for (const status of statuses(history)) yield* decodeManifestStatus(status)
      }),
    { arbitrary: { runs: 200 } },
  )

  it.prop(
    "has reasons that fit type and status, and messages that fit the limit",
    { history: histories },
    ({ history }) => {
      for (const { type, status, reason, message: text } of statuses(history).flatMap(
        (each) => each.conditions ?? [],
      )) {
        const known: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>> = reasons
        assert.include(known[type]?.[status] ?? [], reason)
        assert.isAtMost(codePoints(text), 1024)
        // Cut at a word: nothing but whole words before the ellipsis.
        if (text.endsWith("…")) assert.match(text, /why…$/)
      }
    },
    many,
  )

  it.prop(
    "moves a transition time exactly with its condition's status",
    { history: histories },
    ({ history }) => {
      const all = statuses(history)
      all.slice(1).forEach((status, minute) => {
        for (const condition of status.conditions ?? []) {
          const before = all[minute]?.conditions?.find(({ type }) => type === condition.type)
          const expected =
            before?.status === condition.status ? before.lastTransitionTime : `2026-11-03T12:0${minute}:00Z`
          assert.strictEqual(condition.lastTransitionTime, expected)
        }
      })
    },
    many,
  )

  it.prop(
    "is not in the phase Ready while something that is asked for is not installed",
    { history: histories },
    ({ history }) => {
      const all = statuses(history)
      history.forEach((facts, index) => {
        if (Option.isNone(facts.outstanding) || facts.targetUndetermined || !facts.begun) return
        const { conditions, phase } = all[index + 1] ?? {}
        assert.notStrictEqual(phase, "Ready")
        if (Option.isSome(facts.running) || facts.outstanding.value.over === "sameVersion") return
        assert.isFalse(isTrue(conditions, "Ready"))
      })
    },
    many,
  )

  it.prop(
    "moves its generation only to one whose outcome is known",
    { history: histories },
    ({ history }) => {
      const all = statuses(history)
      history.forEach((facts, index) => {
        const before = all[index]?.observedGeneration
        const now = all[index + 1]?.observedGeneration
        if (now === before) return
        const settled = [
          Option.getOrUndefined(facts.failure)?.generation,
          Option.getOrUndefined(facts.record)?.installed?.generation,
        ]
        assert.include(settled, now)
      })
    },
    many,
  )
})

/** An instance's life as generations: what is asked for, what is settled, what runs. */
const lives = Arbitrary.array(factsArbitrary, { minLength: 1, maxLength: 6 })

describe("kstatus", () => {
  it.prop(
    "reads Current only of a generation that was applied and that nothing has failed",
    { history: lives },
    ({ history }) => {
      const all = statuses(history)
      history.forEach((facts, index) => {
        const status = all[index + 1] ?? {}
        const computed = kstatus({
          generation: facts.generation,
          deleting: Option.isSome(facts.deletion),
          status,
        })
        if (computed !== "Current") return
        // Ready speaks of what is recorded for this very generation, or keeps what an earlier pass has proved of it.
        const proved = history
          .slice(0, index + 1)
          .some((each) =>
            Option.exists(each.record, ({ installed }) => installed?.generation === facts.generation),
          )
        assert.isTrue(proved, JSON.stringify(status))
      })
    },
    many,
  )

  it("reads InProgress from the first status on, through an upgrade, until the new generation is done", () => {
    const at = (generation: number, status: PlatformInstanceStatus) =>
      kstatus({ generation, deleting: false, status })
    assert.strictEqual(at(1, nextStatus({}, seen, noon)), "InProgress")
    assert.strictEqual(at(1, readyStatus), "Current")
    assert.strictEqual(at(2, readyStatus), "InProgress")
    const spec = { ...done, generation: 2, running: installing("SpecChanged", "sameVersion", 2) }
    const during = nextStatus(readyStatus, spec, later)
    assert.strictEqual(at(2, during), "InProgress")
    const applied = Option.some({
      ...record,
      installed: { ...repairedPart, reason: "SpecChanged", generation: 2 },
    } as const)
    assert.strictEqual(
      at(2, nextStatus(during, { ...done, generation: 2, record: applied }, later)),
      "Current",
    )
    assert.strictEqual(at(2, nextStatus(during, failed, later)), "InProgress")
  })
})

// Instances whose repairs look and do nothing: what differs is told, kept and left as it is.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Option, Schema } from "effect"
import { DayTwoMemo } from "../../../src/schema/DayTwo.ts"
import { HistoryText } from "../../../src/schema/History.ts"
import {
  ANNOTATION_APPROVE,
  ANNOTATION_DAY_TWO,
  ANNOTATION_DRIFT,
  ANNOTATION_PAUSED,
  ANNOTATION_PLAN,
  ANNOTATION_SLEEP,
  ANNOTATION_WINDOW,
} from "../../../src/schema/Names.ts"
import { PlansText } from "../../../src/schema/Plan.ts"
import { epochMillis, formatTime } from "../../../src/schema/Time.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { Preview } from "../../../src/services/Pulumi/Pulumi.ts"
import { key, manifestOf } from "../support/instances.ts"
import { grave } from "../support/plans.ts"
import { outcomes, passUntil, phase, ready, reasons, repairDue } from "../support/readings.ts"
import { pass, settings, type World } from "../support/World.ts"

const one = "team-a/one"
const detect = { [ANNOTATION_DRIFT]: "detect" }
const annotate = (world: World, annotations: Readonly<Record<string, string | null>>) =>
  world.edit({ metadata: { annotations } })
const told = (world: World) =>
  world.events
    .filter(({ reason }) => ["DriftFound", "DriftGone", "Planned", "PlanFailed"].includes(reason))
    .map(({ type, reason, note }) => `${type} ${reason}: ${note}`)
const looks = (world: World) =>
  world.pulumi.looks.map(({ request, outcome }) => `${request.version} ${outcome}`)
const kept = (world: World) =>
  Schema.decodeSync(PlansText)(world.store.plans.get(one) ?? assert.fail("there is a plan"))
const report = (world: World) => kept(world).drift ?? assert.fail("there is a report")
const memo = (world: World) =>
  Schema.decodeSync(Schema.fromJsonString(DayTwoMemo))(
    world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_DAY_TWO] ?? assert.fail("a memo"),
  )
const pastOf = (world: World) =>
  Schema.decodeSync(HistoryText)(world.store.histories.get(one) ?? assert.fail("there is a past")).operations
/** When the next look is due: seconds since the epoch. */
const lookDue = (world: World) => {
  const { repairEarly = 0 } = world.store.records.get(one)?.installed ?? assert.fail(one)
  return (
    epochMillis(report(world).madeAt) / 1_000 +
    Duration.toSeconds(settings.repairInterval) * (1 - repairEarly)
  )
}
/** The first look has been taken in place of the first repair, and has found this. */
const looked = Effect.fnUntraced(function* (
  preview: Preview,
  annotations: Readonly<Record<string, string>> = {},
) {
  const world = yield* ready()
  world.pulumi.seen.preview = preview
  yield* annotate(world, { ...detect, ...annotations })
  yield* passUntil(repairDue(world) + 60, 30)
  assert.deepStrictEqual([looks(world), reasons(world)], [["6.0.22 succeeded"], ["FirstInstall"]])
  return world
})
const again = Effect.fnUntraced(function* (world: World) {
  const before = world.pulumi.looks.length
  yield* passUntil(lookDue(world) - 20, 30)
  assert.lengthOf(world.pulumi.looks, before)
  yield* passUntil(lookDue(world) + 60, 10)
  assert.lengthOf(world.pulumi.looks, before + 1)
})

const nothing: Preview = { steps: [], drifted: [] }
const drift: Preview = {
  steps: [
    { deed: "create", type: "kubernetes:core/v1:ConfigMap", namespace: "wasmcloud", name: "settings" },
    { deed: "update", type: "kubernetes:apps/v1:Deployment", namespace: "wasmcloud", name: "gateway" },
  ],
  drifted: ["Deployment wasmcloud/wasmcloud-hosts (missing)"],
}
const found =
  "Warning DriftFound: 3 objects differ inside the instance; a repair would: create 1 (ConfigMap 1), update 1 (Deployment 1); put back: Deployment wasmcloud/wasmcloud-hosts (missing)"

describe("where repairs look and do nothing", () => {
  it.effect(
    "drift is told and kept, nothing is put back, and the same again is no news, over a restart",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.pulumi.seen.preview = drift
        yield* annotate(world, detect)
        yield* passUntil(repairDue(world) - 30, 30)
        assert.deepStrictEqual(looks(world), [])
        const status = Option.getOrThrow(world.status())
        const record = world.store.records.get(one)
        yield* passUntil(repairDue(world) + 60, 30)
        assert.deepStrictEqual([looks(world), told(world)], [["6.0.22 succeeded"], [found]])
        assert.deepStrictEqual(report(world).restored, ["Deployment wasmcloud/wasmcloud-hosts (missing)"])
        assert.deepStrictEqual([kept(world).spec, kept(world).version], [undefined, undefined])
        assert.deepStrictEqual(memo(world).drift?.objects, 3)
        // Nothing else has come of it.
        assert.deepStrictEqual(Option.getOrThrow(world.status()), status)
        assert.isUndefined(status.lastRepair)
        assert.strictEqual(world.store.records.get(one), record)
        // The next operator knows when that was, and what was told.
        yield* world.operator.stop
        const next = yield* world.startOperator()
        yield* again(world)
        yield* next.stop
        yield* world.startOperator()
        yield* again(world)
        assert.deepStrictEqual(told(world), [found])
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
        assert.strictEqual(phase(world), "Ready")
        const { since } = memo(world).drift ?? assert.fail("it is remembered")
        assert.isBelow(epochMillis(since), epochMillis(report(world).madeAt))
        // In the history is the newest of them.
        assert.deepStrictEqual(
          pastOf(world)
            .map(({ what, outcome }) => `${what} ${outcome}`)
            .filter((each) => /drift|repair$/.test(each)),
          ["drift report succeeded"],
        )
      }),
  )

  it.effect("more of it is news, and so is its end", () =>
    Effect.gen(function* () {
      const world = yield* looked(nothing)
      assert.deepStrictEqual([told(world), memo(world).drift?.objects], [[], 0])
      world.pulumi.seen.preview = drift
      yield* again(world)
      world.pulumi.seen.preview = { ...drift, drifted: [] }
      yield* again(world)
      world.pulumi.seen.preview = nothing
      yield* again(world)
      yield* again(world)
      assert.deepStrictEqual(
        told(world).map((each) => each.replace(/found .* ago$/, "found … ago")),
        [
          found,
          "Warning DriftFound: 2 objects differ inside the instance; a repair would: create 1 (ConfigMap 1), update 1 (Deployment 1)",
          "Normal DriftGone: nothing differs inside the instance any more; what differed was found … ago",
        ],
      )
    }),
  )

  it.effect("of which a part cannot be looked at any more is not told to be gone", () =>
    Effect.gen(function* () {
      const world = yield* looked({ ...drift, uncompared: ["Secret wasmcloud/policed (Forbidden)"] })
      const told0 = `${found}; cannot be compared: Secret wasmcloud/policed (Forbidden)`
      assert.deepStrictEqual(told(world), [told0])
      const hidden = "Deployment wasmcloud/wasmcloud-hosts (Forbidden)"
      world.pulumi.seen.preview = {
        ...nothing,
        uncompared: ["Secret wasmcloud/policed (Forbidden)", hidden],
      }
      yield* again(world)
      assert.deepStrictEqual([told(world), memo(world).drift?.objects], [[told0], 3])
      assert.include(report(world).uncompared ?? [], hidden)
      // What could not be compared before, either, hides nothing that was told.
      world.pulumi.seen.preview = { ...nothing, uncompared: ["Secret wasmcloud/policed (Forbidden)"] }
      yield* again(world)
      assert.match(told(world).at(-1) ?? "", /^Normal DriftGone: /)
      assert.strictEqual(memo(world).drift?.objects, 0)
    }),
  )

  it.effect("that an operator has found and not told of before it died is told by the next", () =>
    Effect.gen(function* () {
      const world = yield* looked(drift)
      yield* world.operator.stop
      const { drift: _, ...rest } = memo(world)
      yield* annotate(world, { [ANNOTATION_DAY_TWO]: JSON.stringify(rest) })
      yield* world.startOperator()
      yield* pass(30)
      assert.deepStrictEqual(told(world), [found, found])
      assert.lengthOf(looks(world), 1)
      assert.strictEqual(memo(world).drift?.objects, 3)
    }),
  )

  it.effect("it is repaired at once when the annotation goes, and new when it comes again", () =>
    Effect.gen(function* () {
      const world = yield* looked(drift)
      yield* annotate(world, { [ANNOTATION_DRIFT]: null })
      yield* pass(90, 5)
      assert.deepStrictEqual(
        [reasons(world), outcomes(world)],
        [
          ["FirstInstall", "RepairDue"],
          ["succeeded", "succeeded"],
        ],
      )
      assert.isTrue(world.pulumi.runs.at(-1)?.request.refresh)
      assert.isTrue(report(world).outdated)
      assert.isDefined(Option.getOrThrow(world.status()).lastRepair)
      assert.isUndefined(world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_DAY_TWO])
      yield* annotate(world, detect)
      yield* pass(30)
      assert.isTrue(memo(world).drift?.outdated)
      yield* passUntil(repairDue(world) - 30, 30)
      assert.deepStrictEqual(told(world), [found])
      yield* passUntil(repairDue(world) + 60, 30)
      assert.deepStrictEqual(told(world), [found, found])
    }),
  )

  it.effect(
    "a change is applied as ever, makes the report outdated, and the next look is an interval after it",
    () =>
      Effect.gen(function* () {
        const world = yield* looked(drift)
        yield* pass(600, 30)
        yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
        yield* pass(120)
        assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged"])
        assert.isTrue(report(world).outdated)
        assert.isTrue(memo(world).drift?.outdated)
        world.pulumi.seen.preview = nothing
        yield* passUntil(repairDue(world) - 30, 30)
        assert.lengthOf(looks(world), 1)
        yield* passUntil(repairDue(world) + 60, 30)
        assert.lengthOf(looks(world), 2)
        assert.strictEqual(report(world).generation, 2)
        // That there was some is known still.
        assert.match(told(world).at(-1) ?? "", /^Normal DriftGone/)
      }),
  )

  it.effect(
    "a look that fails is told once, tried again with pauses, and leaves the last report standing",
    () =>
      Effect.gen(function* () {
        const world = yield* looked(drift)
        world.pulumi.lookFailures.push("Failed", "Failed", "Failed")
        const { madeAt } = report(world)
        yield* passUntil(lookDue(world) + 40, 10)
        assert.include(looks(world), "6.0.22 failed")
        assert.deepStrictEqual([report(world).madeAt, report(world).unreadable], [madeAt, undefined])
        yield* pass(600, 5)
        assert.deepStrictEqual(
          looks(world),
          ["succeeded", "failed", "failed", "failed", "succeeded"].map((each) => `6.0.22 ${each}`),
        )
        assert.match(
          told(world).join("\n"),
          /^Warning DriftFound: .*\nWarning PlanFailed: [^\n]*the program throws; check spec\.version$/,
        )
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      }),
  )

  it.effect("neither a pause nor a window is waited for", () =>
    Effect.gen(function* () {
      const hour = new Date().getUTCHours()
      const world = yield* looked(drift, {
        [ANNOTATION_PAUSED]: "true",
        [ANNOTATION_WINDOW]: hour < 12 ? "Sat 23:00-23:01" : "Sat 01:00-01:01",
      })
      assert.deepStrictEqual(told(world), [found])
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("one that is asleep is not looked at", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, { ...detect, [ANNOTATION_SLEEP]: "true" })
      yield* passUntil(repairDue(world) + 300, 30)
      assert.deepStrictEqual([looks(world), reasons(world)], [[], ["FirstInstall"]])
    }),
  )

  it.effect("a change that waits for approval is none of what differs", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, { ...detect, [ANNOTATION_APPROVE]: "required" })
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(120)
      assert.deepStrictEqual(looks(world), ["6.0.21 succeeded"])
      yield* passUntil(repairDue(world) + 60, 30)
      assert.deepStrictEqual(looks(world), ["6.0.21 succeeded", "6.0.22 succeeded"])
      assert.deepStrictEqual([report(world).version, report(world).generation], ["6.0.22", 1])
      assert.strictEqual(kept(world).spec?.version, "6.0.21")
    }),
  )

  it.effect("what somebody asks a plan of goes first", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, detect)
      yield* passUntil(repairDue(world) + 5, 5)
      assert.deepStrictEqual(looks(world), ["6.0.22 running"])
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.21" })
      yield* pass(120, 5)
      assert.deepStrictEqual(looks(world), ["6.0.22 interrupted", "6.0.21 succeeded", "6.0.22 succeeded"])
    }),
  )

  it.effect("a repair that runs when it is asked for is let end", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* passUntil(repairDue(world) + 10, 10)
      assert.deepStrictEqual(outcomes(world), ["succeeded", "running"])
      yield* annotate(world, detect)
      yield* pass(90)
      assert.deepStrictEqual([outcomes(world), looks(world)], [["succeeded", "succeeded"], []])
      assert.isDefined(Option.getOrThrow(world.status()).lastRepair)
    }),
  )

  it.effect.each(["by the end of the operator", "because the target is lost"])(
    "a repair that has begun and is cut off %s is ended all the same, and looked at from then on",
    (how) =>
      Effect.gen(function* () {
        const world = yield* ready()
        yield* passUntil(repairDue(world) + 20, 10)
        assert.deepStrictEqual(outcomes(world), ["succeeded", "running"])
        yield* annotate(world, detect)
        yield* pass(2)
        if (how === "by the end of the operator") {
          // It is asked to end: what it was at is taken down in order, and leaves no marker.
          yield* world.operator.stop
          yield* world.startOperator()
        } else {
          world.network.reachable = false
          yield* pass(90, 5)
          world.network.reachable = true
        }
        yield* pass(180, 10)
        assert.deepStrictEqual(
          [outcomes(world).at(-1), reasons(world).at(-1), looks(world)],
          ["succeeded", "RepairDue", []],
        )
        assert.isDefined(Option.getOrThrow(world.status()).lastRepair)
        yield* passUntil(repairDue(world) + 60, 30)
        assert.deepStrictEqual(looks(world), ["6.0.22 succeeded"])
      }),
  )

  it.effect("where the clock was set back is looked at once an interval", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      const record = world.store.records.get(one) ?? assert.fail(one)
      const installed = record.installed ?? assert.fail(one)
      const later = formatTime(DateTime.makeUnsafe(epochMillis(installed.finishedAt) + 24 * 3_600_000))
      world.store.records.set(one, { ...record, installed: { ...installed, finishedAt: later } })
      yield* annotate(world, detect)
      yield* world.startOperator()
      yield* pass(180)
      assert.deepStrictEqual(looks(world), ["6.0.22 succeeded"])
      yield* again(world)
    }),
  )

  it.effect("a look over plans that cannot be read forgets nothing that a change has to wait for", () =>
    Effect.gen(function* () {
      const world = yield* looked(nothing)
      yield* world.operator.stop
      world.store.plans.set(one, '{"format":2}')
      yield* world.startOperator()
      yield* pass(60)
      yield* passUntil(repairDue(world) + Duration.toSeconds(settings.repairInterval) + 60, 30)
      assert.isTrue(kept(world).forgotten)
      world.pulumi.seen.preview = { steps: grave, drifted: [] }
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(180, 5)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.deepStrictEqual([kept(world).grave, kept(world).forgotten], [["6.0.21"], undefined])
    }),
  )

  it.effect("what was cut off half-way is repaired all the same, and looked at from then on", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      const holder = { podUID: "a", podName: "a", incarnation: "a" }
      const begun = { kind: "RepairDue", version: "6.0.22", generation: 1, startedAt: "2026-11-03T12:00:00Z" }
      world.store.markers.set(one, { format: 1, ...begun, holder })
      yield* annotate(world, detect)
      yield* world.startOperator()
      yield* passUntil(repairDue(world) + 20, 10)
      assert.deepStrictEqual([looks(world), reasons(world)], [[], ["FirstInstall", "RepairDue"]])
      world.store.markers.clear()
      yield* pass(90)
      yield* passUntil(repairDue(world) + 60, 30)
      assert.deepStrictEqual(
        [looks(world), reasons(world)],
        [["6.0.22 succeeded"], ["FirstInstall", "RepairDue"]],
      )
    }),
  )

  it.effect("one whose record was lost is repaired all the same", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, detect)
      yield* world.operator.stop
      world.store.records.clear()
      yield* world.startOperator()
      yield* pass(180)
      assert.deepStrictEqual(looks(world), [])
      assert.lengthOf(reasons(world), 2)
      assert.isDefined(world.store.records.get(one)?.installed)
    }),
  )

  it.effect("a value that the annotation does not take is told, and changes nothing", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, { [ANNOTATION_DRIFT]: "yes" })
      yield* passUntil(repairDue(world) + 90, 30)
      assert.deepStrictEqual([looks(world), reasons(world)], [[], ["FirstInstall", "RepairDue"]])
      yield* annotate(world, detect)
      yield* pass(30)
      yield* annotate(world, { [ANNOTATION_DRIFT]: "repair" })
      yield* passUntil(repairDue(world) + 90, 30)
      assert.deepStrictEqual(
        [looks(world), reasons(world)],
        [["6.0.22 succeeded"], ["FirstInstall", "RepairDue"]],
      )
      assert.deepStrictEqual(
        world.events
          .filter(({ reason }) => reason === "AnnotationInvalid")
          .map(({ note }) => note.slice(0, 130)),
        [
          'annotation platform.di-framework.dev/drift: "yes" is not understood: it takes "detect"; it counts as if it were not there. Correct',
          'annotation platform.di-framework.dev/drift: "repair" is not understood: it takes "detect"; "detect" still counts. Correct it, or r',
        ],
      )
    }),
  )

  it.effect("a look waits for its permit as a repair does: behind what somebody waits for", () =>
    Effect.gen(function* () {
      const world = yield* ready({ maxConcurrentInstalls: 1 })
      const other = (name: string) => ({ namespace: "team-a", name })
      const apply = (name: string) =>
        world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata: other(name) })
      const runsOf = (name: string) => world.pulumi.runs.filter(({ request }) => request.key.name === name)
      yield* annotate(world, detect)
      yield* passUntil(repairDue(world) - 120, 30)
      // It holds the only permit.
      world.pulumi.endless.add("team-a/two")
      apply("two")
      yield* passUntil(repairDue(world) + 30, 10)
      assert.lengthOf(runsOf("two"), 1)
      apply("three")
      yield* pass(60, 5)
      assert.deepStrictEqual([looks(world), runsOf("three")], [[], []])
      world.pulumi.endless.clear()
      world.cluster.end(Kinds.PlatformInstance, other("two"))
      yield* pass(30)
      assert.deepStrictEqual([looks(world), runsOf("three").length], [[], 1])
      yield* pass(120, 5)
      assert.deepStrictEqual(looks(world), ["6.0.22 succeeded"])
    }),
  )
})

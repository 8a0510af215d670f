// What waits for approval, where something else happens meanwhile: a restart, a restore, an edit, an approval taken back.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Option } from "effect"
import {
  ANNOTATION_APPROVED,
  ANNOTATION_DAY_TWO,
  ANNOTATION_PAUSED,
  ANNOTATION_PLAN,
  ANNOTATION_SLEEP,
  PLAN_KEY,
} from "../../../src/schema/Names.ts"
import { approvalOf } from "../../../src/schema/Plan.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key, manifestOf } from "../support/instances.ts"
import {
  annotate,
  changed,
  failing,
  grave,
  looks,
  ofSpec,
  readyMessage,
  required,
  runs,
  shown,
} from "../support/plans.ts"
import { passUntil, phase, ready, repairDue } from "../support/readings.ts"
import { type makeWorld, pass, type World } from "../support/World.ts"

const first = "FirstInstall 6.0.22 of 1"
const other = { namespace: key.namespace, name: "other" }

/** Generation 2 waits: every change does. */
const waiting = Effect.fnUntraced(function* (choices?: Parameters<typeof makeWorld>[0]) {
  const world = yield* ready(choices)
  world.pulumi.seen.preview = { steps: changed, drifted: [] }
  yield* annotate(world, required)
  yield* world.edit({ spec: { version: "6.0.21" } })
  yield* pass(120)
  assert.match(readyMessage(world), /^generation 2 waits for approval/)
  return world
})

/** Generation 2 waits, because a plan was asked for and cannot be made; nobody asks any more. */
const unreadable = Effect.fnUntraced(function* () {
  const world = yield* ready()
  failing(world)
  yield* world.edit({ metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } }, spec: { version: "6.0.21" } })
  yield* pass(60)
  assert.match(readyMessage(world), /waits for approval/)
  yield* annotate(world, { [ANNOTATION_PLAN]: null })
  yield* pass(60)
  return world
})

/** Somebody else has the one permit, until `freed`. */
const occupied = Effect.fnUntraced(function* (world: World) {
  world.pulumi.endless.add(`${other.namespace}/${other.name}`)
  world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata: other })
  yield* pass(60)
})
const freed = Effect.fnUntraced(function* (world: World) {
  // What was fetched before has to be fetched again.
  world.pulumi.fetches.splice(0)
  world.cluster.end(Kinds.PlatformInstance, other)
  while (world.pulumi.runs.at(-1)?.outcome === "running") yield* pass(1)
  yield* pass(2)
})

const installedVersion = (world: World) => Option.getOrThrow(world.status()).installedVersion

describe("an approval that is taken back", () => {
  it.effect("in a pause counts no more, of a plan that could not be made either", () =>
    Effect.gen(function* () {
      const world = yield* unreadable()
      yield* annotate(world, { [ANNOTATION_PAUSED]: "true" })
      yield* pass(30)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(30)
      yield* annotate(world, { [ANNOTATION_APPROVED]: null })
      yield* pass(30)
      yield* annotate(world, { [ANNOTATION_PAUSED]: null })
      yield* pass(300)
      assert.deepStrictEqual(runs(world), [first])
    }),
  )

  it.effect("while the install prepares counts no more", () =>
    Effect.gen(function* () {
      const world = yield* unreadable()
      world.pulumi.fetches.splice(0)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(2)
      yield* annotate(world, { [ANNOTATION_APPROVED]: null })
      yield* pass(300)
      assert.deepStrictEqual(runs(world), [first])
    }),
  )

  it.effect.each(["an approval alone", "with the edit that it was of"])(
    "after the permit was got, before the engine has begun, counts no more: %s",
    (what) =>
      Effect.gen(function* () {
        const world = yield* waiting({ maxConcurrentInstalls: 1 })
        yield* occupied(world)
        yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
        yield* pass(20)
        yield* freed(world)
        yield* annotate(world, { [ANNOTATION_APPROVED]: null })
        if (what !== "an approval alone") yield* world.edit({ spec: { version: "6.0.22" } })
        yield* pass(300)
        assert.deepStrictEqual(
          runs(world).filter((run) => run.includes("6.0.21")),
          [],
        )
      }),
  )

  it.effect("while no operator runs counts no more", () =>
    Effect.gen(function* () {
      const world = yield* waiting()
      yield* annotate(world, { [ANNOTATION_PAUSED]: "true" })
      yield* pass(10)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(10)
      yield* world.operator.stop
      yield* annotate(world, { [ANNOTATION_APPROVED]: null, [ANNOTATION_PAUSED]: null })
      yield* world.startOperator()
      yield* pass(200)
      assert.deepStrictEqual(runs(world), [first])
    }),
  )
})

describe("a change that waits", () => {
  it.effect("and is approved in a pause, then edited to another version, waits for the plan of that", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: grave, drifted: [] }
      yield* world.edit({
        metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } },
        spec: { version: "6.0.21" },
      })
      yield* pass(60)
      yield* annotate(world, { [ANNOTATION_PLAN]: null, [ANNOTATION_PAUSED]: "true" })
      yield* pass(30)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(30)
      yield* world.edit({ spec: { version: "6.0.23" } })
      yield* pass(30)
      yield* annotate(world, { [ANNOTATION_PAUSED]: null })
      yield* pass(300)
      assert.deepStrictEqual(runs(world), [first])
      assert.match(readyMessage(world), /^generation 3 waits for approval/)
    }),
  )

  it.effect(
    "for its pause to end after its plan is looked at anew where the package is another by then",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.pulumi.seen.preview = { steps: changed, drifted: [] }
        const annotations = { [ANNOTATION_PLAN]: "spec", [ANNOTATION_PAUSED]: "true" }
        yield* world.edit({ metadata: { annotations }, spec: { version: "6.0.21" } })
        yield* pass(60)
        assert.deepStrictEqual(looks(world), ["6.0.21"])
        yield* annotate(world, { [ANNOTATION_PLAN]: null })
        yield* pass(10)
        world.pulumi.seen.preview = { steps: grave, drifted: [] }
        world.pulumi.found.digest = "sha256:other"
        yield* annotate(world, { [ANNOTATION_PAUSED]: null })
        yield* pass(300)
        assert.deepStrictEqual(runs(world), [first])
        assert.match(readyMessage(world), /^generation 2 waits for approval/)
      }),
  )

  it.effect("is looked at anew after a repair that has failed: the state is another", () =>
    Effect.gen(function* () {
      const world = yield* waiting()
      yield* passUntil(repairDue(world) - 60, 10)
      // Its retry does not set right in time what it has left.
      world.pulumi.failures.push("Failed")
      while (world.pulumi.runs.at(-1)?.outcome !== "failed") yield* pass(5)
      assert.deepStrictEqual([runs(world).at(-1), looks(world).length], ["RepairDue 6.0.22 of 1", 1])
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(600, 2)
      assert.deepStrictEqual([installedVersion(world), phase(world)], ["6.0.21", "Ready"])
      assert.isAbove(looks(world).length, 1)
    }),
  )

  it.effect("waits on where what the operator remembers on the instance was stripped", () =>
    Effect.gen(function* () {
      const world = yield* unreadable()
      yield* world.operator.stop
      yield* annotate(world, { [ANNOTATION_DAY_TWO]: null })
      yield* world.startOperator()
      yield* pass(200)
      assert.deepStrictEqual(runs(world), [first])
    }),
  )

  it.effect("and is taken back needs nobody: what is installed was agreed on", () =>
    Effect.gen(function* () {
      for (const world of [yield* waiting(), yield* unreadable()]) {
        yield* world.edit({ spec: { version: "6.0.22" } })
        yield* pass(300)
        assert.notMatch(readyMessage(world), /waits/)
        assert.strictEqual(Option.getOrThrow(world.status()).observedGeneration, 3)
        assert.isFalse(runs(world).some((run) => run.includes("6.0.21")))
        yield* world.operator.stop
      }
    }),
  )

  it.effect.each(["in time", "after the operator has died in between"])(
    "has its plan shown, be it that it cannot be written %s",
    (when) =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.pulumi.seen.preview = { steps: grave, drifted: [] }
        const request = "PATCH configmaps/team-a/one-history"
        const refused = { request, code: 503, reason: "ServiceUnavailable" }
        world.cluster.refusals.push(refused, refused, refused)
        yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
        yield* pass(60)
        assert.deepStrictEqual(shown(world), ["history.json"])
        if (when !== "in time") {
          yield* world.operator.stop
          world.cluster.refusals.splice(0)
          yield* world.startOperator()
        }
        yield* pass(300)
        assert.include(shown(world), PLAN_KEY)
      }),
  )
})

describe("what was agreed on", () => {
  it.effect("stands after a restore of an older state, and is not undone by a repair", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const record = world.store.records.get("team-a/one") ?? assert.fail("there is a record")
      world.pulumi.seen.preview = { steps: changed, drifted: [] }
      yield* annotate(world, required)
      yield* world.edit({ spec: { version: "6.0.23" } })
      yield* pass(120)
      yield* annotate(world, { [ANNOTATION_APPROVED]: approvalOf(ofSpec(world)) })
      yield* pass(180)
      assert.strictEqual(installedVersion(world), "6.0.23")
      yield* world.operator.stop
      world.store.records.set("team-a/one", record)
      world.store.plans.clear()
      yield* pass(1_800, 600)
      yield* world.startOperator()
      yield* pass(600, 5)
      assert.deepStrictEqual(
        runs(world)
          .slice(2)
          .filter((run) => run.includes("6.0.22")),
        [],
      )
      assert.deepStrictEqual([installedVersion(world), phase(world)], ["6.0.23", "Ready"])
    }),
  )

  it.effect(
    "is unknown after a restore where another change waits by then: nothing is installed until it is approved",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        const record = world.store.records.get("team-a/one") ?? assert.fail("there is a record")
        yield* world.edit({ spec: { version: "6.0.23" } })
        yield* pass(180)
        assert.strictEqual(installedVersion(world), "6.0.23")
        yield* world.operator.stop
        world.store.records.set("team-a/one", record)
        yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
        yield* pass(1_800, 600)
        yield* world.startOperator()
        yield* pass(3_600, 5)
        assert.deepStrictEqual(runs(world).slice(2), [])
        assert.match(readyMessage(world), /^generation 3 waits for approval/)
        yield* annotate(world, { [ANNOTATION_APPROVED]: "3" })
        yield* pass(300)
        assert.deepStrictEqual([installedVersion(world), phase(world)], ["6.0.21", "Ready"])
      }),
  )

  it.effect("is what an operator finds installed that writes it down for the first time", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      const { agreed, ...record } = world.store.records.get("team-a/one") ?? assert.fail("there is a record")
      world.store.records.set("team-a/one", record)
      yield* world.startOperator()
      yield* pass(30)
      assert.deepStrictEqual(world.store.records.get("team-a/one")?.agreed, agreed)
      yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
      yield* pass(120)
      world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster" })
      yield* pass(600, 5)
      assert.deepStrictEqual(runs(world), [first, "Resync 6.0.22 of 1"])
      assert.match(readyMessage(world), /^generation 2 waits for approval/)
    }),
  )

  it.effect("is nothing yet of a retained instance that comes back: it waits for nobody", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ spec: { deletionPolicy: "Retain" } })
      yield* pass(120)
      world.remove()
      yield* pass(180)
      assert.isTrue(Option.isNone(world.status()))
      const manifest = manifestOf({ deletionPolicy: "Retain" })
      world.cluster.apply(Kinds.PlatformInstance, {
        ...manifest,
        metadata: { ...manifest.metadata, annotations: required },
      })
      yield* pass(300)
      assert.deepStrictEqual([looks(world), phase(world)], [[], "Ready"])
      // From then on it is as any other.
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(120)
      assert.match(readyMessage(world), /^generation 2 waits for approval/)
    }),
  )
})

describe("a look that does not end", () => {
  it.effect("keeps nobody from sleep", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.takes = Duration.hours(2)
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.21" })
      yield* pass(30)
      yield* annotate(world, { [ANNOTATION_SLEEP]: "true" })
      yield* pass(240)
      assert.match(readyMessage(world), /^asleep since/)
    }),
  )

  it.effect("keeps nobody from a deletion, and no lost control plane from its resync", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.takes = Duration.hours(2)
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.21" })
      yield* pass(30)
      world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster" })
      yield* pass(400, 5)
      assert.include(runs(world), "Resync 6.0.22 of 1")
      world.remove()
      yield* pass(180)
      assert.isTrue(Option.isNone(world.status()))
    }),
  )
})

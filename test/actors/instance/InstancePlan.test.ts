// Plans, and changes that wait for approval: what is looked at changes nothing, and what waits does not begin.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import {
  ANNOTATION_APPROVE,
  ANNOTATION_APPROVED,
  ANNOTATION_DAY_TWO,
  ANNOTATION_PLAN,
  PLAN_KEY,
} from "../../../src/schema/Names.ts"
import { type PlannedStep, PlanText } from "../../../src/schema/Plan.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "../support/instances.ts"
import { condition, passUntil, phase, ready, reasons, repairDue } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const annotate = (world: World, annotations: Readonly<Record<string, string | null>>) =>
  world.edit({ metadata: { annotations } })
const told = (world: World) =>
  world.events.filter(({ reason }) => ["Planned", "PlanFailed", "ApprovalPending"].includes(reason))
const looks = (world: World) => world.pulumi.looks.map(({ request }) => request.version)
const stored = (world: World) =>
  Schema.decodeSync(PlanText)(world.store.plans.get("team-a/one") ?? assert.fail("there is a plan"))
const shown = (world: World) => {
  const map = world.cluster.find(Kinds.ConfigMap, { ...key, name: `${key.name}-history` })
  const data = map?.data
  return typeof data === "object" && data !== null ? Object.keys(data).toSorted() : []
}

const changed: ReadonlyArray<PlannedStep> = [
  { deed: "create", type: "kubernetes:core/v1:ConfigMap", namespace: "wasmcloud", name: "new" },
  { deed: "update", type: "kubernetes:apps/v1:Deployment", namespace: "wasmcloud", name: "gateway" },
]
const grave: ReadonlyArray<PlannedStep> = [
  ...changed,
  { deed: "delete", type: "kubernetes:core/v1:PersistentVolumeClaim", namespace: "wasmcloud", name: "data" },
]

describe("a plan", () => {
  it.effect("of a version is told and kept, and changes nothing; it is made once", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: grave, drifted: [] }
      const status = Option.getOrThrow(world.status())
      const record = world.store.records.get("team-a/one")
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.21" })
      yield* pass(60)
      assert.deepStrictEqual(looks(world), ["6.0.21"])
      assert.deepStrictEqual(
        told(world).map(({ type, reason, note }) => `${type} ${reason}: ${note}`),
        [
          "Normal Planned: version 6.0.21, generation 1: create 1 (ConfigMap 1), update 1 (Deployment 1), delete 1 (PersistentVolumeClaim 1); goes with its data: PersistentVolumeClaim wasmcloud/data",
        ],
      )
      assert.deepStrictEqual(stored(world).deleted, ["PersistentVolumeClaim wasmcloud/data"])
      assert.deepStrictEqual(shown(world), ["history.json", PLAN_KEY])
      // Nothing else has come of it.
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.deepStrictEqual(Option.getOrThrow(world.status()), status)
      assert.strictEqual(world.store.records.get("team-a/one"), record)
      assert.strictEqual(phase(world), "Ready")
      // The same value asks for nothing more, of the next operator neither.
      yield* passUntil(repairDue(world) + 180, 30)
      yield* world.operator.stop
      yield* world.startOperator()
      yield* pass(120, 10)
      assert.deepStrictEqual(looks(world), ["6.0.21"])
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue"])
      // Taken away and set again, it asks again.
      yield* annotate(world, { [ANNOTATION_PLAN]: null })
      yield* pass(5)
      assert.isUndefined(world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_DAY_TWO])
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.21" })
      yield* pass(60)
      assert.deepStrictEqual(looks(world), ["6.0.21", "6.0.21"])
    }),
  )

  it.effect("that fails says why, is tried again, and keeps nothing else waiting", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.lookFailures.push("Failed", "Failed")
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.23" })
      yield* pass(30)
      assert.match(stored(world).unreadable ?? "", /the program throws/)
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(300)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged"])
      assert.deepStrictEqual([...new Set(told(world).map(({ reason }) => reason))], ["PlanFailed", "Planned"])
      assert.isUndefined(stored(world).unreadable)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("of an instance that is being deleted is given up", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, { [ANNOTATION_PLAN]: "spec" })
      yield* pass(5)
      world.remove()
      yield* pass(180)
      assert.deepStrictEqual(
        world.pulumi.looks.map(({ outcome }) => outcome),
        ["interrupted"],
      )
      assert.isTrue(Option.isNone(world.status()))
    }),
  )

  it.effect(
    "is asked of what the spec will be: a change waits for it, and for somebody where it takes data",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.pulumi.seen.preview = { steps: grave, drifted: [] }
        yield* world.edit({
          metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } },
          spec: { version: "6.0.21" },
        })
        yield* pass(120)
        assert.deepStrictEqual([looks(world), reasons(world)], [["6.0.21"], ["FirstInstall"]])
        assert.match(
          condition(world, "Ready")?.message ?? "",
          /^generation 2 waits for approval, annotation \S+approved="2"; plan of version 6\.0\.21, generation 2: .*goes with its data: PersistentVolumeClaim wasmcloud\/data; version 6\.0\.22 is ready$/,
        )
        // Without the annotation it waits all the same.
        yield* annotate(world, { [ANNOTATION_PLAN]: null })
        yield* pass(120)
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
        yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
        yield* pass(120)
        assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
        assert.strictEqual(condition(world, "Ready")?.message, "version 6.0.21 is ready")
      }),
  )

  it.effect(
    "that takes data holds what comes after it, too, whatever else is looked at, until one takes none",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.pulumi.seen.preview = { steps: grave, drifted: [] }
        yield* world.edit({
          metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } },
          spec: { version: "6.0.21" },
        })
        yield* pass(120)
        // A look at another version takes the place of that plan, and none of what it has said.
        yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.23" })
        yield* pass(240)
        assert.deepStrictEqual(looks(world), ["6.0.21", "6.0.23", "6.0.21"])
        yield* annotate(world, { [ANNOTATION_PLAN]: null })
        yield* world.operator.stop
        yield* world.startOperator()
        yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
        yield* pass(240)
        assert.deepStrictEqual(looks(world), ["6.0.21", "6.0.23", "6.0.21", "6.0.21"])
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
        // Whoever takes it back has nothing to approve.
        world.pulumi.seen.preview = { steps: changed, drifted: [] }
        yield* world.edit({ spec: { version: "6.0.22" } })
        yield* pass(240)
        assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged"])
        assert.isUndefined(world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_DAY_TWO])
      }),
  )

  it.effect("that is lost while its change waits for it is made again", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: grave, drifted: [] }
      yield* world.edit({
        metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } },
        spec: { version: "6.0.21" },
      })
      yield* pass(120)
      yield* world.operator.stop
      world.store.plans.clear()
      yield* world.startOperator()
      yield* pass(120)
      assert.deepStrictEqual(looks(world), ["6.0.21", "6.0.21"])
      assert.deepStrictEqual(stored(world).deleted, ["PersistentVolumeClaim wasmcloud/data"])
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
    }),
  )

  it.effect("that takes no data is followed by its change", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: changed, drifted: [] }
      yield* world.edit({
        metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } },
        spec: { version: "6.0.21" },
      })
      yield* pass(180)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
      assert.deepStrictEqual(looks(world), ["6.0.21"])
    }),
  )
})

describe("approval", () => {
  it.effect("is waited for by a change, over restarts; repairs of what is installed need none", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: changed, drifted: [] }
      yield* annotate(world, { [ANNOTATION_APPROVE]: "required" })
      yield* passUntil(repairDue(world) + 120, 30)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue"])
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(120)
      assert.deepStrictEqual([looks(world), reasons(world).length], [["6.0.22"], 2])
      assert.deepStrictEqual(
        told(world).map(({ reason }) => reason),
        ["ApprovalPending", "Planned"],
      )
      const status = Option.getOrThrow(world.status())
      assert.deepStrictEqual([status.phase, status.observedGeneration], ["Ready", 1])
      assert.match(
        condition(world, "Ready")?.message ?? "",
        /^generation 2 waits for approval, .*create 1 \(ConfigMap 1\), update 1 \(Deployment 1\); version/,
      )
      yield* world.operator.stop
      yield* world.startOperator()
      // That of another generation is none of this one; a wrong one is none at all.
      yield* annotate(world, { [ANNOTATION_APPROVED]: "1" })
      yield* pass(60)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "yes" })
      yield* pass(3_600, 60)
      assert.deepStrictEqual([looks(world).length, reasons(world).length], [1, 2])
      assert.lengthOf(
        world.events.filter(({ reason }) => reason === "ApprovalPending"),
        1,
      )
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world).slice(2), ["SpecChanged"])
      assert.strictEqual(Option.getOrThrow(world.status()).observedGeneration, 2)
      // The next change waits again.
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world).slice(2), ["SpecChanged"])
    }),
  )

  it.effect("may come before the plan, and ends the look; a value it does not take does not lift it", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, { [ANNOTATION_APPROVE]: "required" })
      yield* pass(5)
      yield* annotate(world, { [ANNOTATION_APPROVE]: "no" })
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(5)
      assert.deepStrictEqual(
        world.pulumi.looks.map(({ outcome }) => outcome),
        ["running"],
      )
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(120)
      assert.deepStrictEqual(
        world.pulumi.looks.map(({ outcome }) => outcome),
        ["interrupted"],
      )
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
    }),
  )

  it.effect("is not given by a plan that cannot be read", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.lookFailures.push(...Array.from({ length: 50 }, () => "Failed" as const))
      yield* world.edit({
        metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } },
        spec: { version: "6.0.21" },
      })
      yield* pass(600, 5)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.isAbove(looks(world).length, 2)
      assert.match(condition(world, "Ready")?.message ?? "", /cannot be read: .*the program throws/)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
    }),
  )

  it.effect("is not needed by a first install", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* annotate(world, { [ANNOTATION_APPROVE]: "required", [ANNOTATION_PLAN]: "spec" })
      yield* pass(180)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(looks(world), ["6.0.22"])
    }),
  )
})

// An instance with a maintenance window: repairs and upgrades begin inside of it, and nothing else waits for it.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Option } from "effect"
import { ANNOTATION_PAUSED, ANNOTATION_PLAN, ANNOTATION_WINDOW } from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key, manifestOf } from "../support/instances.ts"
import { condition, outcomes, passUntil, phase, ready, reasons } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const annotate = (world: World, name: string, value: string | null) =>
  world.edit({ metadata: { annotations: { [name]: value } } })
/** The clock begins at 1970-01-01, a Thursday, 00:00 in UTC. */
const nightly = "02:00-04:00 UTC"
const hour = 3_600
const versions = (world: World) => world.pulumi.runs.map(({ request }) => request.version)
const installed = (world: World) => Option.getOrThrow(world.status()).installedVersion
const hoursOfRuns = (world: World) => world.pulumi.runs.map(({ at }) => Math.floor(at / 1_000 / hour))

const windowed = Effect.fnUntraced(function* (window = nightly) {
  const world = yield* ready()
  yield* annotate(world, ANNOTATION_WINDOW, window)
  yield* pass(10)
  return world
})

describe("an instance with a maintenance window", () => {
  it.effect("is repaired inside of it alone, as often as ever", () =>
    Effect.gen(function* () {
      const world = yield* windowed()
      const writes = world.statuses.length
      yield* passUntil(2 * hour - 10, 60)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      // A repair that waits is nobody's news.
      assert.strictEqual(world.statuses.length, writes)
      yield* passUntil(10 * hour, 60)
      const [, ...hours] = hoursOfRuns(world)
      assert.isAtLeast(hours.length, 3)
      assert.isTrue(hours.every((each) => each === 2 || each === 3))
    }),
  )

  it.effect("is upgraded when it opens, and says so until then", () =>
    Effect.gen(function* () {
      const world = yield* windowed()
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(20)
      assert.strictEqual(
        condition(world, "Ready")?.message,
        "version 6.0.21 waits for the maintenance window, which opens 1970-01-01T02:00:00Z; version 6.0.22 is ready",
      )
      assert.strictEqual(phase(world), "Ready")
      const told = JSON.stringify(world.statuses.at(-1))
      const writes = world.statuses.length
      // A look at what may come begins nothing, and says nothing else.
      yield* annotate(world, ANNOTATION_PLAN, "6.0.23")
      yield* passUntil(2 * hour - 10, 60)
      assert.deepStrictEqual(
        world.pulumi.looks.map(({ request }) => request.version),
        ["6.0.23"],
      )
      for (const status of world.statuses.slice(writes)) assert.strictEqual(JSON.stringify(status), told)
      assert.strictEqual(installed(world), "6.0.22")
      yield* pass(120)
      assert.strictEqual(installed(world), "6.0.21")
      assert.strictEqual(condition(world, "Ready")?.message, "version 6.0.21 is ready")
    }),
  )

  it.effect("gets its other settings at once, and is deleted at once", () =>
    Effect.gen(function* () {
      const world = yield* windowed()
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged"])
      world.remove()
      yield* pass(180)
      assert.isTrue(Option.isNone(world.status()))
    }),
  )

  it.effect("is installed first whenever it is", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* annotate(world, ANNOTATION_WINDOW, nightly)
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("does not wait with a retry: nor when the window closes or opens over a backoff", () =>
    Effect.gen(function* () {
      const world = yield* windowed()
      yield* passUntil(2 * hour - 5)
      for (let failure = 0; failure < 8; failure++) world.pulumi.failures.push("Failed")
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* passUntil(6 * hour, 30)
      // The first of them has waited for the opening.
      const first = world.pulumi.runs.findIndex(({ request }) => request.version === "6.0.21")
      assert.isAtLeast((world.pulumi.runs[first]?.at ?? 0) / 1_000, 2 * hour)
      assert.lengthOf(
        outcomes(world).filter((each) => each === "failed"),
        8,
      )
      assert.strictEqual(installed(world), "6.0.21")
    }),
  )

  it.effect("gives up its place in the queue when the window closes", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ maxConcurrentInstalls: 1 })
      yield* world.startOperator()
      world.apply()
      yield* annotate(world, ANNOTATION_WINDOW, "00:00-00:05 UTC")
      yield* pass(180)
      const other = { ...manifestOf(), metadata: { ...key, name: "two" } }
      // Its install never ends by itself.
      world.pulumi.endless.add("team-a/two")
      world.cluster.apply(Kinds.PlatformInstance, {
        ...other,
        spec: { version: "6.0.20", target: { type: "vcluster" } },
      })
      yield* pass(30)
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(300)
      world.cluster.end(Kinds.PlatformInstance, { ...key, name: "two" })
      yield* pass(600, 10)
      assert.notInclude(versions(world), "6.0.21")
      assert.match(
        condition(world, "Ready")?.message ?? "",
        /waits for the maintenance window, which opens 1970-01-02/,
      )
    }),
  )

  it.effect("ends outside of it what was cut off inside", () =>
    Effect.gen(function* () {
      const world = yield* windowed("00:00-00:04 UTC")
      yield* world.edit({ spec: { version: "6.0.21" } })
      while (!versions(world).includes("6.0.21")) yield* pass(1)
      yield* world.operator.stop
      yield* passUntil(hour, 60)
      yield* world.startOperator()
      yield* pass(120)
      assert.strictEqual(installed(world), "6.0.21")
      assert.isBelow((yield* Clock.currentTimeMillis) / 1_000, 2 * hour)
      assert.isUndefined(world.store.records.get("team-a/one")?.unfinished)
    }),
  )

  it.effect("has nothing that runs cut off for an upgrade that has to wait for it", () =>
    Effect.gen(function* () {
      const world = yield* windowed()
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      while (!reasons(world).includes("SpecChanged")) yield* pass(1)
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(300)
      assert.deepStrictEqual(outcomes(world), ["succeeded", "succeeded"])
      assert.deepStrictEqual(versions(world), ["6.0.22", "6.0.22"])
      yield* passUntil(2 * hour + 120, 60)
      assert.strictEqual(installed(world), "6.0.21")
    }),
  )

  it.effect(
    "that is also paused begins nothing when it opens, and waits for the next when the pause ends late",
    () =>
      Effect.gen(function* () {
        const world = yield* windowed()
        yield* annotate(world, ANNOTATION_PAUSED, "true")
        yield* passUntil(5 * hour, 60)
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
        yield* annotate(world, ANNOTATION_PAUSED, null)
        yield* passUntil(25 * hour, 60)
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
        yield* passUntil(26 * hour + 120, 60)
        assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue"])
      }),
  )

  it.effect("keeps it over a value that is none", () =>
    Effect.gen(function* () {
      const world = yield* windowed()
      yield* annotate(world, ANNOTATION_WINDOW, "whenever")
      yield* passUntil(2 * hour - 10, 60)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      const [told, ...more] = world.events.filter(({ reason }) => reason === "AnnotationInvalid")
      assert.include(told?.note ?? "", `"${nightly}" still counts`)
      assert.isEmpty(more)
    }),
  )
})

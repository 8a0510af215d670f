// Many instances and few permits.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { decoded, key, manifestOf } from "../support/instances.ts"
import { condition, outcomes, phase, ready, reasons } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const name = (number: number) => ({ namespace: "team-a", name: `i${number}` })
const applyMany = (world: World, count: number) => {
  for (let number = 0; number < count; number++)
    world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata: name(number) })
}
const isReady = (world: World, number: number) =>
  decoded(world.cluster.instance(name(number)) ?? assert.fail()).status?.phase === "Ready"
const runsOf = (world: World, number: number) =>
  world.pulumi.runs.filter(({ request }) => request.key.name === `i${number}`)
const running = (world: World) => outcomes(world).filter((each) => each === "running").length
const tenants = (tenant: string) => ({ spec: { platform: { tenants: [{ name: tenant }] } } })

describe("a change among many repairs that are overdue", () => {
  it.effect(
    "begins within the length of one operation; the repairs were not all due at once, and go on after it",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        applyMany(world, 12)
        const operator = yield* world.startOperator()
        while (!Array.from({ length: 12 }, (_, number) => isReady(world, number)).every(Boolean))
          yield* pass(30, 5)
        yield* operator.stop
        yield* pass(7_200, 3_600)
        yield* world.startOperator()
        yield* pass(2)
        assert.strictEqual(running(world), 0)
        // Their shares of 90 s have passed by then, and two of them run at a time.
        yield* pass(95, 5)
        assert.strictEqual(running(world), 2)
        const last = Array.from({ length: 12 }, (_, number) => number).find(
          (number) => runsOf(world, number).length === 1,
        )
        const chosen = last ?? assert.fail("every repair has begun")
        world.cluster.patch(
          Kinds.PlatformInstance,
          name(chosen),
          { type: "merge", patch: tenants("acme") },
          false,
        )
        const edited = yield* Clock.currentTimeMillis
        yield* pass(75)
        const change = runsOf(world, chosen)[1] ?? assert.fail("it has not begun")
        assert.deepInclude(change.request, { kind: "SpecChanged", generation: 2 })
        assert.isAtMost(change.at - edited, 65_000)
        yield* pass(420, 5)
        for (let number = 0; number < 12; number++) assert.lengthOf(runsOf(world, number), 2)
      }),
  )
})

describe("installs that never end", () => {
  it.effect("stop nobody else, and take turns at half of the permits", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ installTimeout: Duration.minutes(3) })
      for (const number of [0, 1]) world.pulumi.endless.add(`team-a/i${number}`)
      applyMany(world, 2)
      yield* world.startOperator()
      yield* pass(60)
      assert.strictEqual(running(world), 2)
      world.apply()
      // Both run into their timeout; from then on one permit is for the others.
      yield* pass(320, 2)
      assert.strictEqual(phase(world), "Ready")
      for (let edit = 0; edit < 4; edit++) {
        const { length } = world.pulumi.runs.filter(({ request }) => request.key.name === key.name)
        yield* world.edit(tenants(`t${edit}`))
        yield* pass(66, 2)
        const mine = world.pulumi.runs.filter(({ request }) => request.key.name === key.name)
        assert.lengthOf(mine, length + 1)
        assert.strictEqual(mine.at(-1)?.outcome, "succeeded")
      }
      yield* pass(600, 5)
      for (const number of [0, 1]) {
        const [first, ...retries] = runsOf(world, number)
        assert.strictEqual(first?.request.kind, "FirstInstall")
        assert.isAtLeast(retries.length, 1)
        for (const { request, at, endedAt } of retries) {
          assert.strictEqual(request.kind, "Retry")
          // Counted from the permit, however long it was waited for.
          if (endedAt !== undefined) assert.approximately(endedAt - at, 180_000, 1)
        }
      }
    }),
  )
})

describe("an install that waits for a permit", () => {
  const waiting = Effect.fnUntraced(function* () {
    const world = yield* makeWorld({ maxConcurrentInstalls: 1, installTimeout: Duration.minutes(10) })
    world.pulumi.endless.add("team-a/i0")
    applyMany(world, 1)
    yield* world.startOperator()
    while (running(world) === 0) yield* pass(1)
    world.apply()
    yield* pass(60)
    return world
  })

  it.effect("says so, and begins with the newest generation, which nobody had to interrupt", () =>
    Effect.gen(function* () {
      const world = yield* waiting()
      assert.strictEqual(phase(world), "Installing")
      const told = condition(world, "Ready")
      assert.deepInclude(told, { status: "False", reason: "Installing" })
      assert.match(told?.message ?? "", /^version 6\.0\.22 waits for its turn/)
      const writes = world.cluster.statusWrites()
      yield* pass(60)
      assert.strictEqual(world.cluster.statusWrites(), writes)
      yield* world.edit(tenants("acme"))
      yield* pass(10)
      assert.lengthOf(world.pulumi.runs, 1)
      yield* pass(600, 5)
      assert.strictEqual(phase(world), "Ready")
      const mine = world.pulumi.runs.filter(({ request }) => request.key.name === key.name)
      assert.deepStrictEqual(
        mine.map(({ request, outcome }) => [request.kind, request.generation, request.refresh, outcome]),
        [["FirstInstall", 2, false, "succeeded"]],
      )
      const stories = world.statuses.flatMap(({ conditions = [] }) =>
        conditions.map(({ message }) => message),
      )
      assert.include(stories, "installing version 6.0.22")
    }),
  )

  it.effect("runs the package as it is when the wait is over", () =>
    Effect.gen(function* () {
      const world = yield* waiting()
      world.pulumi.found.digest = "sha256:1"
      yield* pass(600, 5)
      assert.strictEqual(phase(world), "Ready")
      const mine = world.pulumi.runs.filter(({ request }) => request.key.name === key.name)
      assert.deepStrictEqual(
        mine.map(({ request }) => request.package.digest),
        ["sha256:1"],
      )
    }),
  )

  it.effect("takes none when its instance is deleted", () =>
    Effect.gen(function* () {
      const world = yield* waiting()
      world.remove()
      yield* pass(60)
      assert.isUndefined(world.cluster.instance(key))
      yield* pass(620, 5)
      assert.isTrue(world.pulumi.runs.every(({ request }) => request.key.name === "i0"))
    }),
  )
})

describe("a repair that waits for a permit", () => {
  it.effect("becomes the install of an edit", () =>
    Effect.gen(function* () {
      const world = yield* ready({ maxConcurrentInstalls: 1, installTimeout: Duration.minutes(60) })
      world.pulumi.endless.add("team-a/i0")
      yield* pass(1_690, 10)
      applyMany(world, 1)
      yield* pass(180, 5)
      assert.deepStrictEqual(reasons(world).slice(0, 2), ["FirstInstall", "FirstInstall"])
      assert.strictEqual(phase(world), "Ready")
      yield* world.edit(tenants("acme"))
      yield* pass(5)
      assert.strictEqual(phase(world), "Installing")
    }),
  )
})

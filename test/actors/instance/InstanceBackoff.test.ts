// How long an instance waits after failures.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { ANNOTATION_RECONCILE_REQUESTED } from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { condition, outcomes, phase, ready, reasons } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const failing = (world: World, times: number) => {
  for (let failure = 0; failure < times; failure++) world.pulumi.failures.push("Failed")
}
const failures = (world: World) => outcomes(world).filter((each) => each === "failed").length
/** Seconds between the end of each operation and the start of the next. */
const pauses = (world: World) =>
  world.pulumi.runs.slice(1).map(({ at }, index) => (at - (world.pulumi.runs[index]?.endedAt ?? 0)) / 1000)
const request = (world: World, value: string | null) =>
  world.edit({ metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED]: value } } })
const assertBetween = (value: number | undefined, least: number, most: number) => {
  assert.isAtLeast(value ?? Number.NaN, least)
  assert.isAtMost(value ?? Number.NaN, most)
}

describe("F10 an install that fails twenty times", () => {
  it.effect(
    "is tried once a pause, and no pause is longer than the longest",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        failing(world, 20)
        yield* world.startOperator()
        world.apply()
        while (failures(world) < 20) yield* pass(60, 10)
        yield* pass(1_100, 10)
        assert.strictEqual(phase(world), "Ready")
        const all = pauses(world)
        assert.lengthOf(all, 20)
        all.forEach((pause, index) => {
          const nominal = Math.min(2 ** index, 1_000)
          assertBetween(pause, 0.8 * nominal, nominal + 1)
        })
      }),
    600_000,
  )
})

describe("the pause after a failure", () => {
  it.effect("F47 is the first again after five failures and a success", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      failing(world, 5)
      yield* world.startOperator()
      world.apply()
      while (phase(world) !== "Ready") yield* pass(10)
      failing(world, 1)
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(130)
      assert.deepStrictEqual(reasons(world).slice(-2), ["SpecChanged", "Retry"])
      assert.strictEqual(phase(world), "Ready")
      assertBetween(pauses(world).at(-1), 0.8, 2)
    }),
  )

  it.effect("F47 is not cut short by whatever else wakes the actor", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      failing(world, 7)
      yield* world.startOperator()
      world.apply()
      while (failures(world) < 7) yield* pass(10)
      for (let second = 0; second < 40; second++) {
        yield* world.edit({ metadata: { labels: { second: String(second) } } })
        const [policy] = world.cluster.all(Kinds.NetworkPolicy)
        if (policy !== undefined && second % 10 === 0) world.cluster.end(Kinds.NetworkPolicy, policy.metadata)
        yield* pass(1)
      }
      yield* pass(100)
      assert.strictEqual(phase(world), "Ready")
      assertBetween(pauses(world).at(-1), 0.8 * 64, 65)
    }),
  )

  it.effect("F10 ends when somebody asks for it by a new annotation, once a value", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      failing(world, 9)
      yield* world.startOperator()
      world.apply()
      while (failures(world) < 7) yield* pass(10)
      yield* request(world, "1")
      yield* pass(62)
      assert.strictEqual(failures(world), 8)
      // The pause is the first one again.
      yield* pass(62)
      assert.strictEqual(failures(world), 9)
      assertBetween(pauses(world).at(-1), 0.8, 2)
      failing(world, 9)
      while (failures(world) < 14) yield* pass(10)
      yield* request(world, null)
      yield* request(world, "1")
      yield* pass(3)
      assert.lengthOf(world.pulumi.runs, 14)
      yield* request(world, "2")
      yield* pass(3)
      assert.lengthOf(world.pulumi.runs, 15)
    }),
  )

  it.effect("of a target ends when somebody asks for it, and a Ready instance is left alone", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let failure = 0; failure < 8; failure++) world.helm.failures.push("no space left on device")
      yield* world.startOperator()
      world.apply()
      while (world.helm.commands.length < 15) yield* pass(10)
      const before = world.helm.commands.length
      yield* request(world, "now")
      yield* pass(3)
      assert.isAbove(world.helm.commands.length, before)
      yield* pass(150)
      assert.strictEqual(phase(world), "Ready")
      const { length } = world.cluster.writes
      yield* request(world, "again")
      yield* pass(60)
      assert.lengthOf(world.cluster.writes, length)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
    }),
  )

  it.effect(
    "of a target doubles from 1 s to 1000 s, and is never drawn longer",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const refused = 13
        const at: Array<number> = []
        world.cluster.refusals.push(
          ...Array.from({ length: refused }, () => ({
            request: "APPLY networkpolicies",
            code: 403,
            reason: "Forbidden",
          })),
        )
        yield* world.startOperator()
        world.apply()
        let left = refused
        while (world.cluster.refusals.length > 0) {
          const step = at.length < 5 ? 0.1 : 1
          yield* pass(step, step)
          if (world.cluster.refusals.length < left) at.push(yield* Clock.currentTimeMillis)
          left = world.cluster.refusals.length
          if (left < refused)
            assert.match(condition(world, "TargetReady")?.message ?? "", /^apply network polic/)
        }
        assert.lengthOf(at, refused)
        at.slice(1).forEach((time, index) => {
          const nominal = Math.min(2 ** index, 1_000)
          // Looked at ten times a second, later once.
          assertBetween((time - (at[index] ?? Number.NaN)) / 1_000, 0.8 * nominal - 1, nominal + 1)
        })
        yield* pass(1_100, 10)
        assert.strictEqual(phase(world), "Ready")
      }),
    600_000,
  )

  it.effect("of a target ends with a change of the spec, and begins at its shortest again", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let failure = 0; failure < 10; failure++) world.helm.failures.push("no space left on device")
      yield* world.startOperator()
      world.apply()
      const installs = () => world.helm.commands.filter((command) => command === "install").length
      while (installs() < 7) yield* pass(1)
      // The pause would be a minute now.
      yield* pass(8)
      assert.strictEqual(installs(), 7)
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(3)
      assert.strictEqual(installs(), 8)
      yield* pass(8)
      assert.strictEqual(installs(), 9)
    }),
  )

  it.effect("of an install holds up no step that mends the target", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      failing(world, 7)
      yield* world.startOperator()
      world.apply()
      while (failures(world) < 7) yield* pass(10)
      const [policy] = world.cluster.all(Kinds.NetworkPolicy)
      world.cluster.end(Kinds.NetworkPolicy, policy?.metadata ?? assert.fail())
      world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster-headless" })
      yield* pass(5)
      assert.isDefined(world.cluster.find(Kinds.NetworkPolicy, policy?.metadata ?? assert.fail()))
      assert.isDefined(
        world.cluster.find(Kinds.Service, { namespace: world.host, name: "vcluster-headless" }),
      )
      assert.lengthOf(world.pulumi.runs, 7)
    }),
  )

  it.effect("grows as well when a quick step is undone by somebody else each time", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const applied = () =>
        world.cluster.writes.filter((write) => write.startsWith("APPLY networkpolicies/")).length
      const before = applied()
      // Another controller edits the policy whenever it is put right.
      let undone = 0
      world.cluster.listeners.push(({ kind, object, deleted }) => {
        const spec = JSON.stringify(object.spec)
        if (kind !== Kinds.NetworkPolicy || deleted || spec === "{}" || undone > 200) return
        undone += 1
        world.cluster.put(kind, object, { ...object, spec: {} })
      })
      const [policy] = world.cluster.all(Kinds.NetworkPolicy)
      world.cluster.end(Kinds.NetworkPolicy, policy?.metadata ?? assert.fail())
      yield* pass(60)
      assert.strictEqual(phase(world), "Failed")
      // Three quick ones, then pauses of 1, 2, 4, 8, 16 and 32 s; a policy of several is counted for each.
      const policies = world.cluster.all(Kinds.NetworkPolicy, { namespace: world.host }).length
      assert.isAtMost(applied() - before, 12 * policies)
    }),
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "../support/instances.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

/** A status without what tells when something happened, and under which UID. */
const timeless = (status: PlatformInstanceStatus) => ({
  ...status,
  target: undefined,
  conditions: status.conditions
    ?.map(({ lastTransitionTime: _, ...condition }) => condition)
    .toSorted((a, b) => (a.type < b.type ? -1 : 1)),
})

const restart = Effect.fnUntraced(function* (world: World, operator: { readonly stop: Effect.Effect<void> }) {
  yield* operator.stop
  return yield* world.startOperator()
})

const undisturbed = Effect.gen(function* () {
  const world = yield* makeWorld()
  yield* world.startOperator()
  world.apply()
  yield* pass(180)
  return timeless(Option.getOrThrow(world.status()))
})

describe("an operator that is restarted", () => {
  // The install of helm runs from 0 s to 2 s, the control plane comes up until 22 s, the install ends at 83 s.
  for (const at of [0, 1, 2, 3, 12, 22, 23, 24, 50, 82, 83, 84, 100]) {
    it.effect(`${at} s after an instance was created ends where an undisturbed one does`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const operator = yield* world.startOperator()
        world.apply()
        yield* pass(at)
        yield* restart(world, operator)
        yield* pass(180)
        const status = timeless(Option.getOrThrow(world.status()))
        assert.deepStrictEqual(status, yield* undisturbed)
        assert.strictEqual(world.pulumi.runs.filter(({ outcome }) => outcome === "succeeded").length, 1)
      }),
    )
  }

  it.effect("over and over still gets there once it is left alone", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      let operator = yield* world.startOperator()
      world.apply()
      for (let restarts = 0; restarts < 12; restarts++) {
        yield* pass(7)
        operator = yield* restart(world, operator)
      }
      yield* pass(180)
      assert.deepStrictEqual(timeless(Option.getOrThrow(world.status())), yield* undisturbed)
    }),
  )

  for (const at of [0, 1, 2, 3, 4, 6, 8, 10, 11, 12, 14]) {
    it.effect(`${at} s after an instance was deleted still deletes all of it`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const operator = yield* world.startOperator()
        world.apply()
        yield* pass(120)
        world.remove()
        yield* pass(at)
        yield* restart(world, operator)
        yield* pass(90)
        assert.isUndefined(world.cluster.instance(key))
        assert.isUndefined(world.cluster.find(Kinds.Namespace, { name: world.host }))
        assert.isEmpty(world.cluster.all(Kinds.Job))
        assert.strictEqual(world.store.records.size + world.store.states.size, 0)
      }),
    )
  }

  it.effect("after a failed install tries it again as what it is", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      world.pulumi.failures.push("Failed")
      const operator = yield* world.startOperator()
      world.apply()
      while (Option.getOrThrow(world.status()).phase !== "Failed") yield* pass(1)
      yield* restart(world, operator)
      yield* pass(120)
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ request }) => request.kind),
        ["FirstInstall", "Retry"],
      )
      assert.strictEqual(Option.getOrThrow(world.status()).phase, "Ready")
    }),
  )

  it.effect("over a status that was lost writes it again out of the record, without an install", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const operator = yield* world.startOperator()
      world.apply()
      yield* pass(120)
      const before = Option.getOrThrow(world.status())
      yield* operator.stop
      const live = world.cluster.instance(key) ?? assert.fail()
      const { status: _, ...without } = live
      const lost = world.cluster.put(Kinds.PlatformInstance, live, {
        ...without,
        metadata: live.metadata,
        apiVersion: live.apiVersion,
        kind: live.kind,
      })
      assert.isUndefined(lost.status)
      yield* world.startOperator()
      yield* pass(60)
      const after = Option.getOrThrow(world.status())
      assert.deepStrictEqual(timeless(after), timeless(before))
      assert.deepStrictEqual(after.target, before.target)
      assert.lengthOf(world.pulumi.runs, 1)
    }),
  )
})

describe("an instance that comes back with another UID", () => {
  it.effect("in the moment its predecessor goes starts afresh", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* pass(40)
      // Gone and created again before the operator has looked: one actor sees both lives.
      yield* world.edit({ metadata: { finalizers: [] } })
      world.remove()
      world.apply({ version: "6.0.23" })
      const { uid } = world.cluster.instance(key)?.metadata ?? assert.fail()
      yield* pass(180)
      assert.deepInclude(Option.getOrThrow(world.status()), { phase: "Ready", installedVersion: "6.0.23" })
      assert.strictEqual(world.store.records.get("team-a/one")?.uid, uid)
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ outcome }) => outcome),
        ["interrupted", "succeeded"],
      )
    }),
  )
})

describe("an actor that dies of a defect", () => {
  it.effect("is restarted, is told of, and its install goes on", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* pass(40)
      const [policy] = world.cluster.all(Kinds.NetworkPolicy)
      assert.isDefined(policy)
      for (let deaths = 0; deaths < 3; deaths++)
        world.cluster.refusals.push({ request: "APPLY networkpolicies", code: 0, reason: "Defect" })
      world.cluster.end(Kinds.NetworkPolicy, policy?.metadata ?? assert.fail())
      yield* pass(120)
      assert.lengthOf(
        world.events.filter(({ reason }) => reason === "InternalError"),
        3,
      )
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ outcome }) => outcome),
        ["succeeded"],
      )
      assert.deepStrictEqual(timeless(Option.getOrThrow(world.status())), yield* undisturbed)
    }),
  )
})

describe("an API server that refuses writes for a while", () => {
  for (const request of [
    "PATCH platforminstances/team-a/one status",
    "PATCH platforminstances/team-a/one",
    "POST namespaces",
    "APPLY networkpolicies",
    "APPLY secrets",
    "GET secrets",
  ]) {
    it.effect(`(${request}) costs time, and nothing else`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        for (let times = 0; times < 4; times++)
          world.cluster.refusals.push({ request, code: 500, reason: "InternalError" })
        yield* world.startOperator()
        world.apply()
        yield* pass(180)
        assert.isEmpty(world.cluster.refusals)
        assert.deepStrictEqual(timeless(Option.getOrThrow(world.status())), yield* undisturbed)
      }),
    )
  }
})

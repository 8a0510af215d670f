import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "../support/instances.ts"
import { condition, phase, ready } from "../support/readings.ts"
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

  /** A Ready instance whose next passes all die, and its policy removed, so that they do. */
  const dying = Effect.fnUntraced(function* (deaths: number) {
    const world = yield* ready()
    for (let death = 0; death < deaths; death++)
      world.cluster.refusals.push({ request: "APPLY networkpolicies", code: 0, reason: "Defect" })
    for (const { metadata } of world.cluster.all(Kinds.NetworkPolicy))
      world.cluster.end(Kinds.NetworkPolicy, metadata)
    return world
  })

  it.effect("three times in a row is told of in the status, until a pass is carried through again", () =>
    Effect.gen(function* () {
      const world = yield* dying(6)
      // It dies at 0 s, 1 s and 3 s, and then at 7 s, 15 s and 31 s: a little earlier, as the pauses are jittered.
      yield* pass(2)
      assert.strictEqual(phase(world), "Ready")
      yield* pass(2)
      assert.strictEqual(phase(world), "Failed")
      for (const type of ["TargetReady", "Ready"] as const) {
        assert.deepInclude(condition(world, type), { status: "False", reason: "TargetError" })
        assert.match(condition(world, type)?.message ?? "", /^internal error: .* log has the details$/)
      }
      // What is installed is not in doubt.
      assert.deepInclude(condition(world, "Installed"), { status: "True", reason: "FirstInstall" })
      const writes = world.cluster.statusWrites()
      yield* pass(12)
      assert.strictEqual(world.cluster.statusWrites(), writes)
      yield* pass(60)
      assert.isEmpty(world.cluster.refusals)
      assert.deepStrictEqual(timeless(Option.getOrThrow(world.status())), yield* undisturbed)
      assert.lengthOf(world.pulumi.runs, 1)
    }),
  )

  it.effect("now and then, with work carried through in between, is not", () =>
    Effect.gen(function* () {
      const world = yield* dying(2)
      yield* pass(10)
      for (let death = 0; death < 2; death++)
        world.cluster.refusals.push({ request: "APPLY networkpolicies", code: 0, reason: "Defect" })
      for (const { metadata } of world.cluster.all(Kinds.NetworkPolicy))
        world.cluster.end(Kinds.NetworkPolicy, metadata)
      yield* pass(10)
      assert.isEmpty(world.cluster.refusals)
      assert.notInclude(JSON.stringify(world.statuses), "internal error")
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("over a deletion says so as well, and the deletion goes on as soon as it can", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      for (let death = 0; death < 3; death++)
        world.cluster.refusals.push({ request: "DELETE namespaces", code: 0, reason: "Defect" })
      world.remove()
      yield* pass(6)
      assert.strictEqual(phase(world), "Deleting")
      assert.deepInclude(condition(world, "Ready"), { status: "False", reason: "TargetError" })
      // It is being taken away.
      assert.isUndefined(condition(world, "TargetReady"))
      yield* pass(5)
      assert.notInclude(condition(world, "Ready")?.message ?? "", "internal error")
      yield* pass(60)
      assert.isUndefined(world.cluster.instance(key))
    }),
  )

  it.effect("is restarted even when nobody can be told", () =>
    Effect.gen(function* () {
      const world = yield* dying(4)
      for (const reason of ["InternalError", "Defect"])
        world.cluster.refusals.push({
          request: "PATCH platforminstances/team-a/one status",
          code: 500,
          reason,
        })
      yield* pass(60)
      assert.isEmpty(world.cluster.refusals)
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("an API server that refuses writes for a while", () => {
  for (const request of [
    "PATCH platforminstances/team-a/one status",
    "PATCH platforminstances/team-a/one",
    "POST namespaces",
    "APPLY networkpolicies",
    // The first of its name is created: releases' records are Helm's.
    "POST secrets/team-a/",
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

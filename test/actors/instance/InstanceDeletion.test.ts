import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { findCondition } from "../../../src/schema/Conditions.ts"
import { cleanupJobName } from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "../support/instances.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const ready = Effect.fnUntraced(function* (spec?: Readonly<Record<string, unknown>>) {
  const world = yield* makeWorld()
  const operator = yield* world.startOperator()
  world.apply(spec)
  yield* pass(120)
  assert.strictEqual(phase(world), "Ready")
  return { ...world, operator }
})
const phase = (world: World) => Option.getOrUndefined(world.status())?.phase
const condition = (world: World, type: Parameters<typeof findCondition>[1]) =>
  findCondition(Option.getOrUndefined(world.status())?.conditions, type)
const isGone = (world: World) => world.cluster.instance(key) === undefined
const jobsMade = (world: World) => world.cluster.writes.filter((write) => write.startsWith("POST jobs/"))

/** What a `Delete` leaves behind: nothing of the instance. */
const assertNothingLeft = (world: World) => {
  assert.isTrue(isGone(world))
  assert.isUndefined(world.cluster.find(Kinds.Namespace, { name: world.host }))
  assert.isUndefined(world.cluster.find(Kinds.Secret, { namespace: "team-a", name: "one-kubeconfig" }))
  assert.isEmpty(world.cluster.all(Kinds.Job))
  assert.isEmpty(world.cluster.all(Kinds.Pod))
  assert.strictEqual(world.store.records.size + world.store.states.size, 0)
}

describe("deleting an instance", () => {
  it.effect("removes all of it, the finalizer last", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const uid = world.cluster.instance(key)?.metadata.uid ?? ""
      world.remove()
      yield* pass(5)
      assert.strictEqual(phase(world), "Deleting")
      assert.strictEqual(condition(world, "Ready")?.status, "False")
      yield* pass(60)
      assertNothingLeft(world)
      assert.deepStrictEqual(world.helm.commands, ["install", "uninstall"])
      assert.deepStrictEqual(jobsMade(world), [`POST jobs/ops/${cleanupJobName(key, uid)}`])
      assert.strictEqual(
        world.cluster.writes.findLast((write) => !write.endsWith(" status")),
        "PATCH platforminstances/team-a/one",
      )
    }),
  )

  it.effect("of which nothing has been made yet ends, too", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* pass(0)
      world.remove()
      yield* pass(60)
      assertNothingLeft(world)
    }),
  )

  it.effect("ends a running install first, and starts no other", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      while (world.pulumi.runs.length === 0) yield* pass(1)
      world.remove()
      yield* pass(60)
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ outcome }) => outcome),
        ["interrupted"],
      )
      assertNothingLeft(world)
    }),
  )

  it.effect("ends a running install of helm first", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      while (world.helm.commands.length === 0) yield* pass(1)
      world.remove()
      yield* pass(60)
      assertNothingLeft(world)
    }),
  )

  it.effect("does not wait out the pause of an install that keeps failing", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let failures = 0; failures < 9; failures++) world.pulumi.failures.push("Failed")
      yield* world.startOperator()
      world.apply()
      while (world.pulumi.runs.filter(({ outcome }) => outcome === "failed").length < 8) yield* pass(10)
      world.remove()
      yield* pass(60)
      assertNothingLeft(world)
    }),
  )

  it.effect("starts no cleanup of a custom storage root", () =>
    Effect.gen(function* () {
      const world = yield* ready({ platform: { storageRoot: "/mine" } })
      world.remove()
      yield* pass(60)
      assertNothingLeft(world)
      assert.isEmpty(jobsMade(world))
    }),
  )

  it.effect("that nobody deletes the namespace of waits for it, and says so", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const namespace = world.cluster.find(Kinds.Namespace, { name: world.host }) ?? assert.fail()
      world.cluster.refusals.push({
        request: `DELETE namespaces/${world.host}`,
        code: 403,
        reason: "Forbidden",
      })
      world.remove()
      yield* pass(4)
      assert.deepInclude(condition(world, "TargetReady"), { status: "False", reason: "TargetDeleteFailed" })
      assert.match(condition(world, "Ready")?.message ?? "", /^delete host namespace: /)
      assert.strictEqual(phase(world), "Deleting")
      assert.isDefined(namespace)
      yield* pass(60)
      assertNothingLeft(world)
    }),
  )
})

describe("a cleanup that fails", () => {
  it.effect("is told with its path, and tried again after 10 s, then 20 s", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.jobs.push("Failed", "Failed")
      world.remove()
      const started: Array<number> = []
      for (let second = 0; second < 90; second++) {
        if (jobsMade(world).length > started.length) started.push(second)
        yield* pass(1)
        if (second === 25) {
          assert.deepInclude(condition(world, "Installed"), {
            status: "False",
            reason: "StorageCleanupFailed",
          })
          assert.match(condition(world, "Ready")?.message ?? "", /\/base\/team-a\/one/)
          assert.strictEqual(phase(world), "Deleting")
        }
      }
      assertNothingLeft(world)
      const pauses = started.slice(1).map((at, index) => at - (started[index] ?? 0) - 5)
      assert.lengthOf(started, 3)
      for (const [index, least] of [10, 20].entries()) {
        assert.isAtLeast(pauses[index] ?? 0, least)
        assert.isAtMost(pauses[index] ?? 0, least + 3)
      }
    }),
  )

  it.effect("is left when a person asks for it, and the instance goes", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      for (let failures = 0; failures < 20; failures++) world.jobs.push("Failed")
      world.remove()
      yield* pass(60)
      assert.isFalse(isGone(world))
      yield* world.edit({
        metadata: { annotations: { "platform.di-framework.dev/skip-storage-cleanup": "true" } },
      })
      yield* pass(10)
      assertNothingLeft(world)
    }),
  )

  it.effect("is left when the instance is switched to Retain", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      for (let failures = 0; failures < 20; failures++) world.jobs.push("Failed")
      world.remove()
      yield* pass(60)
      yield* world.edit({ spec: { deletionPolicy: "Retain" } })
      yield* pass(10)
      assert.isTrue(isGone(world))
      assert.isEmpty(world.cluster.all(Kinds.Job))
    }),
  )
})

describe("retaining an instance", () => {
  const retained = Effect.gen(function* () {
    const world = yield* ready({ deletionPolicy: "Retain" })
    world.remove()
    yield* pass(20)
    assert.isTrue(isGone(world))
    return world
  })

  it.effect("keeps vCluster, state and record, and starts no cleanup", () =>
    Effect.gen(function* () {
      const world = yield* retained
      assert.isDefined(world.cluster.find(Kinds.StatefulSet, { namespace: world.host, name: "vcluster" }))
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.isEmpty(jobsMade(world))
      assert.deepStrictEqual([world.store.records.size, world.store.states.size], [1, 1])
    }),
  )

  it.effect("lets the next of its name pick all of it up, with its own settings applied", () =>
    Effect.gen(function* () {
      const world = yield* retained
      const record = world.store.records.get("team-a/one")
      world.apply({ platform: { tenants: [{ name: "acme" }] } })
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ request }) => request.kind),
        ["FirstInstall", "SpecChanged"],
      )
      assert.strictEqual(
        world.pulumi.runs[1]?.request.clusterIdentifier,
        world.pulumi.runs[0]?.request.clusterIdentifier,
      )
      assert.deepStrictEqual(world.store.records.get("team-a/one")?.storageRoot, record?.storageRoot)
      assert.strictEqual(Option.getOrThrow(world.status()).applied?.tenants, 1)
    }),
  )

  it.effect("lets no settings of the last one count as the next one's, whatever their generations", () =>
    Effect.gen(function* () {
      const world = yield* retained
      world.apply({ platform: { tenants: [{ name: "acme" }] } })
      // The operator is stopped in the middle of the first install of this life.
      while (world.pulumi.runs.length < 2) yield* pass(1)
      yield* pass(5)
      yield* world.operator.stop
      yield* world.startOperator()
      yield* pass(120)
      assert.strictEqual(world.pulumi.runs.at(-1)?.outcome, "succeeded")
      assert.lengthOf(world.pulumi.runs, 3)
      assert.deepInclude(Option.getOrThrow(world.status()), { phase: "Ready", observedGeneration: 1 })
      assert.strictEqual(Option.getOrThrow(world.status()).applied?.tenants, 1)
    }),
  )
})

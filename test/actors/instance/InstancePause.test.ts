// An instance that is paused: nothing of it is written, what runs ends, and what came meanwhile is acted on afterwards.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { ANNOTATION_DAY_TWO, ANNOTATION_PAUSED } from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key, manifestOf } from "../support/instances.ts"
import { condition, outcomes, passUntil, phase, ready, reasons, repairDue } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const annotate = (world: World, value: string | null) =>
  world.edit({ metadata: { annotations: { [ANNOTATION_PAUSED]: value } } })
const told = (world: World) =>
  world.events.filter(({ reason }) => ["Paused", "Resumed", "AnnotationInvalid"].includes(reason))
const hour = 3_600

describe("a paused instance", () => {
  it.effect("is not repaired, and not put right; when the pause ends, all of it is", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, "true")
      yield* pass(30)
      assert.match(
        condition(world, "Ready")?.message ?? "",
        /^paused since \S+Z: nothing is written until annotation \S+\/paused goes; version 6\.0\.22 is ready$/,
      )
      assert.strictEqual(condition(world, "Ready")?.status, "True")
      const secret = { ...key, name: `${key.name}-kubeconfig` }
      const policy = { namespace: world.host, name: "platform-operator-control-plane" }
      world.cluster.end(Kinds.Secret, secret)
      world.cluster.end(Kinds.NetworkPolicy, policy)
      const writes = world.statuses.length
      yield* passUntil(repairDue(world) + 5 * hour, 60)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.isTrue(world.cluster.find(Kinds.Secret, secret) === undefined)
      assert.isTrue(world.cluster.find(Kinds.NetworkPolicy, policy) === undefined)
      // That the kubeconfig is gone is a change of the status; nothing else is.
      assert.isAtMost(world.statuses.length - writes, 1)
      yield* annotate(world, null)
      yield* pass(60)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue"])
      assert.isTrue(world.cluster.find(Kinds.Secret, secret) !== undefined)
      assert.isTrue(world.cluster.find(Kinds.NetworkPolicy, policy) !== undefined)
      assert.strictEqual(condition(world, "Ready")?.message, "version 6.0.22 is ready")
      assert.deepStrictEqual(
        told(world).map(({ reason }) => reason),
        ["Paused", "Resumed"],
      )
      assert.match(told(world)[1]?.note ?? "", /after 5h \d+m/)
      assert.isUndefined(world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_DAY_TWO])
    }),
  )

  it.effect("is left to end what runs; its next spec is installed when the pause ends", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(20)
      assert.lengthOf(world.pulumi.runs, 2)
      yield* annotate(world, "true")
      // Another version would interrupt it, if anything could follow.
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(300)
      assert.deepStrictEqual(outcomes(world), ["succeeded", "succeeded"])
      const status = Option.getOrThrow(world.status())
      assert.deepStrictEqual([status.installedVersion, status.observedGeneration], ["6.0.22", 2])
      assert.strictEqual(status.phase, "Ready")
      yield* annotate(world, "false")
      yield* pass(120)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged", "VersionChanged"])
      assert.strictEqual(Option.getOrThrow(world.status()).installedVersion, "6.0.21")
    }),
  )

  it.effect("gives up its place in the queue", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ maxConcurrentInstalls: 1 })
      yield* world.startOperator()
      world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata: { ...key, name: "two" } })
      yield* pass(20)
      world.apply()
      yield* pass(30)
      assert.lengthOf(world.pulumi.runs, 1)
      yield* annotate(world, "true")
      yield* pass(300)
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ request }) => request.key.name),
        ["two"],
      )
      assert.match(condition(world, "Ready")?.message ?? "", /^paused since/)
      yield* annotate(world, null)
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("keeps no other vCluster from starting", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ maxConcurrentTargets: 1 })
      yield* world.startOperator()
      world.apply()
      while (!world.helm.commands.includes("install")) yield* pass(1)
      yield* annotate(world, "true")
      yield* pass(20)
      const other = { ...key, name: "two" }
      world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata: other })
      yield* pass(180)
      const started = world.pulumi.runs.map(({ request }) => request.key.name)
      assert.deepStrictEqual(started, ["two"])
      yield* annotate(world, null)
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("from its first moment on is not begun, and not by the next operator either", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const operator = yield* world.startOperator()
      world.apply()
      yield* annotate(world, "true")
      yield* pass(60)
      yield* operator.stop
      yield* world.startOperator()
      yield* pass(600, 10)
      assert.isUndefined(world.cluster.find(Kinds.Namespace, { name: world.host }))
      assert.isEmpty(world.pulumi.runs)
      assert.strictEqual(phase(world), "Provisioning")
      assert.lengthOf(told(world), 1)
      yield* annotate(world, null)
      yield* pass(180)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("that has lost its control plane says so, and gets it back after the pause", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, "true")
      yield* pass(5)
      world.cluster.end(Kinds.StatefulSet, { namespace: world.host, name: "vcluster" })
      yield* pass(300, 10)
      assert.isEmpty(world.helm.commands.filter((command) => command === "reapply"))
      assert.strictEqual(condition(world, "TargetReady")?.reason, "Repairing")
      assert.match(
        condition(world, "TargetReady")?.message ?? "",
        /^paused since .*; then putting back statefulset\/vcluster/,
      )
      yield* annotate(world, null)
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("is deleted all the same", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, "true")
      yield* pass(5)
      world.remove()
      yield* pass(180)
      assert.isTrue(Option.isNone(world.status()))
    }),
  )

  it.effect("that has failed many times is retried as soon as the pause ends", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let failure = 0; failure < 10; failure++) world.pulumi.failures.push("Failed")
      yield* world.startOperator()
      world.apply()
      while (outcomes(world).filter((each) => each === "failed").length < 10) yield* pass(10)
      yield* annotate(world, "true")
      yield* pass(20)
      yield* annotate(world, null)
      yield* pass(60)
      assert.deepStrictEqual(outcomes(world).slice(10), ["succeeded"])
    }),
  )

  it.effect("whose failure is waited out is retried after the pause alone", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let failure = 0; failure < 5; failure++) world.pulumi.failures.push("Failed")
      yield* world.startOperator()
      world.apply()
      while (outcomes(world).filter((each) => each === "failed").length < 5) yield* pass(1)
      yield* annotate(world, "true")
      yield* pass(600, 10)
      assert.lengthOf(world.pulumi.runs, 5)
      assert.strictEqual(phase(world), "Failed")
      const messages = ["Installed", "Ready"] as const
      const [installed, readiness] = messages.map((type) => condition(world, type)?.message)
      assert.match(readiness ?? "", /^paused since/)
      assert.strictEqual(installed, readiness)
      yield* annotate(world, null)
      yield* pass(120)
      assert.deepStrictEqual(outcomes(world).slice(5), ["succeeded"])
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("a value that an annotation does not take", () => {
  it.effect("is told once, and does not end a pause", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, "true")
      yield* pass(5)
      yield* annotate(world, "no")
      yield* passUntil(repairDue(world) + hour, 60)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      yield* world.operator.stop
      yield* world.startOperator()
      yield* pass(hour, 60)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.deepStrictEqual(
        told(world).map(({ type, reason }) => `${type} ${reason}`),
        ["Normal Paused", "Warning AnnotationInvalid"],
      )
      assert.isFalse(told(world).at(-1)?.paced, "another wrong value is told at once")
    }),
  )

  it.effect("begins no pause, and stops nothing", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, "yes")
      yield* passUntil(repairDue(world) + 90, 10)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue"])
      assert.strictEqual(condition(world, "Ready")?.message, "version 6.0.22 is ready")
    }),
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Option } from "effect"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "../support/instances.ts"
import { condition, outcomes, phase, ready, reasons } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const losses = {
  Secret: (world: World) => world.cluster.end(Kinds.Secret, { namespace: world.host, name: "vc-vcluster" }),
  Service: (world: World) => world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster" }),
} as const

const serviceUID = (world: World) =>
  world.cluster.find(Kinds.Service, { namespace: world.host, name: "vcluster" })?.metadata.uid
const restarts = (world: World) => world.controlPlanes.starts.length - 1
const status = (world: World) => Option.getOrThrow(world.status())
/** The story from here on. */
const storyAfter = (world: World, lines: number) => world.story().slice(lines)

/** Where every resync ends, however often it was disturbed. */
const assertResynced = (world: World, installs: ReadonlyArray<string> = ["FirstInstall", "Resync"]) => {
  assert.strictEqual(phase(world), "Ready")
  assert.isEmpty(status(world).conditions?.filter((each) => each.status !== "True"))
  assert.deepInclude(condition(world, "Installed"), { status: "True", reason: "Resync" })
  assert.deepStrictEqual(status(world).target, { serviceUID: serviceUID(world) ?? assert.fail() })
  assert.isUndefined(world.store.records.get("team-a/one")?.resync)
  assert.strictEqual(restarts(world), 1)
  const last = world.controlPlanes.starts.at(-1)
  assert.strictEqual(last?.ownerUID, serviceUID(world))
  assert.deepStrictEqual(
    world.pulumi.runs.filter(({ outcome }) => outcome === "succeeded").map(({ request }) => request.kind),
    installs,
  )
}

describe("a vCluster's kubeconfig Secret that is lost", () => {
  it.effect("is written again by a restart of the control plane, and the platform is installed again", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const lines = world.story().length
      losses.Secret(world)
      yield* pass(120)
      assert.deepStrictEqual(storyAfter(world, lines), [
        "Provisioning: KubeconfigMissing, TargetPending",
        "Provisioning: Resyncing, TargetPending",
        "Installing: Ready, Installing",
        "Ready: Ready, Ready",
      ])
      assertResynced(world)
      // The Service is untouched, and so is what it owns.
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.isTrue(world.pulumi.runs[1]?.request.refresh)
      assert.deepStrictEqual(
        world.events.map(({ type, reason }) => `${type} ${reason}`),
        ["Normal FirstInstall", "Normal Resync"],
      )
    }),
  )

  it.effect("restarts the control plane once, however late its pod is seen to end", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.cluster.lag.set(Kinds.Pod, Duration.seconds(20))
      losses.Secret(world)
      yield* pass(180)
      assertResynced(world)
      assert.deepStrictEqual(
        world.events.map(({ type, reason }) => `${type} ${reason}`),
        ["Normal FirstInstall", "Normal Resync"],
      )
    }),
  )
})

describe("an owner Service that is lost", () => {
  it.effect("comes back from the stored release, then its control plane is restarted; reason Resync", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const lines = world.story().length
      const before = serviceUID(world)
      losses.Service(world)
      assert.isUndefined(world.cluster.find(Kinds.Secret, { namespace: world.host, name: "vc-vcluster" }))
      yield* pass(120)
      assert.deepStrictEqual(storyAfter(world, lines), [
        "Provisioning: Resyncing, TargetPending",
        "Installing: Ready, Installing",
        "Ready: Ready, Ready",
      ])
      assertResynced(world)
      assert.notStrictEqual(serviceUID(world), before)
      assert.deepStrictEqual(world.helm.commands, ["install", "reapply"])
    }),
  )

  it.effect("and was put back by somebody else is told by its UID alone", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const lost = world.cluster.find(Kinds.Service, { namespace: world.host, name: "vcluster" })
      losses.Service(world)
      const again = world.cluster.create(Kinds.Service, lost ?? assert.fail())
      assert.notStrictEqual(again.metadata.uid, lost?.metadata.uid)
      yield* pass(120)
      assertResynced(world)
      assert.deepStrictEqual(world.helm.commands, ["install"])
    }),
  )

  it.effect("and put back with a pod of its own while the operator is away is told by its UID alone", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      const lost = world.cluster.find(Kinds.Service, { namespace: world.host, name: "vcluster" })
      losses.Service(world)
      assert.isDefined(world.cluster.create(Kinds.Service, lost ?? assert.fail()))
      world.cluster.end(Kinds.Pod, { namespace: world.host, name: "vcluster-0" })
      yield* pass(40)
      // All of it is up, but what else the old Service owned is gone.
      yield* world.startOperator()
      yield* pass(120)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "Resync"])
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(status(world).target, { serviceUID: serviceUID(world) ?? assert.fail() })
    }),
  )

  it.effect("while the operator is away is noticed when it is back", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      losses.Service(world)
      yield* world.startOperator()
      yield* pass(120)
      assertResynced(world)
    }),
  )
})

describe("an owner Service that is lost before its vCluster has served", () => {
  for (const at of [3, 12, 21]) {
    it.effect(`${at} s after the instance was created holds nothing up for good`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.startOperator()
        world.apply()
        yield* pass(at)
        losses.Service(world)
        yield* pass(150)
        assertResynced(world, ["Resync"])
      }),
    )
  }
})

describe("the status during a resync", () => {
  for (const lose of Object.values(losses)) {
    it.effect("tells Service and time before the pod is deleted, and until the install has ended", () =>
      Effect.gen(function* () {
        const world = yield* ready()
        const atRestart: Array<PlatformInstanceStatus["target"]> = []
        world.cluster.listeners.push(({ kind, object, deleted }) => {
          if (kind !== Kinds.Pod || object.metadata.name !== "vcluster-0" || deleted) return
          if (object.metadata.deletionTimestamp !== undefined) atRestart.push(status(world).target)
        })
        lose(world)
        yield* pass(60)
        assert.deepStrictEqual(outcomes(world), ["succeeded", "running"])
        const target = status(world).target
        assert.deepStrictEqual(atRestart, [target])
        assert.strictEqual(target?.resyncServiceUID, serviceUID(world))
        assert.match(target?.resyncStarted ?? "", /^1970-01-01T00:02:0\dZ$/)
        assert.strictEqual(phase(world), "Installing")
        assert.deepInclude(condition(world, "Ready"), { status: "False", reason: "Installing" })
        assert.deepInclude(condition(world, "TargetReady"), { status: "True" })
        yield* pass(60)
        assertResynced(world)
      }),
    )
  }
})

describe("a resync whose install fails", () => {
  it.effect("stays pending, is tried again as Resync with growing pauses, and restarts nothing again", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.failures.push("Failed", "Failed", "Failed")
      losses.Service(world)
      while (phase(world) !== "Failed") yield* pass(1)
      assert.deepInclude(condition(world, "Ready"), { status: "False", reason: "InstallFailed" })
      assert.strictEqual(status(world).target?.resyncServiceUID, serviceUID(world))
      yield* pass(300)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "Resync", "Resync", "Resync", "Resync"])
      const starts = world.pulumi.runs.slice(1).map(({ at }) => at / 1000)
      const pauses = starts.slice(1).map((at, index) => at - (starts[index] ?? 0) - 60)
      pauses.forEach((pause, index) => {
        assert.isAtLeast(pause, 0.8 * 2 ** index)
        assert.isAtMost(pause, 2 ** index + 1)
      })
      assertResynced(world)
    }),
  )

  it.effect("is tried at once when the spec is mended, which needs no install of its own", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      for (let failures = 0; failures < 6; failures++) world.pulumi.failures.push("Failed")
      losses.Secret(world)
      while (outcomes(world).filter((each) => each === "failed").length < 6) yield* pass(10)
      yield* world.edit({ spec: { version: "6.0.23" } })
      yield* pass(75)
      assert.deepInclude(world.pulumi.runs.at(-1)?.request, { kind: "Resync", version: "6.0.23" })
      assertResynced(world)
      assert.strictEqual(status(world).applied?.generation, 2)
    }),
  )
})

describe("a resync that does not get on", () => {
  it.effect("is told as unreachable after three repair intervals, naming where it waits, and goes on", () =>
    Effect.gen(function* () {
      const world = yield* ready({ repairInterval: Duration.minutes(4) })
      world.controlPlanes.broken.add(world.host)
      losses.Secret(world)
      yield* pass(12 * 60 - 5, 5)
      assert.strictEqual(condition(world, "TargetReady")?.reason, "Resyncing")
      assert.strictEqual(phase(world), "Provisioning")
      yield* pass(20, 5)
      assert.strictEqual(phase(world), "Failed")
      for (const type of ["TargetReady", "Ready"] as const) {
        assert.strictEqual(condition(world, type)?.reason, "TargetUnreachable")
        assert.match(
          condition(world, type)?.message ?? "",
          /three repair intervals: statefulset\/vcluster has 0/,
        )
      }
      world.controlPlanes.broken.clear()
      yield* pass(120)
      assertResynced(world)
    }),
  )
})

describe("a resync", () => {
  it.effect("ends a running install first, and puts its own in its place", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(10)
      losses.Service(world)
      yield* pass(120)
      assert.deepStrictEqual(outcomes(world), ["succeeded", "interrupted", "succeeded"])
      assertResynced(world)
      assert.deepInclude(status(world).applied, { generation: 2, tenants: 1 })
    }),
  )

  it.effect("whose new Service is lost as well begins again with the next one", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      losses.Service(world)
      yield* pass(50)
      losses.Service(world)
      yield* pass(150)
      assert.strictEqual(phase(world), "Ready")
      assert.strictEqual(restarts(world), 2)
      assert.deepStrictEqual(status(world).target, { serviceUID: serviceUID(world) ?? assert.fail() })
      assert.deepStrictEqual(reasons(world).slice(-1), ["Resync"])
    }),
  )

  it.effect("whose new Secret is lost as well restarts once more", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      losses.Service(world)
      yield* pass(50)
      losses.Secret(world)
      yield* pass(150)
      assert.strictEqual(phase(world), "Ready")
      assert.strictEqual(restarts(world), 2)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "Resync", "Resync"])
      assert.deepStrictEqual(status(world).target, { serviceUID: serviceUID(world) ?? assert.fail() })
    }),
  )

  it.effect("of an instance that is deleted meanwhile ends with it", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      losses.Service(world)
      yield* pass(10)
      world.remove()
      yield* pass(90)
      assert.isUndefined(world.cluster.instance(key))
      assert.isUndefined(world.cluster.find(Kinds.Namespace, { name: world.host }))
      assert.strictEqual(world.store.records.size + world.store.states.size, 0)
    }),
  )
})

describe("a resync over an operator that is stopped", () => {
  // A lost Service is put back until 2 s, its pod ends until 5 s, the next is up at 24 s, the install ends at 86 s.
  const moments = { Secret: [0, 1, 3, 22, 23, 50], Service: [0, 1, 2, 3, 5, 6, 12, 24, 25, 26, 50, 85, 86] }
  for (const what of ["Secret", "Service"] as const) {
    for (const at of moments[what]) {
      it.effect(`${at} s after the ${what} was lost ends where an undisturbed one does`, () =>
        Effect.gen(function* () {
          const world = yield* ready()
          losses[what](world)
          yield* pass(at)
          yield* world.operator.stop
          yield* world.startOperator()
          yield* pass(160)
          assertResynced(world)
        }),
      )
    }
  }
})

describe("a resync whose actor dies", () => {
  const requests = [
    "GET services/",
    "GET secrets/",
    "GET pods/",
    "PATCH platforminstances/team-a/one status",
    "DELETE pods/",
    "APPLY secrets/team-a/one-kubeconfig",
  ]
  for (const request of requests) {
    for (const reason of ["Defect", "DefectAfter"]) {
      it.effect(
        `${reason === "Defect" ? "before" : "after"} ${request} goes on from what it has written`,
        () =>
          Effect.gen(function* () {
            const world = yield* ready()
            world.cluster.refusals.push({ request, code: 0, reason })
            losses.Service(world)
            yield* pass(150)
            assert.isEmpty(world.cluster.refusals)
            assertResynced(world)
          }),
      )
    }
  }
})

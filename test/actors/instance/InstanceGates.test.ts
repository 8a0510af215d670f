// What a target has to pass before it counts as ready, and what takes that away again.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Metric } from "effect"
import { hostNamespace } from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { manifestOf } from "../support/instances.ts"
import { condition, phase, ready, reasons } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const started = Effect.fnUntraced(function* (choices?: Parameters<typeof makeWorld>[0]) {
  const world = yield* makeWorld(choices)
  yield* world.startOperator()
  world.apply()
  return world
})
const targetReasons = (world: World) =>
  world.statuses.flatMap(({ conditions = [] }) =>
    conditions.flatMap(({ type, reason }) => (type === "TargetReady" ? [reason] : [])),
  )
const source = (world: World) => ({ namespace: world.host, name: "vc-vcluster" })

const dnsLost = Effect.map(Metric.snapshot, (metrics) =>
  metrics.reduce(
    (sum, metric) =>
      metric.type === "Counter" && metric.id === "platform_operator_target_dns_lost_total"
        ? sum + Number(metric.state.count)
        : sum,
    0,
  ),
)

describe("the API of a Ready instance", () => {
  for (const [what, message, after] of [
    ["that answers nothing, behind a pod that is ready", "no answer within 5000 ms", "5 seconds"],
    ["whose certificate has expired", "certificate has expired", "0 seconds"],
  ] as const) {
    it.effect(`${what}, is told within 60 s, and that it is back within a poll`, () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.network.fault = { message, after }
        yield* pass(19)
        assert.strictEqual(condition(world, "Ready")?.status, "True")
        yield* pass(41)
        for (const type of ["TargetReady", "Ready"] as const) {
          assert.deepInclude(condition(world, type), { status: "False", reason: "TargetUnreachable" })
          assert.include(condition(world, type)?.message ?? "", `https://vcluster.${world.host}.svc:443`)
          assert.include(condition(world, type)?.message ?? "", message)
        }
        world.network.fault = undefined
        yield* pass(16)
        assert.strictEqual(phase(world), "Ready")
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      }),
    )
  }

  it.effect("counts failed polls alone, however often something else looks at the instance", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.network.reachable = false
      for (let second = 0; second < 19; second++) {
        yield* world.edit({ metadata: { labels: { second: String(second) } } })
        yield* pass(1)
      }
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("the DNS inside a Ready instance", () => {
  it.effect("that has died is one Warning each time, counted, and no condition", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const counted = yield* dnsLost
      const warnings = () => world.events.filter(({ reason }) => reason === "DnsUnavailable")
      const { length } = world.statuses
      for (const died of [1, 2]) {
        world.network.dns = false
        yield* pass(130)
        assert.lengthOf(warnings(), died)
        assert.strictEqual((yield* dnsLost) - counted, died)
        world.network.dns = true
        yield* pass(40)
      }
      assert.lengthOf(world.statuses, length)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("that is away for a moment is nothing", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.network.dns = false
      yield* pass(55)
      world.network.dns = true
      yield* pass(120)
      assert.isEmpty(world.events.filter(({ reason }) => reason === "DnsUnavailable"))
    }),
  )
})

describe("a first kubeconfig that is lost before it was stored", () => {
  it.effect("is waited for 2 minutes, then the control plane is restarted, once", () =>
    Effect.gen(function* () {
      const world = yield* started()
      let lost = 0
      world.cluster.listeners.push(({ kind, object, deleted }) => {
        if (kind !== Kinds.Secret || deleted || object.metadata.name !== "vc-vcluster" || lost > 0) return
        lost += 1
        world.cluster.end(kind, source(world))
      })
      yield* pass(120)
      assert.strictEqual(condition(world, "TargetReady")?.reason, "KubeconfigPending")
      yield* pass(200)
      assert.strictEqual(lost, 1)
      assert.lengthOf(world.controlPlanes.starts, 2)
      assert.include(targetReasons(world), "KubeconfigMissing")
      assert.deepStrictEqual(reasons(world), ["Resync"])
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("each time is restarted for no more than once, and told as unreachable", () =>
    Effect.gen(function* () {
      const world = yield* started({ repairInterval: Duration.minutes(4) })
      world.cluster.listeners.push(({ kind, object, deleted }) => {
        if (kind === Kinds.Secret && !deleted && object.metadata.name === "vc-vcluster")
          world.cluster.end(kind, source(world))
      })
      yield* pass(20 * 60, 5)
      assert.lengthOf(world.controlPlanes.starts, 2)
      assert.strictEqual(condition(world, "TargetReady")?.reason, "TargetUnreachable")
    }),
  )
})

describe("a loss that only the cache shows", () => {
  it.effect("is looked at live, and is no failure and no restart", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.cluster.lag.set(Kinds.Secret, Duration.seconds(15))
      const secret = world.cluster.find(Kinds.Secret, source(world)) ?? assert.fail()
      world.cluster.end(Kinds.Secret, secret.metadata)
      yield* pass(10)
      assert.isDefined(world.cluster.create(Kinds.Secret, secret))
      yield* pass(60)
      assert.lengthOf(world.controlPlanes.starts, 1)
      assert.notInclude(targetReasons(world), "TargetError")
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("a control plane that does not come up", () => {
  it.effect("is told of in the words of its Events, where nothing else says why", () =>
    Effect.gen(function* () {
      const world = yield* started()
      world.controlPlanes.broken.add(world.host)
      yield* pass(6)
      const pod = world.cluster.find(Kinds.Pod, { namespace: world.host, name: "vcluster-0" })
      const event = (name: string, reason: string, lastTimestamp: string) =>
        world.cluster.create(Kinds.CoreEvent, {
          apiVersion: "v1",
          kind: "Event",
          metadata: { namespace: world.host, name },
          involvedObject: { uid: pod?.metadata.uid },
          type: "Warning",
          reason,
          message: `${reason} happened`,
          lastTimestamp,
        })
      event("1", "FailedScheduling", "1970-01-01T00:00:04Z")
      event("2", "FailedMount", "1970-01-01T00:00:05Z")
      event("3", "Unhealthy", "1970-01-01T00:00:06Z")
      yield* pass(15)
      assert.deepInclude(condition(world, "TargetReady"), {
        reason: "ControlPlanePending",
        message: "statefulset/vcluster has 0 of 1 replicas ready; FailedMount: FailedMount happened",
      })
      const asked = world.cluster.requests.filter((request) => request.startsWith("GET events"))
      assert.isAtMost(asked.length, 2)
    }),
  )
})

describe("a control plane that takes its time", () => {
  it.effect("is asked for nothing that passes by itself, however often it is looked at", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ targetPoll: Duration.seconds(1) })
      world.controlPlanes.broken.add(world.host)
      yield* world.startOperator()
      world.cluster.apply(Kinds.PlatformInstance, manifestOf())
      const asked = () => world.cluster.requests.filter((request) => request.startsWith("GET events")).length
      while (world.cluster.find(Kinds.StatefulSet, { namespace: world.host, name: "vcluster" }) === undefined)
        yield* pass(1)
      yield* pass(9)
      assert.strictEqual(asked(), 0)
      yield* pass(30)
      assert.isAtLeast(asked(), 1)
      assert.isAtMost(asked(), 4)
    }),
  )
})

describe("many instances at once", () => {
  it.effect("start no more vClusters than there are turns, and a hopeless one gives its turn back", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ maxConcurrentTargets: 2, maxConcurrentInstalls: 10 })
      const keys = [1, 2, 3, 4, 5, 6].map((n) => ({ namespace: "team-a", name: `i${n}` }))
      // These two come up to nothing.
      for (const key of keys.slice(0, 2)) world.controlPlanes.broken.add(hostNamespace(key))
      yield* world.startOperator()
      for (const key of keys) world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata: key })
      const pending = () => {
        const sets = world.cluster.all(Kinds.StatefulSet)
        return sets.filter(
          ({ metadata: { namespace = "" } }) =>
            world.cluster.find(Kinds.Secret, { namespace, name: "vc-vcluster" }) === undefined,
        ).length
      }
      yield* pass(4 * 60, 2)
      assert.lengthOf(world.helm.commands, 2)
      // After 5 minutes the next are let in, two at a time.
      let most = 0
      for (let second = 0; second < 180; second += 2) {
        yield* pass(2, 2)
        most = Math.max(most, pending())
      }
      assert.strictEqual(most, 4)
      assert.lengthOf(world.helm.commands, 6)
      for (const key of keys.slice(2))
        assert.isDefined(world.cluster.find(Kinds.Secret, { ...key, name: `${key.name}-kubeconfig` }))
    }),
  )

  it.effect("say what they wait for, and start in the order they have asked", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ maxConcurrentTargets: 1 })
      yield* world.startOperator()
      const first = { namespace: "team-a", name: "first" }
      world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata: first })
      yield* pass(3)
      world.apply()
      yield* pass(5)
      assert.deepInclude(condition(world, "TargetReady"), { status: "False", reason: "Creating" })
      assert.match(condition(world, "TargetReady")?.message ?? "", /--max-concurrent-targets/)
      assert.lengthOf(world.helm.commands, 1)
      // The first is up after 22 s or so; the second follows at once.
      yield* pass(20)
      assert.lengthOf(world.helm.commands, 2)
      yield* pass(90)
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

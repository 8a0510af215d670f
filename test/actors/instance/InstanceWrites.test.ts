// Views and writes: an actor decides from caches that are behind, and between its look and its write the world goes
// on. What keeps it from doing a thing twice, or to somebody else's object.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Equal, Option } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { decoded, key, manifestOf } from "../support/instances.ts"
import { condition, outcomes, phase, ready } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const asked = (world: World, request: string) =>
  world.cluster.writes.filter((write) => write.startsWith(request) && !write.endsWith(" status")).length
const lag = Duration.seconds(3)
const namespace = (world: World, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: world.host, ...metadata },
})
const marked = { labels: { "platform.di-framework.dev/host-namespace": "true" } }
const ours = { annotations: { "platform.di-framework.dev/instance": "team-a/one" } }
const theirs = { annotations: { "platform.di-framework.dev/instance": "team-b/two" } }
/** In one moment: what was there is gone, and something else has its name. */
const replace = (world: World, kind: Parameters<World["cluster"]["find"]>[0], by: object) => {
  const before = world.cluster.find(kind, { name: world.host }) ?? assert.fail()
  world.cluster.remove(kind, before)
  return world.cluster.create(kind, { ...namespace(world), ...by })
}

describe("an actor whose cache is behind", () => {
  it.effect("writes each status once", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      world.cluster.lag.set(Kinds.PlatformInstance, lag)
      yield* world.startOperator()
      world.apply()
      yield* pass(150)
      assert.strictEqual(phase(world), "Ready")
      const changes = world.statuses.filter(
        (status, index) => !Equal.equals(status, world.statuses[index - 1]),
      )
      // The first of them is that of an object without a status.
      assert.strictEqual(world.cluster.statusWrites(), changes.length - 1)
    }),
  )

  it.effect("puts its finalizer back once", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.cluster.lag.set(Kinds.PlatformInstance, lag)
      yield* world.edit({ metadata: { finalizers: [] } })
      const before = asked(world, "PATCH platforminstances/team-a/one")
      yield* pass(4)
      assert.strictEqual(asked(world, "PATCH platforminstances/team-a/one") - before, 1)
      // Its own write is not shown yet, and the actor is woken by something else.
      const change = { type: "merge", patch: { metadata: { labels: { touched: "true" } } } } as const
      const service = { namespace: world.host, name: "vcluster" }
      assert.isDefined(world.cluster.patch(Kinds.Service, service, change, false))
      yield* pass(20)
      assert.strictEqual(asked(world, "PATCH platforminstances/team-a/one") - before, 1)
      assert.isEmpty(world.cluster.errors)
    }),
  )

  for (const [kind, request, times] of [
    [Kinds.Namespace, "POST namespaces/", 1],
    [Kinds.NetworkPolicy, "APPLY networkpolicies/", undefined],
    [Kinds.Secret, "POST secrets/team-a/one-kubeconfig", 1],
  ] as const) {
    it.effect(`asks once: ${request}`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        world.cluster.lag.set(kind, lag)
        yield* world.startOperator()
        world.apply()
        yield* pass(150)
        assert.strictEqual(phase(world), "Ready")
        assert.strictEqual(
          asked(world, request),
          times ?? world.cluster.all(Kinds.NetworkPolicy, { namespace: world.host }).length,
        )
        // Nor is it asked for in another way.
        assert.isEmpty(world.cluster.writes.filter((write) => write.startsWith("APPLY secrets/team-a/")))
        assert.isEmpty(world.cluster.errors)
      }),
    )
  }
})

describe("an actor whose cache is behind for longer than it waits", () => {
  for (const [kind, request] of [
    [Kinds.Namespace, "POST namespaces/"],
    [Kinds.NetworkPolicy, "APPLY networkpolicies/"],
    [Kinds.Secret, "POST secrets/team-a/one-kubeconfig"],
    [Kinds.StatefulSet, undefined],
    [Kinds.ClusterRole, undefined],
  ] as const) {
    it.effect(`reads live and does nothing twice: ${kind.plural}`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        world.cluster.lag.set(kind, Duration.seconds(20))
        yield* world.startOperator()
        world.apply()
        yield* pass(200)
        assert.strictEqual(phase(world), "Ready")
        if (request !== undefined) {
          const times = kind === Kinds.NetworkPolicy ? world.cluster.all(kind).length : 1
          assert.strictEqual(asked(world, request), times)
        }
        assert.deepStrictEqual(world.helm.commands, ["install"])
        assert.isEmpty(world.cluster.errors)
        // Once it has caught up, nothing is asked any more.
        const { length } = world.cluster.requests
        yield* pass(60)
        assert.deepStrictEqual(world.cluster.requests.slice(length), [])
      }),
    )
  }
})

describe("what an install asks of the host", () => {
  const others = (count: number) =>
    Array.from({ length: count }, (_, number) => ({ namespace: "team-a", name: `i${number}` }))
  const allReady = (
    world: World,
    keys: ReadonlyArray<{ readonly namespace: string; readonly name: string }>,
  ) => keys.every((each) => decoded(world.cluster.instance(each) ?? assert.fail()).status?.phase === "Ready")

  it.effect("is little, beside an instance that has made what all share", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const [requests, writes] = [world.cluster.requests.length, world.cluster.writes.length]
      const keys = others(1)
      for (const metadata of keys) world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata })
      yield* pass(150)
      assert.isTrue(allReady(world, keys))
      assert.isAtMost(world.cluster.requests.length - requests, 27)
      assert.isAtMost(world.cluster.writes.length - writes, 16)
    }),
  )

  it.effect("is not more for those who wait long for their turn", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ maxConcurrentTargets: 1, maxConcurrentInstalls: 10 })
      const keys = others(10)
      yield* world.startOperator()
      for (const metadata of keys) world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata })
      while (!allReady(world, keys)) yield* pass(10, 5)
      assert.isAtMost(world.cluster.requests.length / keys.length, 32)
    }),
  )
})

describe("what must be new", () => {
  for (const [what, annotations, owner] of [
    ["nobody's", {}, "nobody this operator knows"],
    ["another instance's", theirs, "team-b/two"],
  ] as const) {
    it.effect(`is not taken from a namespace of that name, which no watch shows, that is ${what}`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const there = world.cluster.create(Kinds.Namespace, namespace(world, annotations))
        yield* world.startOperator()
        world.apply()
        yield* pass(60)
        assert.deepStrictEqual(world.cluster.find(Kinds.Namespace, there.metadata), there)
        assert.strictEqual(condition(world, "TargetReady")?.reason, "TargetError")
        assert.include(condition(world, "TargetReady")?.message ?? "", `belongs to ${owner}`)
        assert.isEmpty(world.helm.commands)
      }),
    )
  }

  it.effect(
    "and is ours without its label gets it back: a watch may have lost it, the instance has not",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        const live = world.cluster.find(Kinds.Namespace, { name: world.host }) ?? assert.fail()
        const { labels: _, ...metadata } = live.metadata
        assert.isDefined(world.cluster.put(Kinds.Namespace, live, { ...live, metadata }))
        yield* pass(10)
        const after = world.cluster.find(Kinds.Namespace, { name: world.host })
        assert.strictEqual(after?.metadata.uid, live.metadata.uid)
        assert.deepInclude(after?.metadata.labels, marked.labels)
        assert.strictEqual(phase(world), "Ready")
      }),
  )

  it.effect("is not put over a Secret that somebody else makes in this moment", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      const metadata = { namespace: "team-a", name: "one-kubeconfig" }
      world.cluster.meanwhile.push({
        request: "POST secrets/team-a/one-kubeconfig",
        act: () =>
          void world.cluster.create(Kinds.Secret, {
            apiVersion: "v1",
            kind: "Secret",
            metadata,
            data: { kubeconfig: "mine" },
          }),
      })
      yield* pass(60)
      assert.isEmpty(world.cluster.meanwhile)
      assert.deepStrictEqual(world.cluster.find(Kinds.Secret, metadata)?.data, { kubeconfig: "mine" })
      assert.match(
        condition(world, "TargetReady")?.message ?? "",
        /^store kubeconfig: .* belongs to somebody else/,
      )
    }),
  )
})

describe("what is written to an object that is there", () => {
  it.effect("does not reach a successor: the status", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.cluster.lag.set(Kinds.PlatformInstance, Duration.seconds(60))
      yield* world.edit({ metadata: { finalizers: [] } })
      world.remove()
      world.apply({ version: "6.0.23" })
      // The actor still sees the object that was, and has something to say of it.
      world.network.reachable = false
      yield* pass(50)
      assert.include(world.cluster.errors, "Invalid PATCH platforminstances/team-a/one status")
      assert.isUndefined(world.cluster.instance(key)?.status)
    }),
  )

  it.effect("does not reach a successor: the finalizer", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.cluster.meanwhile.push({
        request: "PATCH platforminstances/team-a/one",
        act: () => {
          world.remove()
          world.cluster.create(Kinds.PlatformInstance, manifestOf({ version: "6.0.23" }))
        },
      })
      world.apply()
      yield* pass(0)
      assert.deepStrictEqual(world.cluster.errors, ["Conflict PATCH platforminstances/team-a/one"])
      yield* pass(120)
      assert.deepInclude(Option.getOrThrow(world.status()), { phase: "Ready", installedVersion: "6.0.23" })
    }),
  )

  it.effect("does not reach a namespace that has taken the name of ours: the label", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      assert.isDefined(world.cluster.create(Kinds.Namespace, namespace(world, ours)))
      world.cluster.meanwhile.push({
        request: "APPLY namespaces/",
        act: () => void replace(world, Kinds.Namespace, namespace(world, theirs)),
      })
      yield* world.startOperator()
      world.apply()
      yield* pass(60)
      assert.isEmpty(world.cluster.meanwhile)
      const after = world.cluster.find(Kinds.Namespace, { name: world.host })
      assert.deepInclude(after?.metadata, theirs)
      assert.isUndefined(after?.metadata.labels)
    }),
  )

  it.effect("does not reach a namespace that has taken the name of ours: its end", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.cluster.meanwhile.push({
        request: "DELETE namespaces/",
        act: () => void replace(world, Kinds.Namespace, namespace(world, theirs)),
      })
      world.remove()
      yield* pass(60)
      assert.isEmpty(world.cluster.meanwhile)
      const after = world.cluster.find(Kinds.Namespace, { name: world.host })
      assert.deepInclude(after?.metadata, theirs)
      assert.isUndefined(after?.metadata.deletionTimestamp)
      assert.isUndefined(world.cluster.instance(key))
    }),
  )

  it.effect("does not reach a Secret that has taken the name of ours: the kubeconfig", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const ref = { namespace: "team-a", name: "one-kubeconfig" }
      world.cluster.meanwhile.push({
        request: "APPLY secrets/team-a/one-kubeconfig",
        act: () => {
          const { metadata, ...secret } = world.cluster.find(Kinds.Secret, ref) ?? assert.fail()
          world.cluster.end(Kinds.Secret, ref)
          world.cluster.create(Kinds.Secret, { ...secret, metadata: ref, data: { kubeconfig: metadata.uid } })
        },
      })
      // A resync publishes it again.
      world.cluster.end(Kinds.Secret, { namespace: world.host, name: "vc-vcluster" })
      yield* pass(60)
      assert.isEmpty(world.cluster.meanwhile)
      assert.isUndefined(world.cluster.find(Kinds.Secret, ref)?.metadata.ownerReferences)
    }),
  )

  it.effect("does not reach a pod that came in the place of the one to restart", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const ref = { namespace: world.host, name: "vcluster-0" }
      world.cluster.meanwhile.push({
        request: "DELETE pods/",
        act: () => {
          const pod = world.cluster.find(Kinds.Pod, ref) ?? assert.fail()
          world.cluster.remove(Kinds.Pod, pod)
        },
      })
      world.cluster.end(Kinds.Secret, { namespace: world.host, name: "vc-vcluster" })
      yield* pass(120)
      assert.isEmpty(world.cluster.meanwhile)
      assert.strictEqual(phase(world), "Ready")
      assert.lengthOf(world.controlPlanes.starts, 2)
    }),
  )
})

describe("what is remembered", () => {
  it.effect("belongs to one UID: a failure of the one before is no news of its successor", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let failures = 0; failures < 7; failures++) world.pulumi.failures.push("Failed")
      yield* world.startOperator()
      world.apply()
      while (outcomes(world).filter((each) => each === "failed").length < 7) yield* pass(10)
      // In one moment, so that one actor sees both lives: the pause of the first has 50 s to go.
      yield* world.edit({ metadata: { finalizers: [] } })
      world.remove()
      world.apply()
      yield* pass(5)
      const [run] = world.pulumi.runs.slice(-1)
      assert.deepInclude(run, { outcome: "running" })
      assert.strictEqual(run?.request.kind, "FirstInstall")
      yield* pass(70)
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

// Random lives of an instance. A failure prints the shortest one that still fails, and how to replay it.
import { assert, it } from "@effect/vitest"
import { Arbitrary, Effect, Option, Schema } from "effect"
import { publishedSource, versionOf } from "../../../src/actors/instance/target/Kubeconfig.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "../support/instances.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const refused = [
  "PATCH platforminstances/team-a/one status",
  "PATCH platforminstances/team-a/one",
  "GET secrets",
  "POST secrets/team-a/",
  "APPLY secrets",
  "APPLY networkpolicies",
  "APPLY validatingadmissionpolicies",
  "POST namespaces",
] as const

/** What may happen to an instance, short of losing its data. */
const verbs = {
  failInstall: (world: World) => Effect.sync(() => void world.pulumi.failures.push("Failed")),
  failHelm: (world: World) => Effect.sync(() => void world.helm.failures.push("no space left on device")),
  upgrade: (world: World, n: number) => world.edit({ spec: { version: `6.0.${n}` } }),
  respec: (world: World, n: number) => world.edit({ spec: { platform: { tenants: [{ name: `t${n}` }] } } }),
  takeFinalizer: (world: World) => world.edit({ metadata: { finalizers: [] } }),
  cutNetwork: (world: World) => Effect.sync(() => void Object.assign(world.network, { reachable: false })),
  mendNetwork: (world: World) => Effect.sync(() => void Object.assign(world.network, { reachable: true })),
  loseService: (world: World) =>
    Effect.sync(() => world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster-headless" })),
  loseStatefulSet: (world: World) =>
    Effect.sync(() => world.cluster.end(Kinds.StatefulSet, { namespace: world.host, name: "vcluster" })),
  loseKubeconfig: (world: World) =>
    Effect.sync(() => world.cluster.end(Kinds.Secret, { namespace: "team-a", name: "one-kubeconfig" })),
  loseOwner: (world: World) =>
    Effect.sync(() => world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster" })),
  // One that the operator has seen: what was never seen is missed by nobody.
  loseSource: (world: World) =>
    Effect.sync(() => {
      const source = world.cluster.find(Kinds.Secret, { namespace: world.host, name: "vc-vcluster" })
      const published = world.cluster.find(Kinds.Secret, { namespace: "team-a", name: "one-kubeconfig" })
      if (source === undefined || published === undefined) return
      if (Option.contains(publishedSource(published), versionOf(source)))
        world.cluster.end(Kinds.Secret, source.metadata)
    }),
  losePolicy: (world: World) =>
    Effect.sync(() => {
      for (const { metadata } of world.cluster.all(Kinds.NetworkPolicy))
        world.cluster.end(Kinds.NetworkPolicy, metadata)
    }),
  refuse: (world: World, n: number) =>
    Effect.sync(() => {
      const request = refused[n % refused.length] ?? refused[0]
      world.cluster.refusals.push({ request, code: 500, reason: n % 2 === 0 ? "InternalError" : "Defect" })
    }),
} as const
const names = [
  "restart",
  "failInstall",
  "failHelm",
  "upgrade",
  "respec",
  "takeFinalizer",
  "cutNetwork",
  "mendNetwork",
  "loseService",
  "loseStatefulSet",
  "loseKubeconfig",
  "loseOwner",
  "loseSource",
  "losePolicy",
  "refuse",
] as const

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const events = Arbitrary.array(
  Arbitrary.schema(Schema.Struct({ after: between(0, 40), verb: Schema.Literals(names), n: between(0, 9) })),
  { minLength: 4, maxLength: 12 },
)

it.effect.prop(
  "an instance ends Ready at its newest generation whatever happened, and its deletion leaves nothing",
  { events },
  ({ events }) =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      let operator = yield* world.startOperator()
      world.apply()
      for (const { after, verb, n } of events) {
        yield* pass(after)
        if (verb === "restart") {
          yield* operator.stop
          operator = yield* world.startOperator()
        } else yield* verbs[verb](world, n)
      }
      // From here on nothing is in its way.
      world.network.reachable = true
      for (const faults of [world.pulumi.failures, world.helm.failures, world.cluster.refusals])
        faults.length = 0
      yield* pass(1_600, 5)
      const status = Option.getOrThrow(world.status())
      const { generation } = world.cluster.instance(key)?.metadata ?? assert.fail()
      assert.strictEqual(status.phase, "Ready")
      assert.strictEqual(status.observedGeneration, generation)
      assert.strictEqual(status.applied?.generation, generation)
      assert.isEmpty(status.conditions?.filter((condition) => condition.status !== "True"))
      world.remove()
      yield* pass(200)
      assert.isUndefined(world.cluster.instance(key))
      assert.isUndefined(world.cluster.find(Kinds.Namespace, { name: world.host }))
      assert.strictEqual(world.store.records.size + world.store.states.size, 0)
      yield* operator.stop
    }),
  { arbitrary: { runs: 20, seed: 7 }, timeout: 600_000 },
)

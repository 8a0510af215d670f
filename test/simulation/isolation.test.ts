// The network policies of an instance's workloads, with the operator as it is and the world around it simulated.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { WORKLOAD_POLICIES } from "../../src/actors/instance/target/NetworkPolicies.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { at } from "../twins/kubernetes/Json.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import type { World } from "../twins/world/World.ts"
import { start } from "./deletions.ts"
import { watchReady } from "./watchReady.ts"

vi.setConfig({ testTimeout: 600_000 })

const policies = (world: World) =>
  world.admin
    .list(Kinds.NetworkPolicy, { namespace: world.hostNamespace() })
    .filter(({ metadata }) => Object.values<string>(WORKLOAD_POLICIES).includes(metadata.name))
const selector = (world: World, direction: keyof typeof WORKLOAD_POLICIES) =>
  JSON.stringify(
    at(
      policies(world).find(({ metadata }) => metadata.name === WORKLOAD_POLICIES[direction]),
      "spec",
      "podSelector",
    ),
  )

describe("the network of an instance's workloads", () => {
  it("is left to the policies of a namespace inside that has some, for as long; the instance is Ready throughout", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const wasReady = watchReady(world)
        const inside = world.inner()?.as("admin") ?? assert.fail("the instance's API does not serve")
        const ref = { namespace: "default", name: "closed" }
        inside.create(Kinds.NetworkPolicy, {
          apiVersion: "networking.k8s.io/v1",
          kind: "NetworkPolicy",
          metadata: ref,
          spec: { podSelector: {}, policyTypes: ["Egress"] },
        })
        const leftOut = () => selector(world, "Egress").includes('"values":["default"]')
        yield* until(leftOut, "1 minute", "the namespace is left to its own policies")
        assert.notInclude(selector(world, "Ingress"), "values")
        inside.delete(Kinds.NetworkPolicy, ref)
        yield* until(() => !leftOut(), "1 minute", "the namespace is closed again")
        assert.isTrue(wasReady())
      }),
      { seed: 1 },
    ))

  it("follows whoever makes policies inside again and again; the instance is Ready throughout", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const wasReady = watchReady(world)
        const inside = world.inner()?.as("admin") ?? assert.fail("the instance's API does not serve")
        const names = Array.from({ length: 30 }, (_, index) => `tenant-${index}`)
        for (const name of names)
          inside.create(Kinds.Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
        yield* Effect.sleep("1 minute")
        world.host.faults.slow(25)
        for (const namespace of names) {
          inside.create(Kinds.NetworkPolicy, {
            apiVersion: "networking.k8s.io/v1",
            kind: "NetworkPolicy",
            metadata: { namespace, name: "closed" },
            spec: { podSelector: {}, policyTypes: ["Egress", "Ingress"] },
          })
          yield* Effect.sleep("50 millis")
        }
        const isLeftOut = (name: string) => selector(world, "Egress").includes(`"${name}"`)
        yield* until(() => names.every(isLeftOut), "1 minute", "all are left to their own policies")
        yield* Effect.sleep("1 minute")
        assert.isTrue(wasReady())
      }),
      { seed: 1 },
    ))

  it("has its policies back when they are edited or removed; the instance is Ready throughout", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const wasReady = watchReady(world)
        const before = policies(world).map(({ spec }) => spec)
        assert.lengthOf(before, 2)
        const are = (): boolean =>
          JSON.stringify(policies(world).map(({ spec }) => spec)) === JSON.stringify(before)
        const [into, out] = Object.values(WORKLOAD_POLICIES).map((name) => ({
          namespace: world.hostNamespace(),
          name,
        }))
        if (into === undefined || out === undefined) return assert.fail("two policies")
        world.admin.patch(Kinds.NetworkPolicy, into, { type: "merge", patch: { spec: { ingress: [{}] } } })
        assert.isFalse(are())
        yield* until(are, "1 minute", "they are as they were")
        world.admin.delete(Kinds.NetworkPolicy, out)
        yield* until(are, "1 minute", "they are there again")
        assert.isTrue(wasReady())
      }),
      { seed: 1 },
    ))

  it("is open where it is to be, and what the operator before had closed it with goes", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const wasReady = watchReady(world)
        yield* world.operator.stop
        yield* world.startOperator({ release: { settings: { isolateInstanceNetwork: false } } })
        yield* until(() => policies(world).length === 0, "1 minute", "the policies are gone")
        yield* Effect.sleep("10 minutes")
        assert.isTrue(wasReady())
      }),
      { seed: 1 },
    ))
})

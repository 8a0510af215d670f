// The NodePort of a gateway inside a vCluster, which gets another one than was asked for when it is made.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../../../src/services/Kubernetes/Kinds.ts"
import { phase, ready } from "../../support/readings.ts"
import { pass, type World } from "../../support/World.ts"

const publish = (world: World, nodePort: number) =>
  world.cluster.create(Kinds.Service, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: world.host, name: "gateway-x-platform-x-vcluster" },
    spec: { type: "NodePort", ports: [{ port: 80, nodePort }] },
  })

/** Whether each run of the engine that the edit led to has refreshed. */
const refreshes = Effect.fnUntraced(function* (world: World) {
  const { length } = world.pulumi.runs
  yield* world.edit({ spec: { platform: { gateway: { httpNodePort: 30_080 } } } })
  yield* pass(180)
  assert.strictEqual(phase(world), "Ready")
  return world.pulumi.runs.slice(length).map(({ request }) => request.refresh)
})

describe("an install of a gateway with a NodePort", () => {
  it.effect("refreshes and goes over it once more when the host has given another one", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      publish(world, 31_234)
      assert.deepStrictEqual(yield* refreshes(world), [false, true])
    }),
  )

  it.effect("is done when the host has given that one", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      publish(world, 30_080)
      assert.deepStrictEqual(yield* refreshes(world), [false])
    }),
  )

  it.effect("is done when nothing is published by a NodePort", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      assert.deepStrictEqual(yield* refreshes(world), [false])
    }),
  )
})

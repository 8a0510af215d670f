// From a manifest to a platform and back to nothing, with the operator as it is and the world around it simulated.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { ResourceKind } from "../../src/services/Kubernetes/Kubernetes.ts"
import { runSimulation, simulate, until } from "../twins/simulation/Simulation.ts"
import { seeds } from "../twins/simulation/seeds.ts"
import type { Death } from "../twins/world/Operators.ts"
import { key, makeWorld, type World } from "../twins/world/World.ts"

// Nothing here waits in real time: how long it takes says what else the machine is doing.
vi.setConfig({ testTimeout: 600_000 })

const ready = (world: World) => until(() => world.isReady(), "10 minutes", "the instance is Ready")
const gone = (world: World) =>
  until(() => world.instance() === undefined, "10 minutes", "the instance is gone")

/** What the vCluster holds. */
const inside = (world: World, kind: ResourceKind) => world.inner()?.as("kubernetes-admin").list(kind) ?? []

/** What of the instance is in the host cluster. */
const leftovers = (world: World) => [
  ...world.admin.list(Kinds.Namespace).filter(({ metadata }) => metadata.name === world.hostNamespace()),
  ...world.admin.list(Kinds.Secret, { namespace: key.namespace }),
  ...world.admin.list(Kinds.Job),
]

describe("the happy path", () => {
  it.each(seeds(3))("an instance becomes Ready, seed %i", (seed) => {
    const began = performance.now()
    const { elapsed, steps } = runSimulation(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.startOperator()
        world.apply()
        yield* ready(world)
        const status = world.status()
        assert.isEmpty(status?.conditions?.filter((condition) => condition.status !== "True"))
        assert.strictEqual(status?.installedVersion, "6.0.22")
        const version = inside(world, Kinds.ConfigMap).find(
          ({ metadata }) => metadata.name === "di-platform-version",
        )
        assert.isDefined(version, "the program's ConfigMap is in the vCluster")
      }),
      { seed },
    )
    const wall = Math.round(performance.now() - began)
    console.info(`seed ${seed}: Ready after ${elapsed / 1000} s of virtual time, ${wall} ms, ${steps} steps`)
  })

  it("the log has each thing that is done, in a line about the instance", () => {
    const said: Array<string> = []
    const log = (line: string) => {
      const { annotations = {}, level, message } = JSON.parse(line)
      if (level === "INFO" && annotations.instance === "team-a/one")
        said.push([message, annotations.step].filter((part) => part !== undefined).join(": "))
    }
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false, log })
        yield* world.startOperator()
        world.apply()
        yield* ready(world)
        world.admin.delete(Kinds.StatefulSet, { namespace: world.hostNamespace(), name: "vcluster" })
        yield* until(() => !world.isReady(), "10 minutes", "the loss is seen")
        yield* ready(world)
        world.remove()
        yield* gone(world)
      }),
      { seed: 1 },
    )
    for (const line of [
      "target step: create namespace",
      "target step: install release",
      "target step: publish kubeconfig",
      "install step: up",
      "target step: reapply release",
      "deletion step",
    ])
      assert.include(said, line)
    assert.isBelow(said.indexOf("install step: up"), said.indexOf("target step: reapply release"))
  })

  it.each(seeds(3))("a deleted instance leaves nothing, seed %i", (seed) => {
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.startOperator()
        world.apply()
        yield* ready(world)
        world.remove()
        yield* gone(world)
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(
          leftovers(world).map(({ kind, metadata }) => `${kind} ${metadata.name}`),
          [],
        )
        assert.deepStrictEqual(world.files.list("/var/lib/platform-operator/instances"), [])
        assert.deepStrictEqual(world.node.files.below("/var/lib/platform-instances/team-a/one"), [])
      }),
      { seed },
    )
  })
})

describe("an operator that is killed", () => {
  const deaths: ReadonlyArray<Death> = ["container", "process", "pod", "power"]

  it.each(seeds(2).flatMap((seed) => deaths.map((death) => [death, seed] as const)))(
    "goes on where it was, in the target phase: %s, seed %i",
    (death, seed) => {
      simulate(
        Effect.gen(function* () {
          const world = yield* makeWorld()
          const operator = yield* world.startOperator()
          world.apply()
          yield* until(
            () =>
              world.admin.get(Kinds.StatefulSet, { namespace: world.hostNamespace(), name: "vcluster" }) !==
              undefined,
            "5 minutes",
            "the vCluster is being installed",
          )
          yield* operator.kill(death)
          yield* ready(world)
        }),
        { seed },
      )
    },
  )

  it.each(seeds(2).flatMap((seed) => deaths.map((death) => [death, seed] as const)))(
    "goes on where it was, in up: %s, seed %i",
    (death, seed) => {
      simulate(
        Effect.gen(function* () {
          const world = yield* makeWorld()
          const operator = yield* world.startOperator()
          world.apply()
          yield* until(
            () =>
              inside(world, Kinds.ConfigMap).some(({ metadata }) => metadata.name === "di-platform-version"),
            "5 minutes",
            "the program makes objects",
          )
          yield* operator.kill(death)
          yield* ready(world)
        }),
        { seed },
      )
    },
  )
})

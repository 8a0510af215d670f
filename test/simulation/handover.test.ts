// Two replicas of the operator and the Lease between them.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { leaseState } from "../../src/services/LeaderElection/Lease.ts"
import { Simulation, simulate, until } from "../twins/simulation/Simulation.ts"
import { seeds } from "../twins/simulation/seeds.ts"
import type { Death } from "../twins/world/Operators.ts"
import { makeWorld, type World } from "../twins/world/World.ts"
import { assertHeld, goneWithAll, isWell, makeChecked, patience, well } from "./checked.ts"

// Nothing here waits in real time.
vi.setConfig({ testTimeout: 600_000 })

const lease = { namespace: "platform-operator", name: "platform-operator" }
const holder = (world: World): string => {
  const found = world.host.as("kubernetes-admin").get(Kinds.Lease, lease)
  return found === undefined ? "" : leaseState(found).holder
}
const leads = (world: World) => until(() => holder(world) !== "", "1 minute", "an operator leads")
const ready = (world: World) => until(() => world.isReady(), "20 minutes", "the instance is Ready")
const releaseStatus = (world: World): ReadonlyArray<string | undefined> =>
  world.admin
    .list(Kinds.Secret, { namespace: world.hostNamespace() })
    .filter(({ metadata }) => metadata.name.startsWith("sh.helm.release.v1.vcluster."))
    .map(({ metadata }) => metadata.labels?.status)

/** The first of two operators leads, and an instance is there. */
const started = Effect.gen(function* () {
  const world = yield* makeWorld()
  const first = yield* world.startOperator({ leaderElect: true })
  yield* leads(world)
  yield* world.startOperator({ leaderElect: true })
  world.apply()
  return { world, first }
})

describe("F03: an operator that is stopped in a helm install", () => {
  it.each(seeds(3))("awaits helm, then releases the lease, and the other one goes on (seed %i)", (seed) =>
    simulate(
      Effect.gen(function* () {
        const { trace } = yield* Simulation
        const { world, first } = yield* started
        yield* until(
          () => releaseStatus(world).includes("pending-install"),
          "5 minutes",
          "helm is at its install",
        )
        const leader = holder(world)
        world.host.subscribe(({ kind, object }) => {
          if (kind.plural === Kinds.Lease.plural) trace.add(`lease of "${leaseState(object).holder}"`)
        })
        const from = trace.lines.length
        yield* first.stop
        assert.deepStrictEqual(releaseStatus(world), ["failed"])
        yield* leads(world)
        assert.notStrictEqual(holder(world), leader)
        const since = trace.lines.slice(from)
        const at = (what: RegExp) => since.findIndex((line) => what.test(line))
        const helmEnded = at(/process \S+ ended: code 1/)
        const released = at(/lease of ""/)
        assert.isAtLeast(helmEnded, 0, since.join("\n"))
        assert.isAbove(released, helmEnded, since.join("\n"))
        yield* ready(world)
      }),
      { seed },
    ),
  )
})

describe("an operator that stands by", () => {
  it("only looks: it writes nothing, runs nothing and asks no instance, while the other one installs", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.startOperator({ leaderElect: true })
        yield* leads(world)
        const calls: Array<string> = []
        yield* world.startOperator({ leaderElect: true, onCall: ({ what }) => calls.push(what) })
        yield* Effect.sleep("1 minute")
        // It has looked at its own folder and chart once, at its start.
        calls.length = 0
        world.apply()
        yield* ready(world)
        yield* Effect.sleep("5 minutes")
        assert.isAbove(calls.length, 60)
        assert.deepStrictEqual(
          calls.filter((what) => !/^GET \/apis?\//.test(what)),
          [],
        )
      }),
      { seed: 1 },
    ))
})

describe("two operators with one Lease", () => {
  it("write one at a time, whichever leads, and however it ends", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeChecked()
        const operators = [
          yield* world.operate({ leaderElect: true }),
          yield* world.operate({ leaderElect: true }),
        ]
        world.apply({ version: "6.0.21" })
        yield* well(world)
        const before = holder(world)
        for (const operator of operators) yield* operator.kill("container")
        world.edit({ spec: { version: "6.0.22" } })
        yield* until(
          () => isWell(world) && world.status()?.installedVersion === "6.0.22",
          patience,
          "the new version is installed",
        )
        assert.notStrictEqual(holder(world), before)
        yield* (operators[0] ?? assert.fail("there is no operator")).stop
        world.remove()
        yield* goneWithAll(world)
        assertHeld(world)
      }),
      { seed: 1, stacks: false },
    ))
})

describe("an operator beside another one", () => {
  const deaths: ReadonlyArray<Death> = ["container", "process", "pod", "power"]
  it.each(deaths)("has the instance Ready though the one that works dies in an up: %s", (death) =>
    simulate(
      Effect.gen(function* () {
        const { trace } = yield* Simulation
        const { world, first } = yield* started
        yield* until(
          () => trace.lines.some((line) => /process \S+ started: pulumi-resource-kubernetes/.test(line)),
          "5 minutes",
          "the engine is at work",
        )
        yield* first.kill(death)
        yield* ready(world)
        assert.strictEqual(world.status()?.installedVersion, "6.0.22")
      }),
      { seed: 1 },
    ),
  )
})

// One seed is one run: the operator and every twin write the same trace, byte by byte.
import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { makeSpans } from "../support/spans.ts"
import { runSimulation, until } from "../twins/simulation/Simulation.ts"
import { seeds } from "../twins/simulation/seeds.ts"
import { makeWorld } from "../twins/world/World.ts"

// Nothing here waits in real time: how long it takes says what else the machine is doing.
vi.setConfig({ testTimeout: 600_000 })

const life = Effect.gen(function* () {
  const world = yield* makeWorld({ spans: makeSpans() })
  const operator = yield* world.startOperator()
  world.apply()
  yield* until(() => world.status()?.phase === "Installing", "5 minutes", "the install has begun")
  yield* operator.kill("pod")
  yield* until(() => world.isReady(), "10 minutes", "the instance is Ready")
  world.remove()
  yield* until(() => world.instance() === undefined, "10 minutes", "the instance is gone")
})

it.each(seeds(2))("the same seed writes the same trace, and comes to the same digest: seed %i", (seed) => {
  const { trace: first, digest } = runSimulation(life, { seed, digested: true })
  const { trace: second, digest: again } = runSimulation(life, { seed, digested: true })
  const differs = first.lines.findIndex((line, index) => line !== second.lines[index])
  assert.strictEqual(second.lines[differs], first.lines[differs], `line ${differs}`)
  assert.strictEqual(second.lines.length, first.lines.length)
  assert.isAbove(first.lines.length, 500)
  assert.isDefined(digest)
  assert.strictEqual(again, digest)
})

it("another seed writes another trace", () => {
  assert.notStrictEqual(
    runSimulation(life, { seed: 2 }).trace.text(),
    runSimulation(life, { seed: 1 }).trace.text(),
  )
})

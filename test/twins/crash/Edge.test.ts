// Dying at a call: before its effect, or after it and before its answer.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Simulation, simulate } from "../simulation/Simulation.ts"
import { seeds } from "../simulation/seeds.ts"
import { type CrashPlan, type EdgeCall, makeEdge } from "./Edge.ts"

/** A process that makes three calls in a row, and one more when it is stopped. */
const run = (plan: CrashPlan, seed: number) =>
  simulate(
    Effect.gen(function* () {
      const { lifetime } = yield* Simulation
      const life = lifetime()
      const calls: Array<EdgeCall> = []
      const effects: Array<string> = []
      const answers: Array<string> = []
      const edge = makeEdge({ life, plan, kill: () => life.end(), onCall: (call) => calls.push(call) })
      const call = (what: string) =>
        edge
          .through(
            { what: () => what, writes: true, interruptible: false },
            Effect.sync(() => effects.push(what)),
          )
          .pipe(Effect.tap(() => Effect.sync(() => answers.push(what))))
      const process = Effect.forEach(["a", "b", "c"], call).pipe(Effect.ensuring(call("finalizer")))
      yield* Effect.forkChild(life.run(process))
      yield* Effect.sleep("1 minute")
      return { calls: calls.map(({ what }) => what), effects, answers, alive: life.isAlive() }
    }),
    { seed },
  )

describe("a process at its edge", () => {
  it.each(seeds(3))("is not disturbed without a plan, seed %i", (seed) => {
    const all = ["a", "b", "c", "finalizer"]
    assert.deepStrictEqual(
      run(() => undefined, seed),
      {
        calls: all,
        effects: all,
        answers: all,
        alive: true,
      },
    )
  })

  it.each(seeds(3))("dies before a call: it has no effect, and nothing follows, seed %i", (seed) => {
    assert.deepStrictEqual(
      run(({ number }) => (number === 2 ? "before" : undefined), seed),
      { calls: ["a", "b"], effects: ["a"], answers: ["a"], alive: false },
    )
  })

  it.each(seeds(3))("dies after a call: the effect is there, the answer is not, seed %i", (seed) => {
    assert.deepStrictEqual(
      run(({ number }) => (number === 2 ? "after" : undefined), seed),
      { calls: ["a", "b"], effects: ["a", "b"], answers: ["a"], alive: false },
    )
  })
})

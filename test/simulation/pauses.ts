// An instance that is paused at one of the operator's calls, whatever it is doing: what runs ends, nothing else of the
// instance is written, and afterwards the world comes to the same as without the pause.
import { assert } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { ANNOTATION_PAUSED } from "../../src/schema/Names.ts"
import { note } from "../support/figures.ts"
import type { Workload } from "../twins/crash/Crash.ts"
import { differences } from "../twins/crash/EndState.ts"
import { spread } from "../twins/crash/Point.ts"
import { runSimulation, until } from "../twins/simulation/Simulation.ts"
import { seeds } from "../twins/simulation/seeds.ts"
import type { Operator } from "../twins/world/Operators.ts"
import { makeChecked } from "./checked.ts"

/** What runs has ended by then: no operation of these workloads takes so long. */
const toEnd = Duration.minutes(8)
const quiet = Duration.minutes(10)

/** What an operator writes that is neither in the target nor in the instance. */
const isOwn = (what: string): boolean =>
  /\/leases\/|\/events(\/|$|\?)|\/platforminstances\/|\/configmaps|validatingadmissionpolic/.test(what)

interface Point {
  readonly call: number
  /** The operator dies with the pause, and another one finds the instance paused. */
  readonly dies: boolean
}

/** The calls of the workload, or what was wrong when it was paused at one of them. */
const play = (workload: Workload, seed: number, point?: Point) => {
  const program = Effect.gen(function* () {
    const world = yield* makeChecked({ ...workload.world })
    const annotate = (value: string | null) =>
      world.edit({ metadata: { annotations: { [ANNOTATION_PAUSED]: value } } })
    let counting = false
    let calls = 0
    let paused = false
    let watched: Array<string> | undefined
    let operator: Operator | undefined
    operator = yield* world.operate({
      onCall: ({ what, writes }) => {
        if (writes && watched !== undefined && !isOwn(what)) watched.push(what)
        if (!counting) return
        calls += 1
        if (calls !== point?.call) return
        paused = true
        if (world.instance() !== undefined) annotate("true")
        if (point.dies) operator?.killNow("container")
      },
    })
    if (workload.prepare !== undefined) yield* workload.prepare(world)
    counting = true
    const running = yield* Effect.forkScoped(workload.run(world))
    const wrong: Array<string> = []
    if (point !== undefined) {
      yield* until(() => paused, "30 minutes", "the call is made")
      yield* Effect.sleep(toEnd)
      watched = []
      yield* Effect.sleep(quiet)
      wrong.push(...watched)
      watched = undefined
      if (world.instance() !== undefined) annotate(null)
    }
    yield* Fiber.join(running)
    yield* Effect.sleep("3 minutes")
    const end = world.end()
    yield* operator.stop
    return { calls, end, wrong: [...wrong, ...world.invariants.broken()] }
  })
  return runSimulation(program, { seed, stacks: false }).result
}

/** Paused at so many of its calls, spread over all, each once with and once without a death of the operator. */
export const assertPauses = (workload: Workload, count: number): void => {
  for (const seed of seeds(1)) {
    const undisturbed = play(workload, seed)
    const all = Array.from({ length: undisturbed.calls }, (_, index) => index + 1)
    const points = spread(all, count).map((call, index): Point => ({ call, dies: index % 2 === 1 }))
    for (const point of points) {
      const { wrong, end } = play(workload, seed, point)
      const found = [...wrong, ...differences(undisturbed.end, end)]
      assert.deepStrictEqual(
        found,
        [],
        `${workload.name}, paused at call ${point.call} of ${undisturbed.calls}${point.dies ? ", where the operator dies" : ""}`,
      )
    }
    note({ suite: "pauses", plans: points.length })
  }
}

// make bench-traces: what traces cost, as the simulated world's throughput with them beside that without, in CPU time of this
// process and in one run. Both are measured in turn, so that what else the machine does meets both.
//
//   BENCH_ROUNDS  how often each seed is played, each way (default 5)
import { loadavg } from "node:os"
import { Effect } from "effect"
import { cpuSeconds } from "../simulation/quietDays.ts"
import { makeSpans } from "../support/spans.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { makeWorld } from "../twins/world/World.ts"
import { median, ratios, type Series, table } from "./figures.ts"

/** Of the throughput without. */
const least = 0.9
const seeds = 4
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)

const life = (traced: boolean) =>
  Effect.gen(function* () {
    const spans = makeSpans({ keep: false })
    const world = yield* makeWorld({ traced: false, ...(traced ? { spans } : {}) })
    yield* world.startOperator()
    world.apply()
    yield* until(() => world.isReady(), "10 minutes", "the instance is Ready")
    yield* Effect.sleep("2 hours")
    world.remove()
    yield* until(() => world.instance() === undefined, "10 minutes", "the instance is gone")
  })

const timed = (traced: boolean, seed: number): number => {
  const began = cpuSeconds()
  simulate(life(traced), { seed })
  return cpuSeconds() - began
}

// Code that has not run before is not what is measured.
for (const traced of [false, true]) timed(traced, 1)
/** By seed, the least of all rounds: whatever else the machine does only adds to what a life costs. */
const without: Array<number> = []
const withTraces: Array<number> = []
for (let seed = 0; seed < seeds; seed++) {
  for (let round = 0; round < rounds; round++) {
    // Neither always goes first.
    for (const traced of round % 2 === 0 ? [false, true] : [true, false]) {
      const series = traced ? withTraces : without
      series[seed] = Math.min(series[seed] ?? Number.POSITIVE_INFINITY, timed(traced, seed + 1))
    }
  }
}
const throughput = ratios(without, withTraces)
const series: ReadonlyArray<Series> = [
  { name: "install, two hours with repairs, deletion", unit: "CPU s", figures: without },
  { name: "the same, traced", unit: "CPU s", figures: withTraces },
  { name: "throughput traced, of that without", unit: "", figures: throughput },
  { name: "load average of the machine", unit: "processes", figures: loadavg() },
]
console.log(table(series))
const reached = median(throughput)
console.log(`goal: at least ${least}; reached: ${reached.toFixed(2)}`)
process.exitCode = reached >= least ? 0 : 1

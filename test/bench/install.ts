// make bench: what an install and a repair of a large instance cost, beside a bare Automation API script that does the
// same in the same run. Prints a table and writes .bench/results.json.
//
//   BENCH_ROUNDS   rounds that are timed (default 5); one more, untimed, warms up and looks at the memory
//   BENCH_FILLERS  ConfigMaps in addition (default 0: the smaller the platform, the more a fixed cost weighs)
import { mkdirSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus, loadavg } from "node:os"
import path from "node:path"
import { NodeRuntime } from "@effect/platform-node"
import { Config, Console, Effect } from "effect"
import { repository } from "../services/Pulumi/harness.ts"
import { machine } from "../support/machine.ts"
import { setup as buildPrograms } from "../support/programs.ts"
import { digestSeries } from "./digest.ts"
import { ratios, result, type Series, summarise, table } from "./figures.ts"
import {
  type Changes,
  makeBare,
  makeOurs,
  makeScene,
  type Scene,
  type Side,
  tenants,
  users,
} from "./scene.ts"
import { type Cost, type Memory, measure, peakMemory } from "./usage.ts"

const goals = { install: 1.15, repair: 1.25, memory: 450 }
const operations = ["install", "repair"] as const

const total = (changes: Changes): number => Object.values(changes).reduce((sum, count) => sum + count, 0)

/** How many resources. An install makes them all, a repair finds them all the same: else nothing would be compared. */
const verify = (operation: (typeof operations)[number], ours: Changes, bare: Changes): number => {
  const wanted = operation === "install" ? "create" : "same"
  for (const changes of [ours, bare]) {
    if (changes[wanted] !== total(changes) || total(changes) !== total(bare)) {
      throw new Error(`${operation}: ours ${JSON.stringify(ours)}, bare ${JSON.stringify(bare)}`)
    }
  }
  return total(ours)
}

const sidesOf = (scene: Scene, round: number) => Effect.all([makeOurs(scene, round), makeBare(scene, round)])

/** Both in turn. Whoever begins changes with the round, so that neither gains by its place. */
const both = Effect.fnUntraced(function* <A, E>(
  round: number,
  ours: Effect.Effect<A, E>,
  bare: Effect.Effect<A, E>,
) {
  if (round % 2 === 0) return [yield* ours, yield* bare] as const
  const first = yield* bare
  return [yield* ours, first] as const
})

const timedRound = Effect.fnUntraced(function* (scene: Scene, round: number) {
  const sides = yield* sidesOf(scene, round)
  const timed = Effect.fnUntraced(function* (
    effect: Side["install"],
    counted: "children" | "children and own",
  ) {
    let changes: Changes = {}
    const noted = Effect.tap(effect, (made) =>
      Effect.sync(() => {
        changes = made
      }),
    )
    return { cost: yield* measure(noted, counted), changes }
  })
  const costs: Array<{ readonly ours: Cost; readonly bare: Cost }> = []
  for (const operation of operations) {
    const [ours, bare] = yield* both(
      round,
      timed(sides[0][operation], "children and own"),
      timed(sides[1][operation], "children"),
    )
    const resources = verify(operation, ours.changes, bare.changes)
    costs.push({ ours: ours.cost, bare: bare.cost })
    const seconds = (cost: Cost) => `${cost.seconds.toFixed(1)} s (CPU ${cost.cpuSeconds.toFixed(1)} s)`
    yield* Console.log(
      `round ${round}, ${operation} of ${resources} resources: ${seconds(ours.cost)}, bare ${seconds(bare.cost)}`,
    )
  }
  return costs
}, Effect.scoped)

const memoryRound = Effect.fnUntraced(function* (scene: Scene) {
  const sides = yield* sidesOf(scene, 0)
  const peaks: Array<{ readonly ours: Memory; readonly bare: Memory }> = []
  for (const operation of operations) {
    const ours = yield* peakMemory(sides[0][operation])
    const bare = yield* peakMemory(sides[1][operation])
    peaks.push({ ours, bare })
    const told = ({ rss, processes }: Memory) => `${rss.toFixed(0)} MiB (${processes.join(", ")})`
    yield* Console.log(`memory, ${operation}: ${told(ours)}, bare ${told(bare)}`)
  }
  return peaks
}, Effect.scoped)

const timeSeries = (rounds: ReadonlyArray<ReadonlyArray<{ readonly ours: Cost; readonly bare: Cost }>>) =>
  operations.flatMap((operation, index): ReadonlyArray<Series> => {
    const of = (side: "ours" | "bare", figure: keyof Cost) =>
      rounds.flatMap((costs) => costs[index]?.[side][figure] ?? [])
    const ratio = (figure: keyof Cost) => ratios(of("ours", figure), of("bare", figure))
    const goal = goals[operation]
    return [
      { name: `${operation}, time`, unit: "ratio", figures: ratio("seconds"), goal },
      { name: `${operation}, CPU time`, unit: "ratio", figures: ratio("cpuSeconds"), goal },
      { name: `${operation}`, unit: "s", figures: of("ours", "seconds") },
      { name: `${operation}, bare`, unit: "s", figures: of("bare", "seconds") },
      { name: `${operation}`, unit: "CPU s", figures: of("ours", "cpuSeconds") },
      { name: `${operation}, bare`, unit: "CPU s", figures: of("bare", "cpuSeconds") },
    ]
  })

const memorySeries = (peaks: ReadonlyArray<{ readonly ours: Memory; readonly bare: Memory }>) =>
  operations.flatMap((operation, index): ReadonlyArray<Series> => {
    const peak = peaks[index]
    if (peak === undefined) return []
    return [
      { name: `${operation}, peak PSS`, unit: "MiB", figures: [peak.ours.pss], goal: goals.memory },
      // For comparison: Node's own program, 54 MiB, counts here though the operator has it in memory anyway.
      { name: `${operation}, peak RSS`, unit: "MiB", figures: [peak.ours.rss] },
      { name: `${operation}, peak RSS, bare`, unit: "MiB", figures: [peak.bare.rss] },
    ]
  })

const bench = Effect.gen(function* () {
  const rounds = yield* Config.Int("BENCH_ROUNDS").pipe(Config.withDefault(5))
  const fillers = yield* Config.Int("BENCH_FILLERS").pipe(Config.withDefault(0))
  buildPrograms()
  const scene = yield* makeScene(fillers)
  const load = [loadavg()[0] ?? 0]
  const peaks = yield* memoryRound(scene)
  const costs: Array<ReadonlyArray<{ readonly ours: Cost; readonly bare: Cost }>> = []
  for (let round = 1; round <= rounds; round++) {
    costs.push(yield* timedRound(scene, round))
    load.push(loadavg()[0] ?? 0)
  }
  const series = [
    ...timeSeries(costs),
    ...memorySeries(peaks),
    ...(yield* digestSeries(path.join(scene.platform.directory, "node_modules"), rounds)),
    { name: "load average of the machine", unit: "processes", figures: load },
  ]
  yield* Console.log(
    `\n${tenants} tenants, ${users} users; ${availableParallelism()} CPUs, ${cpus()[0]?.model ?? "unknown"}\n\n${table(series)}`,
  )
  const folder = path.join(repository, ".bench")
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, "results.json"), `${JSON.stringify(series.map(result), null, 2)}\n`)
  const missed = series.filter((one) => summarise(one).met === false)
  if (missed.length > 0) yield* Console.log(`\nmissed: ${missed.map(({ name }) => name).join("; ")}`)
})

bench.pipe(Effect.scoped, Effect.provide(machine), NodeRuntime.runMain)

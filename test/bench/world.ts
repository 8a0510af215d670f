// make bench-world: what the simulated world costs, in CPU time of this process, against what it may cost. Prints a
// table. Each scenario runs once untimed: code that has not run before is not what is measured.
//
//   BENCH_ROUNDS  seeds of each short scenario (default 5)
import { loadavg } from "node:os"
import { Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { cpuSeconds, leastRepairs, quietDays } from "../simulation/quietDays.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { makeWorld, type World } from "../twins/world/World.ts"
import { type Series, table } from "./figures.ts"

/** A second for each of these; a minute for a month. */
const goals = { scenario: 1, month: 60 }
const month = 30
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)

const ready = (world: World) => until(() => world.isReady(), "10 minutes", "the instance is Ready")

const killedWhen = (condition: (world: World) => boolean) =>
  Effect.fnUntraced(function* (world: World) {
    const operator = yield* world.startOperator()
    world.apply()
    yield* until(() => condition(world), "5 minutes", "the moment to die")
    yield* operator.kill("container")
    yield* ready(world)
  })

const installed = Effect.fnUntraced(function* (world: World) {
  yield* world.startOperator()
  world.apply()
  yield* ready(world)
})

const hasStatefulSet = (world: World): boolean =>
  world.admin.get(Kinds.StatefulSet, { namespace: world.hostNamespace(), name: "vcluster" }) !== undefined

const hasVersion = (world: World): boolean =>
  world
    .inner()
    ?.as("kubernetes-admin")
    .list(Kinds.ConfigMap)
    .some(({ metadata }) => metadata.name === "di-platform-version") === true

const scenarios: Readonly<Record<string, (world: World) => ReturnType<typeof installed>>> = {
  "an instance becomes Ready": installed,
  "…with the operator killed while the target is made": killedWhen(hasStatefulSet),
  "…with the operator killed in up": killedWhen(hasVersion),
  "an instance becomes Ready, and is deleted": Effect.fnUntraced(function* (world: World) {
    yield* installed(world)
    world.remove()
    yield* until(() => world.instance() === undefined, "10 minutes", "the instance is gone")
  }),
}

const timed = (run: () => void): number => {
  const began = cpuSeconds()
  run()
  return cpuSeconds() - began
}

const series: Array<Series> = Object.entries(scenarios).map(([name, scenario]) => {
  const play = (seed: number) => simulate(Effect.flatMap(makeWorld(), scenario), { seed })
  play(1)
  const figures = Array.from({ length: rounds }, (_, round) => timed(() => play(round + 1)))
  return { name, unit: "CPU s", figures, goal: goals.scenario }
})

const quiet = timed(() => {
  const { result } = quietDays(month, true)
  if (!result.ready || result.others.length > 0 || result.repairs < leastRepairs(month)) {
    throw new Error(`a month that was not quiet: ${JSON.stringify(result).slice(0, 1000)}`)
  }
})
series.push({
  name: `${month} days of 3 Ready instances`,
  unit: "CPU s",
  figures: [quiet],
  goal: goals.month,
})
series.push({ name: "load average of the machine", unit: "processes", figures: loadavg() })
console.log(table(series))

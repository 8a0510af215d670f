// Days in which nothing happens to Ready instances.
import { Duration, Effect, Predicate } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { runSimulation, until } from "../twins/simulation/Simulation.ts"
import { makeWorld } from "../twins/world/World.ts"
import { record } from "./scraping.ts"

/** Who is left alone, and how often is looked at them. */
export interface Quiet {
  readonly names: ReadonlyArray<string>
  readonly targetPoll: Duration.Duration
  readonly repairInterval: Duration.Duration
}

/** At the default intervals. */
export const three: Quiet = {
  names: ["one", "two", "three"],
  targetPoll: Duration.seconds(10),
  repairInterval: Duration.minutes(30),
}
export const hundred: Quiet = {
  names: Array.from({ length: 100 }, (_, index) => `number-${index}`),
  targetPoll: Duration.minutes(10),
  repairInterval: Duration.hours(12),
}

/** A status without what each repair writes. */
const withoutRepairTime = (status: unknown): string => {
  if (!Predicate.isObject(status)) return JSON.stringify(status)
  const { lastRepair: _, ...rest } = status
  return JSON.stringify(rest)
}

/** One an interval, up to 5 % earlier; each takes a moment. */
export const leastRepairs = (days: number, { names, repairInterval }: Quiet = three): number =>
  names.length *
  Math.floor((0.96 * Duration.toMillis(Duration.days(days))) / Duration.toMillis(repairInterval))

/** What is written of the instances' status, beside the time of the last repair, and whether they are Ready at the end. */
export const quietDays = (days: number, direct: boolean, scraped = false, quiet: Quiet = three) =>
  runSimulation(
    Effect.gen(function* () {
      const { targetPoll, repairInterval } = quiet
      const instances = quiet.names.map((name) => ({ namespace: "team-a", name }))
      const world = yield* makeWorld({ traced: false, direct, settings: { targetPoll, repairInterval } })
      const operator = yield* world.startOperator({ metrics: scraped })
      const recording = scraped ? yield* record([operator]) : undefined
      for (const instance of instances) world.apply({}, instance)
      yield* until(() => instances.every(world.isReady), "3 hours", "all are Ready")
      // The first repair changes the reason of `Installed`, once.
      yield* Effect.sleep(Duration.times(repairInterval, 7 / 6))
      let repairs = 0
      const others: Array<string> = []
      world.host.subscribe(({ type, kind, object, previous }) => {
        if (kind.plural !== Kinds.PlatformInstance.plural) return
        const onlyRepair =
          type === "MODIFIED" &&
          withoutRepairTime(object.status) === withoutRepairTime(previous?.status) &&
          JSON.stringify(object.spec) === JSON.stringify(previous?.spec)
        if (onlyRepair) repairs += 1
        else others.push(`${type} ${object.metadata.name} ${JSON.stringify(object.status)}`)
      })
      yield* Effect.sleep(Duration.days(days))
      return { repairs, others, ready: instances.every(world.isReady), recording }
    }),
    { seed: 1, stacks: false, maxSteps: 20_000_000 },
  )

/** CPU time of this process so far, in seconds. */
export const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

// Days in which nothing happens to three Ready instances at the default intervals.
import { Duration, Effect, Predicate } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { runSimulation, until } from "../twins/simulation/Simulation.ts"
import { makeWorld } from "../twins/world/World.ts"
import { record } from "./scraping.ts"

const instances = ["one", "two", "three"].map((name) => ({ namespace: "team-a", name }))

/** A status without what each repair writes. */
const withoutRepairTime = (status: unknown): string => {
  if (!Predicate.isObject(status)) return JSON.stringify(status)
  const { lastRepair: _, ...rest } = status
  return JSON.stringify(rest)
}

/** One each half an hour, up to 5 % earlier. */
export const leastRepairs = (days: number): number => instances.length * days * 46

/** What is written of the instances' status, beside the time of the last repair, and whether they are Ready at the end. */
export const quietDays = (days: number, direct: boolean, scraped = false) =>
  runSimulation(
    Effect.gen(function* () {
      const world = yield* makeWorld({ traced: false, direct })
      const operator = yield* world.startOperator({ metrics: scraped })
      const recording = scraped ? yield* record([operator]) : undefined
      for (const instance of instances) world.apply({}, instance)
      yield* until(() => instances.every(world.isReady), "20 minutes", "all are Ready")
      // The first repair changes the reason of `Installed`, once.
      yield* Effect.sleep("35 minutes")
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
    { seed: 1, stacks: false },
  )

/** CPU time of this process so far, in seconds. */
export const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

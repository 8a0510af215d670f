// What users and the world do to an operator whose calls go wrong (faults.ts): the workloads of the crash tests, each with
// when it is done, whatever has gone wrong on its way.
import { Duration, Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { until } from "../twins/simulation/Simulation.ts"
import { key, type World } from "../twins/world/World.ts"
import { type CheckedWorld, gone, isWell, patience, well } from "./checked.ts"
import type { Errand } from "./faults.ts"
import { drifted, findInside, takeDrifted } from "./workloads.ts"

const installed = (spec: Readonly<Record<string, unknown>> = {}) => ({
  prepare: (world: CheckedWorld) => {
    world.apply(spec)
    return well(world)
  },
})

const isGone = (world: World) => world.instance() === undefined
const lastInstall = (world: World) =>
  world.status()?.conditions?.find(({ type }) => type === "Installed")?.reason

export const install: Errand = {
  name: "an install",
  act: (world) => world.apply(),
  isDone: (world) => isWell(world),
}

const upgrade: Errand = {
  ...installed({ version: "6.0.21" }),
  name: "an upgrade",
  act: (world) => world.edit({ spec: { version: "6.0.22" } }),
  isDone: (world) => isWell(world) && world.status()?.installedVersion === "6.0.22",
}

/** The next repair is due soon when something is missing, and the one after it later than the world is looked at. */
const repair: Errand = {
  name: "a repair",
  world: { settings: { repairInterval: Duration.hours(3), targetPoll: Duration.minutes(1) } },
  prepare: (world) => Effect.andThen(installed().prepare(world), Effect.sleep("135 minutes")),
  act: takeDrifted,
  isDone: (world) =>
    isWell(world) && drifted.every(([kind, name]) => findInside(world, kind, name) !== undefined),
  quiet: "1 hour",
}

const retry: Errand = {
  name: "a failed install that is mended",
  // This version's program throws.
  act: (world) => world.apply({ version: "6.0.90" }),
  goOn: (world) =>
    Effect.andThen(
      until(() => world.status()?.phase === "Failed", patience, "the install has failed"),
      Effect.sync(() => world.edit({ spec: { version: "6.0.22" } })),
    ),
  isDone: (world) => isWell(world),
}

const resync: Errand = {
  ...installed(),
  name: "a resync",
  act: (world) => world.admin.delete(Kinds.Secret, { namespace: world.hostNamespace(), name: "vc-vcluster" }),
  isDone: (world) => isWell(world) && lastInstall(world) === "Resync",
}

const deletion: Errand = {
  ...installed(),
  name: "a deletion",
  act: (world) => world.remove(),
  isDone: isGone,
}

const readoption: Errand = {
  ...installed({ deletionPolicy: "Retain" }),
  name: "a retained instance that comes back",
  act: (world) => world.remove(),
  goOn: (world) =>
    Effect.andThen(
      gone(world),
      Effect.sync(() => world.apply({ deletionPolicy: "Retain" })),
    ),
  isDone: (world) => isWell(world),
}

const other = { ...key, name: "two" }
const two: Errand = {
  name: "two instances of one version",
  act: (world) => {
    world.apply()
    world.apply({}, other)
  },
  isDone: (world) => isWell(world) && isWell(world, other),
}

export const errands: ReadonlyArray<Errand> = [
  install,
  upgrade,
  repair,
  retry,
  resync,
  deletion,
  readoption,
  two,
]

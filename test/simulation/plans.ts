// The plans of an instance in a simulated world, as people see them.
import { assert } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { PLAN_KEY } from "../../src/schema/Names.ts"
import { PlansText } from "../../src/schema/Plan.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { until } from "../twins/simulation/Simulation.ts"
import { key, type World } from "../twins/world/World.ts"

const decodeData = Schema.decodeUnknownOption(Schema.Record(Schema.String, Schema.String))
const decodePlans = Schema.decodeOption(PlansText)

/** As they are shown beside the instance. */
export const plansOf = (world: World) => {
  const map = world.admin.get(Kinds.ConfigMap, { ...key, name: `${key.name}-history` })
  const text = Option.flatMap(decodeData(map?.data), (data) => Option.fromUndefinedOr(data[PLAN_KEY]))
  return Option.getOrUndefined(Option.flatMap(text, decodePlans))
}

const planIn = (world: World, version: string, generation: number) => {
  const { spec, version: other } = plansOf(world) ?? {}
  return [spec, other].find(
    (plan) => plan?.version === version && plan.generation === generation && plan.unreadable === undefined,
  )
}

/** Waits until there is a plan of this version with the spec of this generation; gives it. */
export const planned = Effect.fnUntraced(function* (world: World, version: string, generation: number) {
  yield* until(
    () => planIn(world, version, generation) !== undefined,
    "30 minutes",
    `there is a plan of ${version}, generation ${generation}`,
  )
  return planIn(world, version, generation) ?? assert.fail("it was there")
})

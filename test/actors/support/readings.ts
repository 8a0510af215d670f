// What tests read of a world, and the world most of them begin with.
import { assert } from "@effect/vitest"
import { Clock, Duration, Effect, Option } from "effect"
import { findCondition } from "../../../src/schema/Conditions.ts"
import { epochMillis } from "../../../src/schema/Time.ts"
import { makeWorld, pass, settings, type World } from "./World.ts"

export const phase = (world: World) => Option.getOrUndefined(world.status())?.phase
export const condition = (world: World, type: Parameters<typeof findCondition>[1]) =>
  findCondition(Option.getOrUndefined(world.status())?.conditions, type)
/** Why each operation of the engine ran, and how it ended. */
export const reasons = (world: World) => world.pulumi.runs.map(({ request }) => request.kind)
/** When the next repair is due, by the record: seconds since the epoch. */
export const repairDue = (world: World, name = "team-a/one") => {
  const { finishedAt, repairEarly = 0 } = world.store.records.get(name)?.installed ?? assert.fail(name)
  return epochMillis(finishedAt) / 1_000 + Duration.toSeconds(settings.repairInterval) * (1 - repairEarly)
}
/** Passes until this moment, in seconds since the epoch. */
export const passUntil = Effect.fnUntraced(function* (seconds: number, step = 10) {
  const left = seconds - (yield* Clock.currentTimeMillis) / 1_000
  yield* pass(left - (left % step), step)
  yield* pass(left % step)
})
export const outcomes = (world: World) => world.pulumi.runs.map(({ outcome }) => outcome)

/** A world whose instance is Ready, as the operator in it has made it. */
export const ready = Effect.fnUntraced(function* (choices?: Parameters<typeof makeWorld>[0]) {
  const world = yield* makeWorld(choices)
  const operator = yield* world.startOperator()
  world.apply()
  yield* pass(120)
  assert.strictEqual(phase(world), "Ready")
  return { ...world, operator }
})

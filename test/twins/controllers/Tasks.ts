// What controllers are made of: something that happens later, and a queue of keys. Both run on Effect's clock and draw
// their delays from its Random, so that a simulation decides them.
import { Cause, Clock, Duration, Effect, FiberSet, Random, type Scope } from "effect"

/** In milliseconds; each time another one of the range. */
export type Delay = readonly [least: number, most: number]

export interface Tasks {
  /** Milliseconds. */
  readonly now: () => number
  /** From 0 to 1. */
  readonly random: () => number
  /** The returned function calls it off. */
  readonly after: (delay: Delay | number, act: () => void) => () => void
  /** Runs until it ends, or until the returned function interrupts it. */
  readonly run: (effect: Effect.Effect<void>) => () => void
}

/** All of it ends with the scope. */
export const makeTasks: Effect.Effect<Tasks, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const random = yield* Random.Random
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const run = (effect: Effect.Effect<void>) => {
    const told = Effect.tapCause(effect, (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("A simulated controller died", cause),
    )
    const fiber = fork(told)
    return () => fiber.interruptUnsafe()
  }
  return {
    now: () => clock.currentTimeMillisUnsafe(),
    random: () => random.nextDoubleUnsafe(),
    run,
    after: (delay, act) => {
      const millis =
        typeof delay === "number" ? delay : delay[0] + random.nextDoubleUnsafe() * (delay[1] - delay[0])
      return run(Effect.andThen(Effect.sleep(Duration.millis(Math.round(millis))), Effect.sync(act)))
    },
  }
})

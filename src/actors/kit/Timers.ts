// Named timers that wake a mailbox. Arming one again replaces it; all of them end with the scope they were
// made in, so that no timer outlives its actor.
import { type Duration, Effect, FiberMap, type Scope } from "effect"
import type { Mailbox } from "./Mailbox.ts"

export interface Timers {
  /** Wakes the mailbox with the reason `timer:<name>` after this long. */
  readonly arm: (name: string, after: Duration.Duration) => Effect.Effect<void>
  readonly disarm: (name: string) => Effect.Effect<void>
  /** Whether one of them will go off. */
  readonly isArmed: Effect.Effect<boolean>
}

export const makeTimers = (mailbox: Mailbox): Effect.Effect<Timers, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fibers = yield* FiberMap.make<string>()
    return {
      arm: (name, after) =>
        FiberMap.run(
          fibers,
          name,
          Effect.sleep(after).pipe(Effect.andThen(mailbox.wake(`timer:${name}`))),
        ).pipe(Effect.asVoid),
      disarm: (name) => FiberMap.remove(fibers, name),
      isArmed: Effect.map(FiberMap.size(fibers), (size) => size > 0),
    }
  })

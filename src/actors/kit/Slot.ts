// The one place of an actor where something long runs. It belongs to the supervisor, not to the actor: a defect
// that restarts the actor kills no healthy operation, and its exit waits here until the actor has read it.
import { Effect, type Exit, Fiber, type Scope } from "effect"
import type { Mailbox } from "./Mailbox.ts"

export type SlotState<Op, A, E> =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Running"; readonly operation: Op; readonly cancelling: boolean }
  | { readonly _tag: "Finished"; readonly operation: Op; readonly exit: Exit.Exit<A, E> }

export interface Slot<Op, A, E> {
  readonly state: () => SlotState<Op, A, E>
  /** Dies when the slot is not idle: two operations at once is the one thing that must never be. */
  readonly start: <R>(operation: Op, effect: Effect.Effect<A, E, R>) => Effect.Effect<void, never, R>
  /** Asks the running operation to end and returns at once; its exit arrives like any other. */
  readonly cancel: Effect.Effect<void>
  /** Waits until nothing runs any more, after asking it to end. */
  readonly stop: Effect.Effect<void>
  /** Takes the exit of a finished operation off the slot. */
  readonly acknowledge: Effect.Effect<void>
}

export const makeSlot = <Op, A, E>(scope: Scope.Scope, mailbox: Mailbox): Slot<Op, A, E> => {
  let state: SlotState<Op, A, E> = { _tag: "Idle" }
  let fiber: Fiber.Fiber<void> | undefined
  const start = <R>(operation: Op, effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      if (state._tag !== "Idle") return yield* Effect.die(new Error(`slot is ${state._tag}, not Idle`))
      state = { _tag: "Running", operation, cancelling: false }
      // `onExit` runs on interruption too, so the exit of a cancelled operation arrives like any other.
      fiber = yield* effect.pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            state = { _tag: "Finished", operation, exit }
            fiber = undefined
            mailbox.wakeUnsafe("operation")
          }),
        ),
        Effect.exit,
        Effect.asVoid,
        Effect.forkIn(scope, { startImmediately: false }),
      )
    })
  const interrupt = Effect.suspend(() => {
    if (state._tag !== "Running" || fiber === undefined) return Effect.void
    const running = fiber
    if (state.cancelling) return Effect.succeed(running)
    state = { ...state, cancelling: true }
    return Effect.as(Effect.forkIn(Fiber.interrupt(running), scope), running)
  })
  return {
    state: () => state,
    start,
    cancel: Effect.asVoid(interrupt),
    stop: interrupt.pipe(
      Effect.flatMap((running) =>
        running === undefined ? Effect.void : Effect.asVoid(Fiber.await(running)),
      ),
    ),
    acknowledge: Effect.sync(() => {
      if (state._tag === "Finished") state = { _tag: "Idle" }
    }),
  }
}

// How long what runs in a slot takes, by what it was and how it ended.
import { Cause, Clock, Effect, Exit } from "effect"
import { observe } from "../../../services/Metrics/Metrics.ts"
import type { Slot } from "../../kit/Slot.ts"
import type { Operation, OperationError, OperationResult } from "../Operation.ts"

const nameOf = (operation: Operation): string => {
  switch (operation._tag) {
    case "Install":
      return operation.reason
    case "Target":
      return operation.step
    case "Plan":
      return "Plan"
    case "Uninstall":
      return "Uninstall"
  }
}

const outcomeOf = <A>(exit: Exit.Exit<A, OperationError>): string => {
  if (Exit.isSuccess(exit)) return "succeeded"
  if (Cause.hasInterruptsOnly(exit.cause)) return "cancelled"
  const failures = exit.cause.reasons.filter(Cause.isFailReason)
  return failures.length > 0 && failures.every(({ error }) => error.cancelled) ? "cancelled" : "failed"
}

const timed = <A, R>(operation: Operation, effect: Effect.Effect<A, OperationError, R>) =>
  Effect.flatMap(Clock.currentTimeMillis, (began) =>
    Effect.onExit(effect, (exit) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        observe(
          "platform_operator_operation_duration_seconds",
          { operation: nameOf(operation), outcome: outcomeOf(exit) },
          Math.max(0, now - began) / 1000,
        ),
      ),
    ),
  )

/** The same slot; what is started in it is timed. */
export const timedSlot = (
  slot: Slot<Operation, OperationResult, OperationError>,
): Slot<Operation, OperationResult, OperationError> => ({
  ...slot,
  start: (operation, effect) => slot.start(operation, timed(operation, effect)),
})

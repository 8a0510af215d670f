// What the end of an operation means: the memory is brought up to date and an Event says it. The status follows
// from the memory in the same pass.
import { Cause, Clock, Duration, Effect, Exit, Option, Schema } from "effect"
import { installFailureReasons } from "../../schema/Conditions.ts"
import { Events } from "../../services/Events/Events.ts"
import type { KubeObject } from "../../services/Kubernetes/Kubernetes.ts"
import { delayAfter, retryBackoff } from "../kit/Backoff.ts"
import type { Memory } from "./Memory.ts"
import { type Operation, OperationError, type OperationResult } from "./Operation.ts"

const isInstallReason = Schema.is(Schema.Literals(installFailureReasons))

/** A defect in an operation fails that operation alone; its message names no internals. */
const failureOf = (operation: Operation, cause: Cause.Cause<OperationError>): OperationError => {
  const failure = Cause.findErrorOption(cause)
  if (Option.isSome(failure)) return failure.value
  return new OperationError({
    reason: operation._tag === "Install" ? "InstallFailed" : "TargetError",
    message: "internal error: the operation ended unexpectedly; the operator's log has the details",
    cancelled: Cause.hasInterruptsOnly(cause),
  })
}

/** One more failure in a row: nothing starts again before the backoff has passed. */
export const backOff = Effect.fnUntraced(function* (memory: Memory, of: Memory["retryOf"]) {
  memory.retryOf = of
  memory.failures += 1
  const delay = yield* delayAfter(retryBackoff, memory.failures)
  memory.retryAt = Option.some((yield* Clock.currentTimeMillis) + Duration.toMillis(delay))
})

export const resetBackOff = (memory: Memory): void => {
  memory.failures = 0
  memory.retryAt = Option.none()
}

/** Whoever edits or deletes the instance does not wait out the backoff of what was there before. */
export const followGeneration = Effect.fnUntraced(function* (memory: Memory, generation: number) {
  if (memory.generation === generation) return
  memory.generation = generation
  memory.editedAt = yield* Clock.currentTimeMillis
  resetBackOff(memory)
})

const failed = Effect.fnUntraced(function* (
  memory: Memory,
  object: KubeObject,
  operation: Operation,
  error: OperationError,
) {
  const events = yield* Events
  if (error.cancelled) {
    yield* Effect.logInfo("operation cancelled").pipe(Effect.annotateLogs({ operation: operation._tag }))
    return
  }
  yield* Effect.logWarning("operation failed").pipe(
    Effect.annotateLogs({ operation: operation._tag, reason: error.reason, message: error.message }),
  )
  yield* backOff(memory, operation._tag)
  switch (operation._tag) {
    case "Target":
      memory.targetFailure = Option.some({ reason: "TargetError", message: error.message })
      break
    case "Install":
      memory.installFailure = Option.some({
        reason: isInstallReason(error.reason) ? error.reason : "InstallFailed",
        message: error.message,
        generation: operation.generation,
      })
      break
    case "Uninstall":
      memory.deletion = { _tag: "Failed", reason: "TargetDeleteFailed", message: error.message }
      break
  }
  yield* events.emit(object, {
    type: "Warning",
    reason: error.reason,
    action: operation._tag,
    note: error.message,
  })
})

const succeeded = Effect.fnUntraced(function* (
  memory: Memory,
  object: KubeObject,
  operation: Operation,
  result: OperationResult,
) {
  const events = yield* Events
  memory.targetFailure = Option.none()
  if (operation._tag === "Uninstall") {
    memory.deletion = { _tag: "Working", message: "the vCluster is uninstalled" }
  }
  // An uninstall between two installs that fail is no success: a target's failures count until it is ready.
  if (operation._tag !== "Target") resetBackOff(memory)
  if (result._tag !== "Installed" || operation._tag !== "Install") return
  memory.record = Option.some(result.record)
  memory.installFailure = Option.none()
  // A repair that found nothing to do is no news.
  if (operation.reason === "RepairDue") return
  yield* events.emit(object, {
    type: "Normal",
    reason: operation.reason,
    action: "Install",
    note: `installed version ${operation.version}`,
  })
})

const isCancelled = (exit: Exit.Exit<OperationResult, OperationError>): boolean =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

export const settle = Effect.fn("Instance.settle")(function* (
  memory: Memory,
  object: KubeObject,
  operation: Operation,
  exit: Exit.Exit<OperationResult, OperationError>,
) {
  if (operation._tag === "Install" && !isCancelled(exit)) memory.superseded = false
  if (Exit.isSuccess(exit)) return yield* succeeded(memory, object, operation, exit.value)
  if (Cause.hasDies(exit.cause)) yield* Effect.logError("operation died", exit.cause)
  yield* failed(memory, object, operation, failureOf(operation, exit.cause))
})

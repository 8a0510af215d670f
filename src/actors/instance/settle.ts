// What the end of an operation means: the memory is brought up to date and an Event says it. The status follows
// from the memory in the same pass.
import { Cause, Clock, DateTime, Duration, Effect, Exit, Option, Schema } from "effect"
import { installFailureReasons } from "../../schema/Conditions.ts"
import { plannedMark } from "../../schema/DayTwo.ts"
import { ANNOTATION_FRESH_START, ANNOTATION_RECONCILE_REQUESTED } from "../../schema/Names.ts"
import { mostOfNote, planSummary } from "../../schema/Plan.ts"
import type { InstanceMetadata } from "../../schema/PlatformInstance.ts"
import { formatTime } from "../../schema/Time.ts"
import { Events } from "../../services/Events/Events.ts"
import type { KubeObject } from "../../services/Kubernetes/Kubernetes.ts"
import { delayAfter, retryBackoff } from "../kit/Backoff.ts"
import { lookOf } from "./looks.ts"
import type { Memory } from "./Memory.ts"
import { type InstallOperation, type Operation, OperationError, type OperationResult } from "./Operation.ts"
import { noRepairs, oneMore } from "./target/repairs.ts"
import { applied, failedUpgrade, failing } from "./upgradeNews.ts"

const isInstallReason = Schema.is(Schema.Literals(installFailureReasons))

/** A defect in an operation fails that operation alone; its message names no internals. */
const failureOf = (operation: Operation, cause: Cause.Cause<OperationError>): OperationError => {
  const failure = Cause.findErrorOption(cause)
  if (Option.isSome(failure)) return failure.value
  const what = operation._tag === "Install" ? `install (version ${operation.version}): ` : ""
  return new OperationError({
    reason: operation._tag === "Install" ? "InstallFailed" : "TargetError",
    message: `${what}internal error: the operation ended unexpectedly; the operator's log has the details`,
    cancelled: Cause.hasInterruptsOnly(cause),
  })
}

/** One more failure in a row: nothing starts again before the backoff has passed. */
export const backOff = Effect.fnUntraced(function* (memory: Memory, of: Memory["retryOf"]) {
  memory.retryOf = of
  memory.failures += 1
  memory.retryAt = Option.some(yield* afterPause(memory.failures))
})

export const resetBackOff = (memory: Memory): void => {
  memory.failures = 0
  memory.retryAt = Option.none()
}

type Asking = Pick<InstanceMetadata, "generation" | "annotations">

export const requestIn = ({ annotations }: Pick<Asking, "annotations">): Option.Option<string> =>
  Option.filter(
    Option.some(
      [ANNOTATION_RECONCILE_REQUESTED, ANNOTATION_FRESH_START]
        .flatMap((name) => annotations?.[name] ?? [])
        .join(" "),
    ),
    (value) => value.trim() !== "",
  )

/** Somebody asks to try at once; the same value twice, or taking it away, asks for nothing. */
export const isRequested = (memory: Memory, metadata: Asking): boolean =>
  Option.exists(requestIn(metadata), (value) => !Option.contains(memory.requested, value))

/** Neither the backoff of a failure is waited out, nor the pause between repairs that are undone each time. */
const startAfresh = (memory: Memory): void => {
  resetBackOff(memory)
  memory.repairs = noRepairs
  memory.looks = {}
}

/** Whoever edits or deletes the instance, or asks for it, does not wait out the pauses of what was before. */
export const followEdits = Effect.fnUntraced(function* (memory: Memory, metadata: Asking) {
  if (isRequested(memory, metadata)) {
    memory.requested = requestIn(metadata)
    memory.awaited = true
    startAfresh(memory)
  }
  if (memory.generation === metadata.generation) return
  memory.generation = metadata.generation
  memory.editedAt = yield* Clock.currentTimeMillis
  startAfresh(memory)
})

const afterPause = Effect.fnUntraced(function* (times: number) {
  const delay = yield* delayAfter(retryBackoff, times)
  return (yield* Clock.currentTimeMillis) + Duration.toMillis(delay)
})

/** Whatever changes under each plan does not have it made over and over. */
const noteOutdated = Effect.fnUntraced(function* (memory: Memory, operation: Operation) {
  const plan = Option.getOrUndefined(memory.plans)?.spec
  if (operation._tag !== "Install" || plan?.outdated === undefined) return
  const look = lookOf(memory, "spec", plan)
  const outdated = look.outdated + 1
  memory.looks = { ...memory.looks, spec: { ...look, outdated, at: yield* afterPause(outdated) } }
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
    return yield* noteOutdated(memory, operation)
  }
  yield* Effect.logWarning("operation failed").pipe(
    Effect.annotateLogs({ operation: operation._tag, reason: error.reason, message: error.message }),
  )
  if (operation._tag === "Plan") {
    const look = lookOf(memory, operation.slot, operation)
    const failures = look.failures + 1
    const at = yield* afterPause(failures)
    memory.looks = { ...memory.looks, [operation.slot]: { ...look, failures, at, told: error.message } }
    // The same again is no news.
    if (look.told === error.message) return
    yield* events.emit(object, { type: "Warning", reason: "PlanFailed", action: "Plan", note: error.message })
    return
  }
  const memo = Option.getOrUndefined(memory.dayTwo)
  if (error.begun === true && memo?.vcluster !== undefined) {
    // What is there is as good as before, once that is rolled back.
    yield* events.emit(object, failedUpgrade(memo.vcluster, error.message))
    memory.dayTwo = Option.some(failing(memo, error.message))
    return
  }
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

/** What is told of an install that has succeeded. */
const newsOf = ({ reason, version, generation, progress }: InstallOperation): string => {
  if (reason !== "SpecChanged") return `installed version ${version}`
  const what =
    progress.changed.size === 0 ? "nothing of the platform had to change" : "the platform was changed"
  return `applied generation ${generation} over version ${version}: ${what}`
}

const succeeded = Effect.fnUntraced(function* (
  memory: Memory,
  object: KubeObject,
  operation: Operation,
  result: OperationResult,
) {
  const events = yield* Events
  if (result._tag === "Planned" && operation._tag === "Plan") {
    const { generation } = result.plan
    const { asked, slot } = operation
    const look = lookOf(memory, slot, operation)
    memory.looks = { ...memory.looks, [slot]: { ...look, failures: 0, at: 0, told: "" } }
    // What is news of drift is told by what was told before (dayTwo.ts).
    if (slot === "drift" || (asked === undefined && !result.news)) return
    if (asked !== undefined) {
      memory.dayTwo = Option.map(memory.dayTwo, (memo) => ({
        ...memo,
        planned: plannedMark(asked, generation),
      }))
    }
    yield* events.emit(object, {
      type: "Normal",
      reason: "Planned",
      action: "Plan",
      note: planSummary(result.plan, mostOfNote),
      paced: false,
    })
    return
  }
  memory.targetFailure = Option.none()
  if (operation._tag === "Target" && operation.step === "ReapplyRelease") {
    memory.repairs = oneMore(memory.repairs, yield* Clock.currentTimeMillis)
  }
  if (operation._tag === "Target" && operation.step === "UpgradeRelease") {
    const now = formatTime(yield* DateTime.now)
    memory.dayTwo = Option.map(memory.dayTwo, (memo) => applied(memo, now))
  }
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
    note: newsOf(operation),
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
  if (operation._tag === "Install" && !isCancelled(exit)) {
    memory.superseded = false
    memory.awaited = false
  }
  if (Exit.isSuccess(exit)) return yield* succeeded(memory, object, operation, exit.value)
  if (Cause.hasDies(exit.cause)) yield* Effect.logError("operation died", exit.cause)
  yield* failed(memory, object, operation, failureOf(operation, exit.cause))
})

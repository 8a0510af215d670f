// A pass over an instance that is being deleted: whatever runs is ended first, then one step after the other.
import { Clock, Duration, Effect, Option } from "effect"
import { type DeletionView, decodeDeletionView } from "../../schema/DeletionView.ts"
import { FINALIZER } from "../../schema/Names.ts"
import { instanceKey } from "../../schema/PlatformInstance.ts"
import { Events } from "../../services/Events/Events.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, type KubeObject, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import { followAnnotations, save } from "./dayTwo.ts"
import {
  type DeletionOutcome,
  deletionError,
  resetCleanupFailures,
  runDeletionStep,
  runUninstall,
} from "./deletion/deleteInstance.ts"
import { type DeletionStep, deletionStep, failureReasonOf, leftBehind } from "./deletion/deletionStep.ts"
import { observeDeletion } from "./deletion/observeDeletion.ts"
import type { DeletionReport } from "./Facts.ts"
import { startTold } from "./history.ts"
import { InstallPermits } from "./install/InstallPermits.ts"
import type { OperationError } from "./Operation.ts"
import type { DeletionPass, InstanceServices } from "./Pass.ts"
import { Settings } from "./Settings.ts"
import { backOff, followEdits, isRequested } from "./settle.ts"
import { TargetPermits } from "./target/TargetPermits.ts"
import { deletionEnding } from "./trace/endings.ts"
import { writeStatus } from "./writeStatus.ts"

/**
 * The last look that shows what stays. Of one that was switched to `Retain` half-way that is in its record: without it, it
 * looks like one that keeps everything.
 */
const isLastToTell = (next: DeletionStep, { deletionPolicy }: DeletionView): boolean =>
  next._tag === "RemoveFinalizer" || (next._tag === "ForgetRecord" && deletionPolicy === "Retain")

/** While the instance is still there to be looked at. */
const tellLeftBehind = Effect.fnUntraced(function* (object: KubeObject, what: ReadonlyArray<string>) {
  if (what.length === 0) return
  const events = yield* Events
  yield* events.emit(object, {
    type: "Normal",
    reason: "LeftBehind",
    action: "Delete",
    note: `not removed with the instance: ${what.join("; ")}`,
  })
})

/**
 * The instance as it is now, if it is still this life of it. The cache may be behind: what it shows may have given way to
 * a successor that is to pick up what this one would remove, or may have been switched to `Retain`.
 */
const lookAgain = Effect.fnUntraced(function* (subject: DeletionView) {
  const kubernetes = yield* Kubernetes
  const found = yield* kubernetes.get(Instances, instanceKey(subject))
  if (!Option.exists(found, ({ metadata }) => metadata.uid === subject.metadata.uid)) {
    return Option.none<DeletionView>()
  }
  return yield* Effect.option(decodeDeletionView(Option.getOrThrow(found)))
})

const lookFailed = deletionError("TargetDeleteFailed", "look at what is left")

const stepOf = Effect.fnUntraced(function* (
  pass: DeletionPass,
  subject: DeletionView,
): Effect.fn.Return<DeletionOutcome, OperationError, InstanceServices> {
  const { memory, object } = pass
  const observed = yield* Effect.mapError(observeDeletion(subject, memory.retryAt), lookFailed)
  memory.dismantled ||= observed.begun || subject.deletionPolicy === "Delete"
  const next = deletionStep(observed)
  yield* pass.trace.deletes(next)
  const told = memory.deletion
  // What failed keeps its own words until it has succeeded.
  const keepsFailing =
    told._tag === "Failed" && told.reason === failureReasonOf(next) && next._tag !== "MarkCleaned"
  const keep = (outcome: DeletionOutcome): DeletionOutcome =>
    keepsFailing && outcome.report._tag !== "Failed" ? { ...outcome, report: told } : outcome
  if (next._tag === "WaitForRetry" && keepsFailing) {
    return { report: told, progressed: false, retryAfter: Option.some(next.at - observed.now) }
  }
  const refused = Option.exists(memory.installFailure, ({ reason }) => reason === "InvalidStorageRoot")
  if (isLastToTell(next, subject)) yield* tellLeftBehind(object, leftBehind(observed, refused))
  if (next._tag !== "UninstallRelease") return keep(yield* runDeletionStep(subject, next, observed.storage))
  if (Option.exists(memory.retryAt, (at) => at > observed.now)) {
    return {
      report: told,
      progressed: false,
      retryAfter: Option.map(memory.retryAt, (at) => at - observed.now),
    }
  }
  yield* startTold(pass, { _tag: "Uninstall" }, runUninstall(subject))
  return keep({
    report: { _tag: "Working", message: "uninstalling the vCluster" },
    progressed: false,
    retryAfter: Option.none(),
  })
})

/** `None`: this life of the instance is gone already, and there is nobody left to do or to tell anything. */
const step = Effect.fnUntraced(function* (
  pass: DeletionPass,
): Effect.fn.Return<Option.Option<DeletionOutcome>, OperationError, InstanceServices> {
  const live = yield* Effect.mapError(lookAgain(pass.subject), lookFailed)
  return Option.isNone(live) ? Option.none() : Option.some(yield* stepOf(pass, live.value))
})

const failedStep = (pass: DeletionPass) =>
  Effect.fnUntraced(function* (error: OperationError): Effect.fn.Return<DeletionOutcome> {
    yield* Effect.logWarning("deletion step failed").pipe(
      Effect.annotateLogs({ reason: error.reason, message: error.message }),
    )
    yield* backOff(pass.memory, "Uninstall")
    const now = yield* Clock.currentTimeMillis
    const report: DeletionReport = { _tag: "Failed", reason: failureReason(error), message: error.message }
    return { report, progressed: false, retryAfter: Option.map(pass.memory.retryAt, (at) => at - now) }
  })

/** What is news: each step in the log; a failure when it begins, or has another reason. An uninstall that failed has been told of already. */
const tell = Effect.fnUntraced(function* ({ memory, object }: DeletionPass, report: DeletionReport) {
  const told = memory.deletion
  const { message } = report
  if (report._tag !== "Failed") {
    if (told.message !== message)
      yield* Effect.logInfo("deletion step").pipe(Effect.annotateLogs({ message }))
    return
  }
  const { reason } = report
  if (told._tag === "Failed" && told.reason === reason && told.message === message) return
  const events = yield* Events
  yield* events.emit(object, { type: "Warning", reason, action: "Delete", note: message })
})

const failureReason = ({ reason }: OperationError) =>
  reason === "UninstallFailed" || reason === "StorageCleanupFailed" ? reason : "TargetDeleteFailed"

export const deletionPass = Effect.fnUntraced(function* (
  pass: DeletionPass,
): Effect.fn.Return<void, KubeError, InstanceServices> {
  const { memory, subject, context, timers } = pass
  // Not ours to finish: somebody else's finalizer holds it, or it is gone already.
  if (!(subject.metadata.finalizers?.includes(FINALIZER) ?? false)) return
  yield* pass.prober.stop
  yield* (yield* TargetPermits).ended(context.key)
  // The count of failed cleanups outlives the process, and so it is asked for first and remembered after.
  if (isRequested(memory, subject.metadata)) yield* resetCleanupFailures(subject)
  yield* followEdits(memory, subject.metadata)
  yield* (yield* InstallPermits).forget(context.key)
  yield* save(pass, (yield* followAnnotations(pass)).memo)
  const settings = yield* Settings
  const running = context.slot.state()
  let outcome: DeletionOutcome = { report: memory.deletion, progressed: false, retryAfter: Option.none() }
  // What has ended since the pass began is taken in by the next one.
  if (running._tag !== "Idle") {
    if (running.operation._tag !== "Uninstall") yield* context.slot.cancel
  } else {
    const taken = yield* Effect.catchTag(step(pass), "OperationError", (error) =>
      Effect.asSome(failedStep(pass)(error)),
    )
    // Its end has not been seen in the cache yet; that wakes the actor.
    if (Option.isNone(taken)) return yield* timers.arm("retry", settings.targetPoll)
    outcome = taken.value
    yield* tell(pass, outcome.report)
    memory.deletion = outcome.report
    if (Option.isSome(outcome.retryAfter)) {
      // Not the timer alone: what is waited for wakes the actor earlier, and must not start the next try.
      memory.retryAt = Option.some((yield* Clock.currentTimeMillis) + outcome.retryAfter.value)
    }
  }
  yield* writeStatus(memory, subject, {
    generation: subject.metadata.generation,
    deletion: Option.some(outcome.report),
    dismantled: memory.dismantled,
    targetUndetermined: false,
    targetNotReady: Option.none(),
    begun: true,
    protection: Option.none(),
    running: Option.none(),
    record: Option.none(),
    failure: Option.none(),
    held: Option.none(),
    upgradeWaits: Option.none(),
    outstanding: Option.none(),
    kubeconfigSecret: Option.map(Option.fromNullishOr(memory.status.kubeconfigSecretRef), ({ name }) => name),
  }).pipe(
    // Gone with its finalizer: there is no status left to write.
    Effect.catchIf(
      (error) => error.reason === "NotFound",
      () => Effect.void,
    ),
    Effect.withSpan("Instance.report"),
  )
  const runs = context.slot.state()._tag !== "Idle"
  yield* pass.trace.ends(deletionEnding(pass.trace.deleted(), outcome.report, runs))
  if (outcome.progressed) return yield* context.mailbox.wake("progress")
  const poll = Duration.toMillis(settings.targetPoll)
  const after = Math.max(
    0,
    Math.min(
      poll,
      Option.getOrElse(outcome.retryAfter, () => poll),
    ),
  )
  yield* timers.arm("retry", Duration.millis(after))
})

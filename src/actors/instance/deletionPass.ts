// A pass over an instance that is being deleted: whatever runs is ended first, then one step after the other.
import { Clock, Duration, Effect, Option } from "effect"
import { FINALIZER } from "../../schema/Names.ts"
import type { KubeError } from "../../services/Kubernetes/Kubernetes.ts"
import {
  type DeletionOutcome,
  deletionError,
  runDeletionStep,
  runUninstall,
} from "./deletion/deleteInstance.ts"
import { deletionStep, failureReasonOf } from "./deletion/deletionStep.ts"
import { observeDeletion } from "./deletion/observeDeletion.ts"
import type { DeletionReport } from "./Facts.ts"
import type { OperationError } from "./Operation.ts"
import type { DeletionPass, InstanceServices } from "./Pass.ts"
import { Settings } from "./Settings.ts"
import { backOff, followGeneration } from "./settle.ts"
import { writeStatus } from "./writeStatus.ts"

const step = Effect.fnUntraced(function* (
  pass: DeletionPass,
): Effect.fn.Return<DeletionOutcome, OperationError, InstanceServices> {
  const { memory, subject, object, context } = pass
  const observed = yield* observeDeletion(subject, memory.retryAt).pipe(
    Effect.mapError(deletionError("TargetDeleteFailed", "look at what is left")),
  )
  const next = deletionStep(observed)
  const told = memory.deletion
  // What failed keeps its own words until it has succeeded.
  const keepsFailing =
    told._tag === "Failed" && told.reason === failureReasonOf(next) && next._tag !== "MarkCleaned"
  const keep = (outcome: DeletionOutcome): DeletionOutcome =>
    keepsFailing && outcome.report._tag !== "Failed" ? { ...outcome, report: told } : outcome
  if (next._tag === "WaitForRetry" && keepsFailing) {
    return { report: told, progressed: false, retryAfter: Option.some(next.at - observed.now) }
  }
  if (next._tag !== "UninstallRelease")
    return keep(yield* runDeletionStep(subject, object, next, observed.storage))
  if (Option.exists(memory.retryAt, (at) => at > observed.now)) {
    return {
      report: told,
      progressed: false,
      retryAfter: Option.map(memory.retryAt, (at) => at - observed.now),
    }
  }
  yield* context.slot.start({ _tag: "Uninstall" }, runUninstall(subject))
  return keep({
    report: { _tag: "Working", message: "uninstalling the vCluster" },
    progressed: false,
    retryAfter: Option.none(),
  })
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

const failureReason = ({ reason }: OperationError) =>
  reason === "UninstallFailed" || reason === "StorageCleanupFailed" ? reason : "TargetDeleteFailed"

export const deletionPass = Effect.fn("Instance.deletionPass")(function* (
  pass: DeletionPass,
): Effect.fn.Return<void, KubeError, InstanceServices> {
  const { memory, subject, context, timers } = pass
  // Not ours to finish: somebody else's finalizer holds it, or it is gone already.
  if (!(subject.metadata.finalizers?.includes(FINALIZER) ?? false)) return
  yield* pass.prober.stop
  yield* followGeneration(memory, subject.metadata.generation)
  const settings = yield* Settings
  const running = context.slot.state()
  let outcome: DeletionOutcome = { report: memory.deletion, progressed: false, retryAfter: Option.none() }
  if (running._tag === "Running") {
    if (running.operation._tag !== "Uninstall") yield* context.slot.cancel
  } else {
    outcome = yield* Effect.catchTag(step(pass), "OperationError", failedStep(pass))
    memory.deletion = outcome.report
    if (Option.isSome(outcome.retryAfter)) {
      // Not the timer alone: what is waited for wakes the actor earlier, and must not start the next try.
      memory.retryAt = Option.some((yield* Clock.currentTimeMillis) + outcome.retryAfter.value)
    }
  }
  yield* writeStatus(memory, subject, {
    generation: subject.metadata.generation,
    deletion: Option.some(outcome.report),
    targetUndetermined: false,
    targetNotReady: Option.none(),
    begun: true,
    protection: Option.none(),
    running: Option.none(),
    record: Option.none(),
    failure: Option.none(),
    kubeconfigSecret: Option.map(Option.fromNullishOr(memory.status.kubeconfigSecretRef), ({ name }) => name),
  }).pipe(
    // Gone with its finalizer: there is no status left to write.
    Effect.catchIf(
      (error) => error.reason === "NotFound",
      () => Effect.void,
    ),
  )
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

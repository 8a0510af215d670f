// An operation in the slot, with its beginning and its end in the history: what, why, when, and what came of it.
import { Cause, Clock, DateTime, Duration, Effect, Exit, Option } from "effect"
import { type Begun, DRIFT, type Ending, LOOK } from "../../schema/History.ts"
import { History } from "../../services/History/History.ts"
import type { KubeObject } from "../../services/Kubernetes/Kubernetes.ts"
import type { Operation, OperationError, OperationResult } from "./Operation.ts"
import type { AnyPass } from "./Pass.ts"
import type { SlotStep } from "./target/TargetState.ts"

const deeds: Record<SlotStep["_tag"], string> = {
  FinishPredecessor: "finish an earlier deletion",
  InstallRelease: "install vCluster",
  UninstallRelease: "uninstall vCluster",
  UpgradeRelease: "upgrade vCluster",
  RollbackRelease: "roll vCluster back",
  ReapplyRelease: "repair vCluster",
}

/** What is begun, in the words of a person who looks for it. */
export const nameOf = (operation: Operation): Pick<Begun, "what" | "why" | "version" | "generation"> => {
  switch (operation._tag) {
    case "Target":
      return { what: deeds[operation.step], why: operation.condition.message }
    case "Install": {
      const { reason, version, generation } = operation
      return { what: reason === "RepairDue" ? "repair" : "install", why: reason, version, generation }
    }
    case "Plan": {
      const { slot, version, generation } = operation
      return slot === "drift"
        ? { what: DRIFT, why: "what a repair would do", version, generation }
        : { what: LOOK, why: "what an install would do", version, generation }
    }
    case "Uninstall":
      return { what: "uninstall vCluster", why: "the instance is being deleted" }
  }
}

const changedBy = (operation: Operation, succeeded: boolean): Iterable<string> => {
  switch (operation._tag) {
    case "Target":
      return succeeded ? operation.changes : []
    case "Install":
      return operation.progress.changed
    case "Plan":
    case "Uninstall":
      return []
  }
}

/** How it ended. A defect's own words stay in the log. */
export const endingOf = (
  operation: Operation,
  exit: Exit.Exit<OperationResult, OperationError>,
): Omit<Ending, "endedAt"> => {
  const changed = changedBy(operation, Exit.isSuccess(exit))
  if (Exit.isSuccess(exit)) return { outcome: "succeeded", changed }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error?.cancelled === true || Cause.hasInterruptsOnly(exit.cause))
    return { outcome: "cancelled", changed }
  return error === undefined
    ? {
        outcome: "failed",
        reason: "InternalError",
        message: "internal error; the operator's log has the details",
        changed,
      }
    : { outcome: "failed", reason: error.reason, message: error.message, changed }
}

const timeNow = Effect.map(DateTime.now, DateTime.formatIso)

/** The same operation, told of in the history before it begins and after it has ended, however it ends. */
const told = <R>(
  { namespace = "", name }: KubeObject["metadata"],
  operation: Operation,
  effect: Effect.Effect<OperationResult, OperationError, R>,
): Effect.Effect<OperationResult, OperationError, R | History> =>
  Effect.gen(function* () {
    const history = yield* History
    const key = { namespace, name }
    const span = Option.filter(yield* Effect.option(Effect.currentParentSpan), ({ sampled }) => sampled)
    const startedAt = yield* timeNow
    yield* history.began(key, {
      ...nameOf(operation),
      startedAt,
      ...(Option.isSome(span) ? { traceId: span.value.traceId } : {}),
    })
    return yield* Effect.onExit(effect, (exit) =>
      Effect.flatMap(timeNow, (endedAt) => history.ended(key, { ...endingOf(operation, exit), endedAt })),
    )
  })

/** Starts it in the slot, told of. */
export const startTold = <R>(
  { context, object }: AnyPass,
  operation: Operation,
  effect: Effect.Effect<OperationResult, OperationError, R>,
): Effect.Effect<void, never, R | History> =>
  context.slot.start(operation, told(object.metadata, operation, effect))

const notBefore = Duration.minutes(1)

/** Where it cannot be written, it is to be tried again for somebody who has to read it. */
export const showPast = Effect.fnUntraced(function* ({ memory, object }: Pick<AnyPass, "memory" | "object">) {
  const isShown = yield* (yield* History).show(object)
  const now = yield* Clock.currentTimeMillis
  memory.unshown = isShown ? Option.none() : Option.some(now + Duration.toMillis(notBefore))
})

/** Once a life of the actor: what an earlier process had begun runs no more. */
export const recoverHistory = Effect.fnUntraced(function* (object: KubeObject) {
  const history = yield* History
  const { namespace = "", name } = object.metadata
  if (yield* history.recover({ namespace, name })) yield* history.show(object)
})

// What a pass means for the trace it is in: which trace it begins, what it waits for, whether the outcome is known. Pure.
import { Option } from "effect"
import { findCondition } from "../../../schema/Conditions.ts"
import type { PlatformInstanceStatus } from "../../../schema/PlatformStatus.ts"
import type { RootName, WaitName } from "../../../services/Telemetry/TraceTable.ts"
import type { Failure } from "../../../services/Telemetry/Tracing.ts"
import type { Decision } from "../Decision.ts"
import { type DeletionStep, deletionFailureReasons } from "../deletion/deletionStep.ts"
import type { DeletionReport, Facts } from "../Facts.ts"
import type { TargetVerdict } from "../target/TargetState.ts"

export type Ending =
  /** Something runs, or the next pass follows at once. */
  | { readonly _tag: "Busy" }
  | { readonly _tag: "Waits"; readonly name: WaitName; readonly message: string }
  | {
      readonly _tag: "Settled"
      readonly outcome: "Ready" | "Failed" | "Deleted" | "Superseded"
      readonly failure?: Failure
    }

/** There is more to do. */
export const busy: Ending = { _tag: "Busy" }

const resyncs = (verdict: TargetVerdict): boolean =>
  verdict._tag !== "Ready" &&
  (verdict.condition.reason === "Resyncing" || verdict.condition.reason === "KubeconfigMissing")

/** The trace that a decision begins where none is open; `failed`: the last outcome was a failure. */
export const traceOf = (
  decision: Decision,
  verdict: TargetVerdict,
  failed: boolean,
): RootName | undefined => {
  switch (decision._tag) {
    case "Wait":
    case "Hold":
    case "Plan":
    case "CancelOperation":
    case "Delete":
      return undefined
    case "AddFinalizer":
      return "Instance.repair"
    case "TargetStep":
      if (resyncs(verdict)) return "Instance.resync"
      return failed ? "Instance.retry" : "Instance.repair"
    case "Install":
      if (decision.reason === "Resync") return "Instance.resync"
      return decision.reason === "RepairDue" && !failed ? "Instance.repair" : "Instance.retry"
  }
}

/** Whether a status, found by a process that has just begun, tells the outcome of the generation already. */
export const isSettled = (status: PlatformInstanceStatus, generation: number): boolean => {
  const ready = findCondition(status.conditions, "Ready")
  if (status.phase === "Deleting") {
    return (
      ready?.observedGeneration === generation && deletionFailureReasons.some((each) => each === ready.reason)
    )
  }
  if (status.observedGeneration === generation) return true
  return status.phase === "Failed" && ready?.observedGeneration === generation
}

const waitFor = (verdict: TargetVerdict, published: boolean): WaitName | undefined => {
  if (verdict._tag === "Ready") return undefined
  if (verdict._tag === "Act") return "Wait.retry"
  switch (verdict.condition.reason) {
    case "Creating":
      return "Wait.namespace"
    case "ControlPlanePending":
      return "Wait.controlPlane"
    case "KubeconfigPending":
    case "KubeconfigMissing":
      return published ? "Wait.api" : "Wait.kubeconfig"
    case "Resyncing":
      return "Wait.resync"
    default:
      return undefined
  }
}

export interface Passed {
  /** As they are after the pass. */
  readonly facts: Facts
  readonly status: PlatformInstanceStatus
  readonly decision: Decision
  readonly verdict: TargetVerdict
  /** It waits for its turn to start its vCluster. */
  readonly queued: boolean
}

/** Of a pass over an instance that is not being deleted. */
export const endingOf = ({ facts, status, decision, verdict, queued }: Passed): Ending => {
  // A look at what would be done is no part of what is.
  if (Option.exists(facts.running, ({ _tag }) => _tag !== "Plan")) return busy
  const ready = findCondition(status.conditions, "Ready")
  if (status.phase === "Failed") {
    const failure = { reason: ready?.reason ?? "Failed", message: ready?.message ?? "" }
    return { _tag: "Settled", outcome: "Failed", failure }
  }
  if (decision._tag !== "Wait" && decision._tag !== "Hold" && decision._tag !== "Plan") return busy
  if (
    Option.isNone(facts.targetNotReady) &&
    status.phase === "Ready" &&
    status.observedGeneration === facts.generation
  ) {
    return { _tag: "Settled", outcome: "Ready" }
  }
  const name = queued ? "Wait.turn" : waitFor(verdict, Option.isSome(facts.kubeconfigSecret))
  const message = verdict._tag === "Ready" ? "" : verdict.condition.message
  return name === undefined ? busy : { _tag: "Waits", name, message }
}

/** Whether a step of a deletion does something, or only waits for what others do. */
export const isDeed = ({ _tag: tag }: DeletionStep): boolean =>
  !tag.startsWith("WaitFor") && tag !== "RecordUnreadable" && tag !== "StorageShared"

/** Of a pass over one that is. `step` is the one it has taken, if any. */
export const deletionEnding = (
  step: DeletionStep["_tag"] | undefined,
  report: DeletionReport,
  running: boolean,
): Ending => {
  if (running) return busy
  if (report._tag === "Failed") {
    const { reason, message } = report
    return { _tag: "Settled", outcome: "Failed", failure: { reason, message } }
  }
  switch (step) {
    case "RemoveFinalizer":
      return { _tag: "Settled", outcome: "Deleted" }
    case "WaitForNamespace":
      return { _tag: "Waits", name: "Wait.namespace", message: report.message }
    case "WaitForCleanup":
    case "WaitForPods":
      return { _tag: "Waits", name: "Wait.cleanup", message: report.message }
    default:
      return busy
  }
}

// Of one instance: at most 40 series, all of them gone when it is. A phase or a reason is a value that moves between
// series that are always there, so that a change makes no new ones. Ages are told as the time they count from.
import { reasons } from "../../schema/Conditions.ts"
import { Phase } from "../../schema/PlatformStatus.ts"
import { any, type MetricRow, ofInstance } from "./Row.ts"

const instance = { scope: "instance", labels: ofInstance } as const

/** Every reason `Ready` can have. */
export const readyReasons: ReadonlyArray<string> = [
  ...new Set([...reasons.Ready.True, ...reasons.Ready.False]),
]

export const instanceRows = {
  platforminstance_info: {
    ...instance,
    type: "gauge",
    help: "Always 1, with the UID, the version asked for, the version that is installed, and that of the chart which the vCluster's release has",
    labels: { ...ofInstance, uid: any, version: any, installed_version: any, chart_version: any },
  },
  platforminstance_status_phase: {
    ...instance,
    type: "gauge",
    help: "1 for the phase the instance is in, 0 for the others",
    labels: { ...ofInstance, phase: Phase.literals },
  },
  platforminstance_status_ready_reason: {
    ...instance,
    type: "gauge",
    help: "1 for the reason of the condition Ready, 0 for the others",
    labels: { ...ofInstance, reason: readyReasons },
  },
  platforminstance_created_timestamp_seconds: {
    ...instance,
    type: "gauge",
    help: "When the instance was created",
  },
  platforminstance_deletion_timestamp_seconds: {
    ...instance,
    type: "gauge",
    help: "When the deletion of the instance was asked for; there only while it is being deleted",
  },
  platforminstance_metadata_generation: {
    ...instance,
    type: "gauge",
    help: "The generation of the spec",
  },
  platforminstance_status_observed_generation: {
    ...instance,
    type: "gauge",
    help: "The generation whose outcome the status tells",
  },
  platforminstance_owner_service_protected: {
    ...instance,
    type: "gauge",
    help: "1 while an admission policy guards the vCluster's Service, else 0",
  },
  platforminstance_consecutive_failures: {
    ...instance,
    type: "gauge",
    help: "Target steps, installs, repairs and deletion steps that have failed in a row",
  },
  platforminstance_last_success_timestamp_seconds: {
    ...instance,
    type: "gauge",
    help: "When the last install or repair that succeeded ended",
  },
  platforminstance_repair_due_timestamp_seconds: {
    ...instance,
    type: "gauge",
    help: "When the next repair has to have begun: one interval after the last success, or when its maintenance window opens after that; where repairs look and do nothing, the next look: one interval after the last one; none while it is paused or asleep",
  },
  platforminstance_paused: {
    ...instance,
    type: "gauge",
    help: "1 while the instance is paused, else 0",
  },
  platforminstance_paused_timestamp_seconds: {
    ...instance,
    type: "gauge",
    help: "Since when the instance is paused; there only while it is",
  },
  platforminstance_asleep: {
    ...instance,
    type: "gauge",
    help: "1 while the instance is asleep, else 0",
  },
  platforminstance_asleep_timestamp_seconds: {
    ...instance,
    type: "gauge",
    help: "Since when nothing of the instance runs; there only while it is asleep",
  },
  platforminstance_asleep_memory_bytes: {
    ...instance,
    type: "gauge",
    help: "Memory that the pods had asked for which ended when the instance fell asleep; there only while it is asleep",
  },
  platforminstance_approval_pending: {
    ...instance,
    type: "gauge",
    help: "1 while a change of the instance waits for its plan or for approval, else 0",
  },
  platforminstance_drifted: {
    ...instance,
    type: "gauge",
    help: "Objects inside the instance that differ, by the last look in place of a repair; there only where repairs look and do nothing, and until an install begins after it",
  },
  platforminstance_certificate_expiry_timestamp_seconds: {
    ...instance,
    type: "gauge",
    help: "When a certificate of the instance's kubeconfig expires",
    labels: { ...ofInstance, certificate: ["authority", "client"] },
  },
  platforminstance_restored_objects_total: {
    ...instance,
    type: "counter",
    help: "Objects inside the instance that were missing or edited and have been set right",
  },
  platforminstance_locks_removed_total: {
    ...instance,
    type: "counter",
    help: "Locks on the state of the instance that were removed because their holder had ended",
  },
  platforminstance_state_bytes: {
    ...instance,
    type: "gauge",
    help: "What the instance takes in the state directory: record, project and state with its history",
  },
} as const satisfies Readonly<Record<string, MetricRow>>

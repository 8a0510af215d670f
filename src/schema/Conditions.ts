// The conditions of a PlatformInstance: every type and reason there is, and metav1.Condition's rules for setting
// one. A reason exists here and nowhere else.
import { truncateAtWord } from "./Text.ts"

/** A metav1.Condition as a PlatformInstance's status carries it. */
export interface Condition {
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
  /** RFC 3339: when `status` last changed; not when the reason or message did. */
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

export const conditionTypes = [
  "TargetReady",
  "Installed",
  "ConfigApplied",
  "Ready",
  "OwnerServiceProtected",
] as const
export type ConditionType = (typeof conditionTypes)[number]

/** Why the target is not ready, while the operator expects it to become so by itself. */
export const targetWaitingReasons = [
  "Creating",
  "ControlPlanePending",
  "KubeconfigPending",
  "KubeconfigMissing",
  "Repairing",
  "RolledBack",
  "Resyncing",
] as const
export type TargetWaitingReason = (typeof targetWaitingReasons)[number]

/** Why the target failed: the phase becomes `Failed`, and Ready gets the same reason and message. */
export const targetFailureReasons = ["TargetUnreachable", "TargetError", "TargetDeleteFailed"] as const
export type TargetFailureReason = (typeof targetFailureReasons)[number]

/** Why the last successful install or repair ran. */
export const installReasons = [
  "FirstInstall",
  "VersionChanged",
  "SpecChanged",
  "Retry",
  "RepairDue",
  "Resync",
] as const
export type InstallReason = (typeof installReasons)[number]

/** Failures that stop an install before anything is applied, so that the configuration is not applied either. */
export const configFailureReasons = ["TenantAuthSecretUnavailable", "TenantHostImageUnsupported"] as const
export type ConfigFailureReason = (typeof configFailureReasons)[number]

export const installFailureReasons = [
  "InstallFailed",
  ...configFailureReasons,
  "InvalidStorageRoot",
  "UninstallFailed",
  "StorageCleanupFailed",
] as const
export type InstallFailureReason = (typeof installFailureReasons)[number]

/** `Installing` is the operator's own: an install that changes what the user sees is running. */
export const readyWaitingReasons = ["TargetPending", "Installing", "WaitingForStorageCleanup"] as const
export type ReadyWaitingReason = (typeof readyWaitingReasons)[number]

/** What Events alone tell: no condition says it. */
export const eventOnlyReasons = [
  "Recovered",
  "Repaired",
  "NotRepaired",
  "StatusCorrected",
  "StorageRootKept",
  "StateOlder",
  "ClusterReplaced",
  "DiskLow",
  "Adopted",
  "DnsUnavailable",
  "LeftBehind",
  "InternalError",
  "AnnotationInvalid",
  "Paused",
  "Resumed",
  "Asleep",
  "Waking",
  "Planned",
  "PlanFailed",
  "ApprovalPending",
  "DriftFound",
  "DriftGone",
  "VclusterUpgraded",
  "VclusterNotUpgraded",
] as const

/** Every reason an Event can have: why an install ran, why something failed, and what Events alone tell. */
export type EventReason =
  | Exclude<InstallReason, "RepairDue">
  | TargetFailureReason
  | InstallFailureReason
  | "AdmissionPolicyUnavailable"
  | (typeof eventOnlyReasons)[number]

/** Every reason a condition can have, by type and status. */
export const reasons = {
  TargetReady: { True: ["Ready"], False: [...targetWaitingReasons, ...targetFailureReasons] },
  Installed: { True: installReasons, False: installFailureReasons },
  ConfigApplied: { True: ["Applied"], False: configFailureReasons },
  Ready: {
    True: ["Ready"],
    False: [...readyWaitingReasons, ...targetFailureReasons, ...installFailureReasons],
  },
  OwnerServiceProtected: { True: ["AdmissionPolicyInstalled"], False: ["AdmissionPolicyUnavailable"] },
} as const satisfies Record<
  ConditionType,
  { readonly True: ReadonlyArray<string>; readonly False: ReadonlyArray<string> }
>

/** The reasons of a type, for both statuses or for one. */
export type ReasonOf<
  T extends ConditionType,
  S extends "True" | "False" = "True" | "False",
> = (typeof reasons)[T][S][number]

/** A condition as it is to become: type, status and reason fit each other, or it does not compile. */
export type ConditionUpdate = {
  readonly [T in ConditionType]: {
    readonly [S in "True" | "False"]: {
      readonly type: T
      readonly status: S
      readonly reason: ReasonOf<T, S>
      readonly message: string
      readonly observedGeneration: number
    }
  }["True" | "False"]
}[ConditionType]

/** The longest message a condition or an Event carries. */
export const MAX_MESSAGE = 1024

export const findCondition = (
  conditions: ReadonlyArray<Condition> | undefined,
  type: ConditionType,
): Condition | undefined => conditions?.find((condition) => condition.type === type)

export const isTrue = (conditions: ReadonlyArray<Condition> | undefined, type: ConditionType): boolean =>
  findCondition(conditions, type)?.status === "True"

const same = (a: Condition, b: Condition): boolean =>
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  a.observedGeneration === b.observedGeneration

/**
 * Sets one condition by metav1.Condition's rules: `lastTransitionTime` moves only with the status, other conditions
 * and the order stay. Returns the very same array when nothing changes. `now` is RFC 3339 (`formatTime`).
 */
export const setCondition = (
  conditions: ReadonlyArray<Condition>,
  update: ConditionUpdate,
  now: string,
): ReadonlyArray<Condition> => {
  const old = findCondition(conditions, update.type)
  const next: Condition = {
    type: update.type,
    status: update.status,
    reason: update.reason,
    message: truncateAtWord(update.message, MAX_MESSAGE),
    lastTransitionTime: old !== undefined && old.status === update.status ? old.lastTransitionTime : now,
    observedGeneration: update.observedGeneration,
  }
  if (old === undefined) return [...conditions, next]
  if (same(old, next)) return conditions
  return conditions.map((condition) => (condition.type === update.type ? next : condition))
}

/** Sets several, one after the other, by the same rules. */
export const setConditions = (
  conditions: ReadonlyArray<Condition> | undefined,
  updates: ReadonlyArray<ConditionUpdate>,
  now: string,
): ReadonlyArray<Condition> =>
  updates.reduce((current, update) => setCondition(current, update, now), conditions ?? [])

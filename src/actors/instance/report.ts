// The only place that writes a status: what is known of an instance, turned into the status it shows. Pure.
// Conditions keep what the last finished operation proved; the status' `observedGeneration` moves to a
// generation when its outcome is known, so that kstatus never reads `Current` too early.
import { Option } from "effect"
import {
  type Condition,
  type ConditionUpdate,
  findCondition,
  type InstallFailureReason,
  isTrue,
  removeCondition,
  setCondition,
  targetFailureReasons,
} from "../../schema/Conditions.ts"
import type { Phase, PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import type { InstanceRecord } from "../../services/StateStore/StateStore.ts"
import { type DeletionFailureReason, deletionFailureReasons } from "./deletion/deletionStep.ts"
import type { Operation } from "./Operation.ts"
import type { TargetCondition } from "./target/TargetState.ts"

export interface InstallFailure {
  readonly reason: InstallFailureReason
  readonly message: string
  readonly generation: number
}

export type DeletionReport =
  | { readonly _tag: "Working"; readonly message: string }
  | { readonly _tag: "WaitingForCleanup"; readonly message: string }
  | {
      readonly _tag: "Failed"
      readonly reason: DeletionFailureReason
      readonly message: string
    }

export interface Facts {
  readonly generation: number
  readonly deletion: Option.Option<DeletionReport>
  /**
   * Nothing is known of the target yet in this life of the operator: a target that was ready is not said to be
   * lost until it has been asked.
   */
  readonly targetUndetermined: boolean
  /** `None` when the target is ready. */
  readonly targetNotReady: Option.Option<TargetCondition>
  /** Whether anything was begun for this instance beyond seeing it. */
  readonly begun: boolean
  readonly protection: Option.Option<{ readonly installed: boolean; readonly message: string }>
  readonly running: Option.Option<Operation>
  readonly record: Option.Option<InstanceRecord>
  readonly failure: Option.Option<InstallFailure>
  readonly kubeconfigSecret: Option.Option<string>
}

type Installed = NonNullable<InstanceRecord["installed"]>

const isTargetFailure = (condition: TargetCondition): boolean =>
  targetFailureReasons.some((reason) => reason === condition.reason)

const appliedMessage = (installed: Installed): string =>
  `generation ${installed.generation}: ${installed.tenants} tenants, ${installed.users} users, ${
    installed.issuer === undefined || installed.issuer === ""
      ? "no tenant auth issuer"
      : `issuer ${installed.issuer}`
  }`

/** The control plane was restarted for what was lost, and the platform is not installed again yet. */
const isResyncing = (facts: Facts): boolean =>
  Option.exists(facts.record, ({ resync }) => resync !== undefined)

/** What the conditions about the install say now, `Ready` included, when the target is ready. */
const installUpdates = (facts: Facts): ReadonlyArray<ConditionUpdate> => {
  const running = Option.getOrUndefined(facts.running)
  const install = running?._tag === "Install" ? running : undefined
  // Until a resync's install has put back what was lost, the instance is not usable.
  if (isResyncing(facts) && (install !== undefined || Option.isNone(facts.failure))) {
    const message = "installing again what was lost with service/vcluster or its kubeconfig"
    return [
      { type: "Ready", status: "False", reason: "Installing", message, observedGeneration: facts.generation },
    ]
  }
  // One over the same version changes nothing before it has ended: what the last one proved stands meanwhile.
  if (install !== undefined && install.over !== "sameVersion") {
    const { version, generation: observedGeneration } = install
    const message = `installing version ${version}`
    return [{ type: "Ready", status: "False", reason: "Installing", message, observedGeneration }]
  }
  if (Option.isSome(facts.failure)) {
    const { reason, message, generation: observedGeneration } = facts.failure.value
    const stopped = reason === "TenantAuthSecretUnavailable" || reason === "TenantHostImageUnsupported"
    return [
      { type: "Installed", status: "False", reason, message, observedGeneration },
      ...(stopped
        ? [{ type: "ConfigApplied", status: "False", reason, message, observedGeneration } as const]
        : []),
      { type: "Ready", status: "False", reason, message, observedGeneration },
    ]
  }
  const installed = Option.getOrUndefined(facts.record)?.installed
  if (installed === undefined) {
    // Without a Ready condition a generic client takes an object for done.
    const message = "the platform is to be installed"
    return [
      {
        type: "Ready",
        status: "False",
        reason: "Installing",
        message,
        observedGeneration: facts.generation,
      },
    ]
  }
  const observedGeneration = installed.generation
  const { version } = installed
  return [
    {
      type: "Installed",
      status: "True",
      reason: installed.reason,
      message: `version ${version} is installed`,
      observedGeneration,
    },
    {
      type: "ConfigApplied",
      status: "True",
      reason: "Applied",
      message: appliedMessage(installed),
      observedGeneration,
    },
    {
      type: "Ready",
      status: "True",
      reason: "Ready",
      message: `version ${version} is ready`,
      observedGeneration,
    },
  ]
}

const targetUpdates = (facts: Facts): ReadonlyArray<ConditionUpdate> => {
  const observedGeneration = facts.generation
  if (Option.isNone(facts.targetNotReady)) {
    return [
      {
        type: "TargetReady",
        status: "True",
        reason: "Ready",
        message: "the target cluster answers",
        observedGeneration,
      },
      ...installUpdates(facts),
    ]
  }
  const { reason, message } = facts.targetNotReady.value
  const failed = targetFailureReasons.find((each) => each === reason)
  return [
    { type: "TargetReady", status: "False", reason, message, observedGeneration },
    failed === undefined
      ? {
          type: "Ready",
          status: "False",
          reason: "TargetPending",
          message: "waiting for the target cluster",
          observedGeneration,
        }
      : { type: "Ready", status: "False", reason: failed, message, observedGeneration },
  ]
}

const deletionUpdates = (
  report: DeletionReport,
  observedGeneration: number,
): ReadonlyArray<ConditionUpdate> => {
  switch (report._tag) {
    case "Working":
      return [
        {
          type: "Ready",
          status: "False",
          reason: "TargetPending",
          message: report.message,
          observedGeneration,
        },
      ]
    case "WaitingForCleanup":
      return [
        {
          type: "Ready",
          status: "False",
          reason: "WaitingForStorageCleanup",
          message: report.message,
          observedGeneration,
        },
      ]
    case "Failed": {
      const { reason, message } = report
      return [
        reason === "TargetDeleteFailed"
          ? { type: "TargetReady", status: "False", reason, message, observedGeneration }
          : { type: "Installed", status: "False", reason, message, observedGeneration },
        { type: "Ready", status: "False", reason, message, observedGeneration },
      ]
    }
  }
}

const updates = (facts: Facts, _previous: ReadonlyArray<Condition>): ReadonlyArray<ConditionUpdate> => {
  const observedGeneration = facts.generation
  const protection: ReadonlyArray<ConditionUpdate> = Option.match(facts.protection, {
    onNone: () => [],
    onSome: ({ installed, message }) => [
      installed
        ? {
            type: "OwnerServiceProtected",
            status: "True",
            reason: "AdmissionPolicyInstalled",
            message,
            observedGeneration,
          }
        : {
            type: "OwnerServiceProtected",
            status: "False",
            reason: "AdmissionPolicyUnavailable",
            message,
            observedGeneration,
          },
    ],
  })
  if (Option.isSome(facts.deletion)) return deletionUpdates(facts.deletion.value, observedGeneration)
  if (!facts.begun) {
    const message = "waiting for the target cluster"
    return [{ type: "Ready", status: "False", reason: "TargetPending", message, observedGeneration }]
  }
  return [...targetUpdates(facts), ...protection]
}

const phase = (facts: Facts, previous: Phase | undefined): Phase => {
  if (Option.isSome(facts.deletion)) return "Deleting"
  if (!facts.begun) return previous ?? "Pending"
  if (Option.isSome(facts.targetNotReady)) {
    return isTargetFailure(facts.targetNotReady.value) ? "Failed" : "Provisioning"
  }
  const running = Option.getOrUndefined(facts.running)
  if (running?._tag === "Install") {
    return running.reason === "RepairDue" ? "Ready" : "Installing"
  }
  if (Option.isSome(facts.failure)) return "Failed"
  if (isResyncing(facts)) return "Installing"
  return Option.getOrUndefined(facts.record)?.installed === undefined ? "Installing" : "Ready"
}

const targetOf = ({ serviceUID, resync }: InstanceRecord): Partial<PlatformInstanceStatus> => {
  if (serviceUID === undefined && resync === undefined) return {}
  return {
    target: {
      ...(serviceUID === undefined ? {} : { serviceUID }),
      ...(resync === undefined
        ? {}
        : { resyncServiceUID: resync.serviceUID, resyncStarted: resync.startedAt }),
    },
  }
}

/** What the record alone says: a status that was lost is rebuilt from it, and it wins where they disagree. */
const recorded = (record: Option.Option<InstanceRecord>): Partial<PlatformInstanceStatus> => {
  const value = Option.getOrUndefined(record)
  if (value === undefined) return {}
  const { installed } = value
  if (installed === undefined) return targetOf(value)
  const { http, kubernetes } = installed.endpoints
  return {
    installedVersion: installed.version,
    endpoints: {
      ...(kubernetes === undefined ? {} : { kubernetes }),
      ...(http === undefined ? {} : { http }),
    },
    applied: {
      generation: installed.generation,
      tenants: installed.tenants,
      users: installed.users,
      ...(installed.issuer === undefined ? {} : { tenantAuthIssuer: installed.issuer }),
      ...(value.tenantHostImage === undefined ? {} : { tenantHostImage: value.tenantHostImage }),
    },
    ...(installed.lastRepair === undefined ? {} : { lastRepair: installed.lastRepair }),
    ...targetOf(value),
  }
}

/** The generation whose outcome is known: the failed one, else the one the record proves. */
const settledGeneration = (facts: Facts): number | undefined => {
  if (Option.isSome(facts.failure)) return facts.failure.value.generation
  return Option.getOrUndefined(facts.record)?.installed?.generation
}

/** A deletion's failure whose step has succeeded since says nothing any more; what it replaced is not known. */
const withoutEndedFailures = (
  facts: Facts,
  conditions: ReadonlyArray<Condition>,
): ReadonlyArray<Condition> => {
  if (!Option.exists(facts.deletion, ({ _tag }) => _tag !== "Failed")) return conditions
  const ended = (["TargetReady", "Installed"] as const).filter((type) => {
    const reason = findCondition(conditions, type)?.reason
    return deletionFailureReasons.some((each) => each === reason)
  })
  return ended.reduce<ReadonlyArray<Condition>>(removeCondition, conditions)
}

/** The next status; `now` is RFC 3339. Parts that do not change are the very same values as before. */
export const nextStatus = (
  previous: PlatformInstanceStatus,
  facts: Facts,
  now: string,
): PlatformInstanceStatus => {
  if (facts.targetUndetermined && isTrue(previous.conditions, "TargetReady")) {
    return { ...previous, ...recorded(facts.record) }
  }
  // A finalizer that was taken away and is put back changes nothing about a running platform.
  if (!facts.begun && Option.isNone(facts.deletion) && previous.conditions !== undefined) return previous
  const standing = withoutEndedFailures(facts, previous.conditions ?? [])
  const conditions = updates(facts, standing).reduce<ReadonlyArray<Condition>>(
    (current, update) => setCondition(current, update, now),
    standing,
  )
  const settled = settledGeneration(facts)
  const { kubeconfigSecretRef: _, ...kept } = previous
  return {
    ...kept,
    ...recorded(facts.record),
    phase: phase(facts, previous.phase),
    ...(settled === undefined || Option.isSome(facts.deletion) ? {} : { observedGeneration: settled }),
    ...Option.match(facts.kubeconfigSecret, {
      onNone: () => ({}),
      onSome: (name) => ({ kubeconfigSecretRef: { name } }),
    }),
    conditions,
  }
}

/** Of an instance whose spec or record cannot be read: said where it is looked for, the rest is left as it was. */
export const unreadableStatus = (
  previous: PlatformInstanceStatus,
  message: string,
  observedGeneration: number,
  now: string,
): PlatformInstanceStatus => ({
  ...previous,
  phase: "Failed",
  observedGeneration,
  conditions: (["Installed", "Ready"] as const).reduce<ReadonlyArray<Condition>>(
    (conditions, type) =>
      setCondition(
        conditions,
        { type, status: "False", reason: "InstallFailed", message, observedGeneration },
        now,
      ),
    previous.conditions ?? [],
  ),
})

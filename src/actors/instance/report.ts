// The only place that writes a status: what is known of an instance, turned into the status it shows. Pure.
// Conditions keep what the last finished operation proved; the status' `observedGeneration` moves to a
// generation when its outcome is known, so that kstatus never reads `Current` too early.
import { Option } from "effect"
import { type Condition, isTrue, setConditions } from "../../schema/Conditions.ts"
import type { Phase, PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import type { InstanceRecord } from "../../services/StateStore/StateStore.ts"
import { conditionUpdates, isResyncing, isTargetFailure } from "./conditionUpdates.ts"
import { deletionFailureReasons } from "./deletion/deletionStep.ts"
import type { Facts } from "./Facts.ts"

/** What is not installed yet is about to be, whatever it waits for. */
const settled = ({ outstanding, record }: Facts): Phase =>
  Option.isNone(outstanding) && Option.exists(record, ({ installed }) => installed !== undefined)
    ? "Ready"
    : "Installing"

const phase = (facts: Facts, previous: Phase | undefined): Phase => {
  if (Option.isSome(facts.deletion)) return "Deleting"
  if (!facts.begun) return previous ?? "Pending"
  if (Option.isSome(facts.targetNotReady)) {
    return isTargetFailure(facts.targetNotReady.value) ? "Failed" : "Provisioning"
  }
  const running = Option.getOrUndefined(facts.running)
  if (running?._tag === "Install") {
    return running.reason === "RepairDue" ? settled(facts) : "Installing"
  }
  if (Option.isSome(facts.failure)) return "Failed"
  return isResyncing(facts) ? "Installing" : settled(facts)
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

/**
 * What still holds of the conditions. A deletion's failure whose step has succeeded since says nothing any more, and what it
 * replaced is not known; nor does what was said of a target and a platform that are being taken away, but for why an
 * install has failed.
 */
const stands =
  (facts: Facts) =>
  ({ type, status, reason }: Condition): boolean => {
    if (type !== "TargetReady" && type !== "Installed" && type !== "ConfigApplied") return true
    if (deletionFailureReasons.some((each) => each === reason)) {
      return !Option.exists(facts.deletion, ({ _tag }) => _tag !== "Failed")
    }
    return !facts.dismantled || (type !== "TargetReady" && status === "False")
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
  const updates = conditionUpdates(facts)
  const said = new Set<string>(updates.map(({ type }) => type))
  const kept = (previous.conditions ?? []).filter((each) => said.has(each.type) || stands(facts)(each))
  const conditions = setConditions(kept, updates, now)
  const generation = settledGeneration(facts)
  const { kubeconfigSecretRef: _, ...rest } = previous
  return {
    ...rest,
    ...recorded(facts.record),
    phase: phase(facts, previous.phase),
    ...(generation === undefined || Option.isSome(facts.deletion) ? {} : { observedGeneration: generation }),
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
  conditions: setConditions(
    previous.conditions,
    (["Installed", "Ready"] as const).map((type) => ({
      type,
      status: "False",
      reason: "InstallFailed",
      message,
      observedGeneration,
    })),
    now,
  ),
})

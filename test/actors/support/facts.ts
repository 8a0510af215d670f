// What a pass knows of an instance, for tests of the report: an instance from first sight to Ready.
import { Option } from "effect"
import type { Facts } from "../../../src/actors/instance/Facts.ts"
import type { Operation } from "../../../src/actors/instance/Operation.ts"
import { nextStatus } from "../../../src/actors/instance/report.ts"
import type { TargetCondition } from "../../../src/actors/instance/target/TargetState.ts"
import { findCondition } from "../../../src/schema/Conditions.ts"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import type { InstanceRecord } from "../../../src/services/StateStore/StateStore.ts"

export const noon = "2026-11-03T12:00:00Z"
export const later = "2026-11-03T13:00:00Z"

/** An instance that has just been seen, at generation 1. */
export const seen: Facts = {
  generation: 1,
  deletion: Option.none(),
  dismantled: false,
  targetUndetermined: false,
  targetNotReady: Option.some({ reason: "Creating", message: "creating host namespace x" }),
  begun: false,
  protection: Option.none(),
  running: Option.none(),
  record: Option.none(),
  failure: Option.none(),
  held: Option.none(),
  upgradeWaits: Option.none(),
  outstanding: Option.none(),
  kubeconfigSecret: Option.none(),
}
export const record: InstanceRecord = {
  format: 1,
  uid: "life",
  storageRoot: { path: "/base/team-a/one", base: "/base" },
  serviceUID: "service",
  kubeSystemUID: "cluster",
  tenantHostImage: "wash@sha256:0",
  installed: {
    version: "6.0.22",
    generation: 1,
    reason: "FirstInstall",
    finishedAt: noon,
    tenants: 2,
    users: 3,
    issuer: "https://id.example",
    endpoints: { http: "http://apps.example", kubernetes: "https://vcluster.x.svc:443" },
  },
}
export const notReady = (reason: TargetCondition["reason"], message: string): Facts => ({
  ...seen,
  begun: true,
  targetNotReady: Option.some({ reason, message }),
})
export const installing = (
  reason: Extract<Operation, { _tag: "Install" }>["reason"],
  over: Extract<Operation, { _tag: "Install" }>["over"],
  generation: number,
): Option.Option<Operation> =>
  Option.some({
    _tag: "Install",
    reason,
    generation,
    version: over === "otherVersion" ? "6.0.23" : "6.0.22",
    over,
    config: new Map(),
    superseding: false,
    planned: false,
    urgency: { urgent: true, failing: false },
    progress: { stage: "running", movedAt: 0, changed: new Set() },
  })
/** The target is ready and version 6.0.22 installed. */
export const done: Facts = {
  ...seen,
  begun: true,
  targetNotReady: Option.none(),
  record: Option.some(record),
}
export const readyStatus = nextStatus({}, done, noon)
export const failed: Facts = {
  ...done,
  generation: 2,
  failure: Option.some({ reason: "InstallFailed", message: "up (version 6.0.23): boom", generation: 2 }),
}

/** Phase and conditions as a table row: `status reason`, or `-`. */
export const row = (status: PlatformInstanceStatus) => {
  const shown = (type: "TargetReady" | "Installed" | "ConfigApplied" | "Ready") => {
    const condition = findCondition(status.conditions, type)
    return condition === undefined ? "-" : `${condition.status} ${condition.reason}`
  }
  return [status.phase, shown("TargetReady"), shown("Installed"), shown("ConfigApplied"), shown("Ready")]
}
/** The row a pass makes of a status. */
export const rowAfter = (previous: PlatformInstanceStatus, facts: Facts) =>
  row(nextStatus(previous, facts, later))
/** The message of a condition. */
export const message = (
  status: PlatformInstanceStatus,
  type: "TargetReady" | "Installed" | "ConfigApplied" | "Ready",
) => findCondition(status.conditions, type)?.message

export const repairedPart = {
  version: "6.0.22",
  generation: 1,
  reason: "RepairDue",
  finishedAt: later,
  tenants: 2,
  users: 3,
  issuer: "https://id.example",
  endpoints: { http: "http://apps.example", kubernetes: "https://vcluster.x.svc:443" },
} as const

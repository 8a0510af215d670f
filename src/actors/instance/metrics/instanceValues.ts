// What an instance's gauges say, from the object and what its actor remembers. Pure.
import { Option, Schema } from "effect"
import { findCondition, isTrue } from "../../../schema/Conditions.ts"
import { detectsIn, windowsIn } from "../../../schema/DayTwo.ts"
import { objectsOf } from "../../../schema/Plan.ts"
import { PlatformInstanceStatus } from "../../../schema/PlatformStatus.ts"
import { epochMillis } from "../../../schema/Time.ts"
import type { Windows } from "../../../schema/Windows.ts"
import type { KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import { agreedIn } from "../approval.ts"
import type { Memory } from "../Memory.ts"

/** As much of an instance as can be read: one whose spec cannot be is shown all the same. */
const Shown = Schema.Struct({
  spec: Schema.optionalKey(
    Schema.Struct({
      version: Schema.optionalKey(Schema.String),
      deletionPolicy: Schema.optionalKey(Schema.String),
    }),
  ),
  status: Schema.optionalKey(PlatformInstanceStatus),
})
const decode = Schema.decodeUnknownOption(Shown)

export interface InstanceValues {
  readonly uid: string
  readonly version: string
  readonly installedVersion: string
  readonly phase: string
  /** Empty before there is a condition. */
  readonly reason: string
  readonly generation: number
  readonly observedGeneration: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly deletionAt: number | undefined
  readonly policy: "Delete" | "Retain"
  /** An admission policy guards the vCluster's Service. */
  readonly isProtected: boolean
  readonly failures: number
  /** Milliseconds since the epoch: when the last install or repair that succeeded has ended. */
  readonly succeededAt: number | undefined
  /** Milliseconds since the epoch: since when it is paused. */
  readonly pausedAt: number | undefined
  /** It is to be asleep. */
  readonly sleeps: boolean
  /** Since when nothing of it runs: milliseconds since the epoch; and the memory, in bytes, that its pods had asked for. */
  readonly asleep: { readonly since: number; readonly memory: number } | undefined
  /** Repairs look, and do nothing. */
  readonly detects: boolean
  /** Milliseconds since the epoch: when the last look in place of a repair has ended. */
  readonly lookedAt: number | undefined
  /** Objects that differ, by that look; absent where nobody knows. */
  readonly drifted: number | undefined
  /** Of the vCluster's release that was deployed when it was looked at last; empty before. */
  readonly chartVersion: string
  /** Inside of which it is repaired; absent: at any time. */
  readonly windows: Windows | undefined
  /** A change of it waits for its plan or for approval. */
  readonly awaitsApproval: boolean
  /** Repairs wait with it: nobody knows what counts meanwhile. */
  readonly undecided: boolean
}

export const isReady = ({ phase, generation, observedGeneration }: InstanceValues): boolean =>
  phase === "Ready" && generation === observedGeneration

export const instanceValues = (object: KubeObject, memory: Memory | undefined): InstanceValues => {
  const { metadata } = object
  const { spec, status = {} } = Option.getOrElse(decode(object), (): typeof Shown.Type => ({}))
  const own = memory?.uid === metadata.uid ? memory : undefined
  const record = own === undefined ? undefined : Option.getOrUndefined(own.record)
  const memo = own === undefined ? undefined : Option.getOrUndefined(own.dayTwo)
  const pausedSince = memo?.pausedSince
  const { since: asleepSince, memory: saved = 0 } = memo?.sleep ?? {}
  const report = own === undefined ? undefined : Option.getOrUndefined(own.plans)?.drift
  const detects = memo !== undefined && detectsIn(memo) && metadata.deletionTimestamp === undefined
  const installed = record?.uid === metadata.uid ? record.installed : undefined
  return {
    uid: metadata.uid,
    version: spec?.version ?? "",
    installedVersion: status.installedVersion ?? "",
    phase: status.phase ?? "Pending",
    reason: findCondition(status.conditions, "Ready")?.reason ?? "",
    generation: metadata.generation ?? 0,
    observedGeneration: status.observedGeneration ?? 0,
    createdAt: epochMillis(metadata.creationTimestamp ?? ""),
    deletionAt:
      metadata.deletionTimestamp === undefined ? undefined : epochMillis(metadata.deletionTimestamp),
    policy: spec?.deletionPolicy === "Retain" ? "Retain" : "Delete",
    isProtected: isTrue(status.conditions, "OwnerServiceProtected"),
    failures: own?.failures ?? 0,
    succeededAt: installed === undefined ? undefined : epochMillis(installed.finishedAt),
    pausedAt: pausedSince === undefined ? undefined : epochMillis(pausedSince),
    sleeps: memo?.sleep !== undefined,
    asleep: asleepSince === undefined ? undefined : { since: epochMillis(asleepSince), memory: saved },
    awaitsApproval: memo?.awaits !== undefined && metadata.deletionTimestamp === undefined,
    undecided:
      memo?.awaits !== undefined && Option.isNone(agreedIn(Option.fromUndefinedOr(record), metadata.uid)),
    detects,
    lookedAt: report === undefined ? undefined : epochMillis(report.madeAt),
    drifted: detects && report !== undefined && report.outdated === undefined ? objectsOf(report) : undefined,
    chartVersion:
      own === undefined
        ? ""
        : Option.getOrElse(
            Option.flatMap(own.release, (release) => release.chartVersion),
            () => "",
          ),
    windows: memo === undefined ? undefined : Option.getOrUndefined(windowsIn(memo)),
  }
}

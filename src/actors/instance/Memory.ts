// What an actor remembers of one life (UID) of its instance between passes. All of it can be lost: what must
// not be is in the record and in the status.
import { Option, Schema } from "effect"
import { findCondition, installFailureReasons } from "../../schema/Conditions.ts"
import type { DayTwoMemo } from "../../schema/DayTwo.ts"
import type { PlanSlot, Plans } from "../../schema/Plan.ts"
import type { PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import type { InstanceRecord } from "../../services/StateStore/StateStore.ts"
import type { DeletionReport, InstallFailure } from "./Facts.ts"
import type { Unexplained } from "./target/hostEvents.ts"
import type { Kubeconfig } from "./target/Kubeconfig.ts"
import type { StoredRelease } from "./target/releaseObjects.ts"
import { noRepairs, type Repairs } from "./target/repairs.ts"
import type { TargetCondition, Workloads } from "./target/TargetState.ts"

/** What came of looks at one thing. */
export interface Look {
  /** Version and generation. */
  readonly of: string
  /** Failures in a row, and how often its plan was outdated when an install began. */
  readonly failures: number
  readonly outdated: number
  /** Milliseconds since the epoch: not again before. */
  readonly at: number
  /** Why there is none, as it was last told. */
  readonly told: string
}

export interface Memory {
  readonly uid: string
  /** The status as it is to be; differs from the server's until it was written. */
  status: PlatformInstanceStatus
  /** The status as the server last had it. */
  written: PlatformInstanceStatus
  record: Option.Option<InstanceRecord>
  kubeconfig: Option.Option<Kubeconfig>
  /** The resourceVersion of `<name>-kubeconfig` as this process wrote it: any other has been edited. */
  published: Option.Option<string>
  /** The release as Helm has stored it. */
  release: Option.Option<StoredRelease>
  repairs: Repairs
  /** The UID of the pending record whose writer was found to be gone. */
  abandoned: Option.Option<string>
  /** What the Events say about a control plane that comes up without saying why it does not. */
  unexplained: Option.Option<Unexplained>
  /** Since when a control plane that is ready has not shown its kubeconfig's Secret: milliseconds since the epoch. */
  secretMissingSince: Option.Option<number>
  /** A target step that failed, until one succeeds. */
  targetFailure: Option.Option<TargetCondition>
  installFailure: Option.Option<InstallFailure>
  deletion: DeletionReport
  /** The deletion has begun to take things away, or is about to. */
  dismantled: boolean
  /** Failures in a row, of target steps and installs alike. */
  failures: number
  /** Milliseconds since the epoch. */
  retryAt: Option.Option<number>
  /** Whose failure the backoff is: a target is mended at once, however often its install has failed. */
  retryOf: "Target" | "Install" | "Uninstall"
  /** The newest generation seen: another one starts afresh, without its predecessor's backoff. */
  generation: number
  /** The last value of the annotation `reconcile-requested-at`. */
  requested: Option.Option<string>
  /** It has had a new value since the last install or repair ended. */
  awaited: boolean
  /** When it was first seen: milliseconds since the epoch. */
  editedAt: number
  /** An operation was interrupted for a newer generation, and none has ended since. */
  superseded: boolean
  /** The plans of this life; none where they cannot be read. */
  plans: Option.Option<Plans>
  /** They may not stand beside the instance, where people read them. Milliseconds since the epoch: not tried before. */
  unshown: Option.Option<number>
  /** An operation of the engine was cut off, and what it has left is there: nothing but another one sets that right. */
  halfway: boolean
  looks: { readonly [slot in PlanSlot]?: Look }
  /** What the annotations of people have come to; absent before the first look. */
  dayTwo: Option.Option<DayTwoMemo>
  /** What is told at the first look has been told. */
  looked: boolean
  /** What was left of the pods inside when they were last taken down; absent before the first time. */
  workloads: Option.Option<Workloads>
  /** Since when this process looks at it: milliseconds since the epoch. */
  watchedSince: Option.Option<number>
  /** Since when the target has been seen ready, if it is: milliseconds since the epoch. */
  readySince: Option.Option<number>
  /** The quick step taken last, and how often in a row: one that takes no effect must not be taken for ever. */
  lastStep: { readonly tag: string; readonly about: string; readonly times: number }
  dnsDead: boolean
  /** Versions whose package was asked for ahead of time. */
  readonly prefetched: Set<string>
}

const isInstallFailure = Schema.is(Schema.Literals(installFailureReasons))

/** An install failure that an earlier process told of: evidence that the next install is a `Retry`. */
const failureIn = (status: PlatformInstanceStatus): Option.Option<InstallFailure> => {
  const condition = findCondition(status.conditions, "Installed")
  return condition?.status === "False" && isInstallFailure(condition.reason)
    ? Option.some({
        reason: condition.reason,
        message: condition.message,
        generation: condition.observedGeneration ?? 0,
      })
    : Option.none()
}

export const emptyMemory = (
  uid: string,
  status: PlatformInstanceStatus,
  record: Option.Option<InstanceRecord>,
  /** A process that starts waits for nothing: what was asked for before needs no answer any more. */
  requested: Option.Option<string>,
): Memory => ({
  uid,
  status,
  written: status,
  record,
  kubeconfig: Option.none(),
  published: Option.none(),
  release: Option.none(),
  repairs: noRepairs,
  abandoned: Option.none(),
  unexplained: Option.none(),
  secretMissingSince: Option.none(),
  targetFailure: Option.none(),
  installFailure: failureIn(status),
  deletion: { _tag: "Working", message: "the instance is being deleted" },
  dismantled: false,
  failures: 0,
  retryAt: Option.none(),
  retryOf: "Target",
  generation: 0,
  requested,
  awaited: false,
  editedAt: 0,
  superseded: false,
  plans: Option.none(),
  unshown: Option.none(),
  halfway: false,
  looks: {},
  dayTwo: Option.none(),
  looked: false,
  workloads: Option.none(),
  watchedSince: Option.none(),
  readySince: Option.none(),
  lastStep: { tag: "", about: "", times: 0 },
  dnsDead: false,
  prefetched: new Set(),
})

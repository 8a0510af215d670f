// What is known of an instance when its status is written.
import type { Option } from "effect"
import type { InstallFailureReason } from "../../schema/Conditions.ts"
import type { InstanceRecord } from "../../services/StateStore/StateStore.ts"
import type { DeletionFailureReason } from "./deletion/deletionStep.ts"
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

export interface Outstanding {
  readonly version: string
  readonly over: "otherVersion" | "sameVersion"
}

export interface Facts {
  readonly generation: number
  readonly deletion: Option.Option<DeletionReport>
  /** The deletion takes away what there was: what was proved of it says nothing any more. */
  readonly dismantled: boolean
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
  /** In front of what `Ready` and the failing conditions say: why nothing begins that is due. */
  readonly held: Option.Option<string>
  /** In front of what `Ready` says of one that is: an upgrade of its vCluster that waits, and what for. */
  readonly upgradeWaits: Option.Option<string>
  /** What the spec asks for and is not installed, where anything is: another version, or other settings of the same one. */
  readonly outstanding: Option.Option<Outstanding>
  readonly kubeconfigSecret: Option.Option<string>
}

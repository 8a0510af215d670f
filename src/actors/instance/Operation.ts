// What can run in an instance's slot, and what comes out of it.
import { Data } from "effect"
import type { InstallFailureReason, InstallReason, TargetFailureReason } from "../../schema/Conditions.ts"
import type { InstanceRecord } from "../../services/StateStore/StateStore.ts"
import type { TargetCondition } from "./target/TargetState.ts"

export type Operation =
  /** One Helm operation on the target's release, and what was seen that it is to mend. */
  | { readonly _tag: "Target"; readonly step: string; readonly condition: TargetCondition }
  | {
      readonly _tag: "Install"
      readonly reason: InstallReason
      readonly generation: number
      readonly version: string
      /** Whether something runs already: decides what the status says meanwhile. */
      readonly over: "nothing" | "otherVersion" | "sameVersion"
      /** What the spec rendered to: an edit that renders to the same interrupts nothing. */
      readonly config: ReadonlyMap<string, string>
      /** It was begun in place of one that a newer generation interrupted: nothing interrupts it in turn. */
      readonly superseding: boolean
    }
  | { readonly _tag: "Uninstall" }

export type OperationResult =
  | { readonly _tag: "TargetStepDone" }
  /** The record as it was written: the status follows it. */
  | { readonly _tag: "Installed"; readonly record: InstanceRecord }
  | { readonly _tag: "Uninstalled" }

/** A failed operation: the reason it becomes, and the message that a person reads. */
export class OperationError extends Data.TaggedError("OperationError")<{
  readonly reason: InstallFailureReason | TargetFailureReason
  readonly message: string
  /** A cancelled operation is no failure of its own: what comes next is decided anew, without a backoff. */
  readonly cancelled: boolean
}> {}

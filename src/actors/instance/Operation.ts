// What can run in an instance's slot, and what comes out of it.
import { Data } from "effect"
import type { InstallFailureReason, InstallReason, TargetFailureReason } from "../../schema/Conditions.ts"
import type { Plan, PlanSlot } from "../../schema/Plan.ts"
import type { InstanceRecord } from "../../services/StateStore/StateStore.ts"
import type { SlotStep, TargetCondition } from "./target/TargetState.ts"

/** How far an install has come. Its fiber moves it on; whoever plans reads it. */
export interface InstallProgress {
  stage: "preparing" | "waiting" | "running"
  /** When anything of it was last begun or done: milliseconds since the epoch. */
  movedAt: number
  /** Objects inside the instance that it has made, changed, removed or put back. */
  readonly changed: Set<string>
}

/** How an install asks for its permit. */
export interface Urgency {
  /** Somebody waits for it: it goes before repairs. */
  readonly urgent: boolean
  /** It has failed before, and nothing was changed about it since. */
  readonly failing: boolean
}

export type InstallOperation = Extract<Operation, { readonly _tag: "Install" }>

export type PlanOperation = Extract<Operation, { readonly _tag: "Plan" }>

export type Operation =
  /** One Helm operation on the target's release, and what was seen that it is to mend. */
  | {
      readonly _tag: "Target"
      readonly step: SlotStep["_tag"]
      readonly condition: TargetCondition
      /** What it puts back. */
      readonly changes: ReadonlyArray<string>
    }
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
      /** It has waited for a plan of exactly this generation: no other may begin by it. */
      readonly planned: boolean
      readonly urgency: Urgency
      readonly progress: InstallProgress
    }
  /** A preview: it looks, and makes nothing. */
  | {
      readonly _tag: "Plan"
      readonly version: string
      readonly generation: number
      /** Where it is kept. */
      readonly slot: PlanSlot
      /** The annotation that it answers. */
      readonly asked?: string
    }
  | { readonly _tag: "Uninstall" }

export type OperationResult =
  | { readonly _tag: "TargetStepDone" }
  /** The record as it was written: the status follows it. */
  | { readonly _tag: "Installed"; readonly record: InstanceRecord }
  /** `news`: the one before it said something else. */
  | { readonly _tag: "Planned"; readonly plan: Plan; readonly news: boolean }
  | { readonly _tag: "Uninstalled" }

/** A failed operation: the reason it becomes, and the message that a person reads. */
export class OperationError extends Data.TaggedError("OperationError")<{
  readonly reason: InstallFailureReason | TargetFailureReason
  readonly message: string
  /** A cancelled operation is no failure of its own: what comes next is decided anew, without a backoff. */
  readonly cancelled: boolean
  /** Of an upgrade of the vCluster: helm had begun to write, and what it has left is rolled back. */
  readonly begun?: boolean
}> {}

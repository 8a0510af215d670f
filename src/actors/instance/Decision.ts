// What one pass over an instance decides to do: a value, made by `plan`, carried out by `act`.
import type { InstallReason } from "../../schema/Conditions.ts"
import type { PlanSlot } from "../../schema/Plan.ts"
import type { Change } from "./approval.ts"
import type { Closed } from "./gate.ts"
import type { TargetStep } from "./target/TargetState.ts"

/** What a resting or waiting pass waits for besides events. */
export interface Wake {
  readonly timer: "retry" | "poll" | "repair"
  /** Milliseconds since the epoch, on the Clock. */
  readonly at: number
}

/** A plan that is to be made. */
export interface Planning extends Change {
  /** Where it is kept. */
  readonly slot: PlanSlot
  /** The words it was asked for with; absent where it is needed for an approval alone. */
  readonly asked?: string
  /** Milliseconds since the epoch: not before. */
  readonly at: number
}

/** Repairs look, and do nothing. */
export interface Detecting {
  /** Milliseconds since the epoch: when the last look that has found out anything has ended. */
  readonly lookedAt: number
  /** Milliseconds since the epoch: not before, after one that has failed. */
  readonly at: number
}

export type Decision =
  | { readonly _tag: "AddFinalizer" }
  /** An inline step or a Helm operation in the slot. */
  | { readonly _tag: "TargetStep"; readonly step: TargetStep }
  | { readonly _tag: "Install"; readonly reason: InstallReason; readonly refresh: boolean }
  /** A preview of this version, with the spec as it is; of drift: of what is installed, with the spec that counts. */
  | ({ readonly _tag: "Plan" } & Omit<Planning, "at">)
  /** The operation in the slot makes no sense any more: ask it to end, then decide again. */
  | { readonly _tag: "CancelOperation"; readonly because: string }
  | { readonly _tag: "Delete" }
  /** Nothing to do now: events and these timers wake the actor. */
  | { readonly _tag: "Wait"; readonly wakes: ReadonlyArray<Wake> }
  /** Something is due that may not begin now. */
  | { readonly _tag: "Hold"; readonly closed: Closed; readonly wakes: ReadonlyArray<Wake> }

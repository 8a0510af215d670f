// May a write begin now, and if not, why: the one place that knows. Whoever begins something asks here (the planner for
// target steps and installs); a deletion asks nobody. Pure.
import { DateTime, Option } from "effect"
import type { InstallReason } from "../../schema/Conditions.ts"
import { ANNOTATION_PAUSED } from "../../schema/Names.ts"
import { formatTime } from "../../schema/Time.ts"
import { opensAt, type Windows } from "../../schema/Windows.ts"
import type { TargetStep } from "./target/TargetState.ts"

/** What wants to begin. */
export type Start =
  | { readonly _tag: "TargetStep"; readonly step: TargetStep["_tag"] }
  | { readonly _tag: "Install"; readonly reason: InstallReason }

/** Why it may not. */
export type Closed =
  /** `since` is RFC 3339. */
  | { readonly _tag: "Paused"; readonly since: string }
  /** Milliseconds since the epoch: when it may. */
  | { readonly _tag: "OutsideWindow"; readonly opensAt: number }

/** What the instance's annotations ask for. */
export interface Rules {
  /** Since when it is paused, RFC 3339. */
  readonly pausedSince: Option.Option<string>
  readonly windows: Option.Option<Windows>
  /** What the engine has begun inside of a window was cut off: it is ended, and not left half-way until the next. */
  readonly unfinished: boolean
}

export const noRules: Rules = { pausedSince: Option.none(), windows: Option.none(), unfinished: false }

/** The admission policies guard all instances, and the operator itself: they are no part of one. */
const isOperators = (start: Start): boolean => start._tag === "TargetStep" && start.step === "ApplyProtection"

/** What can wait for a window: neither failures nor what somebody has lost, nor a first install, nor settings. */
const canWait = (start: Start): boolean =>
  start._tag === "Install" && (start.reason === "RepairDue" || start.reason === "VersionChanged")

/** Why this may not begin now; nothing when it may. `now`: milliseconds since the epoch. */
export const whyNot = (start: Start, rules: Rules, now: number): Option.Option<Closed> => {
  if (isOperators(start)) return Option.none()
  if (Option.isSome(rules.pausedSince)) return Option.some({ _tag: "Paused", since: rules.pausedSince.value })
  if (Option.isNone(rules.windows) || rules.unfinished || !canWait(start)) return Option.none()
  const opens = opensAt(rules.windows.value, now)
  return opens > now ? Option.some({ _tag: "OutsideWindow", opensAt: opens }) : Option.none()
}

export const mayTake =
  (rules: Rules, now: number) =>
  (step: TargetStep["_tag"]): boolean =>
    Option.isNone(whyNot({ _tag: "TargetStep", step }, rules, now))

/** In front of what the conditions say otherwise. */
export const wordsOf = (closed: Closed, version: string): string => {
  switch (closed._tag) {
    case "Paused":
      return `paused since ${closed.since}: nothing is written until annotation ${ANNOTATION_PAUSED} goes`
    case "OutsideWindow":
      return `version ${version} waits for the maintenance window, which opens ${formatTime(DateTime.makeUnsafe(closed.opensAt))}`
  }
}

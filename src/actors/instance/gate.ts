// May a write begin now, and if not, why: the one place that knows. Whoever begins something asks here (the planner for
// target steps and installs); a deletion asks nobody. Pure.
import { DateTime, Option } from "effect"
import type { InstallReason } from "../../schema/Conditions.ts"
import type { Sleep } from "../../schema/DayTwo.ts"
import {
  ANNOTATION_APPROVED,
  ANNOTATION_PAUSED,
  ANNOTATION_RESTORE,
  ANNOTATION_SLEEP,
} from "../../schema/Names.ts"
import { approvalOf, planSummary } from "../../schema/Plan.ts"
import { formatTime } from "../../schema/Time.ts"
import { opensAt, type Windows } from "../../schema/Windows.ts"
import type { Standing } from "./approval.ts"
import { isSleepStep, type TargetStep } from "./target/TargetState.ts"

/** What wants to begin. */
export type Start =
  | { readonly _tag: "TargetStep"; readonly step: TargetStep["_tag"] }
  | { readonly _tag: "Install"; readonly reason: InstallReason }

/** Why it may not. */
export type Closed =
  /** `since` is RFC 3339. */
  | { readonly _tag: "Paused"; readonly since: string }
  | { readonly _tag: "Asleep"; readonly sleep: Sleep }
  /** `backup`: its id. */
  | { readonly _tag: "Restoring"; readonly backup: string }
  /** Milliseconds since the epoch: when it may. */
  | { readonly _tag: "OutsideWindow"; readonly opensAt: number }
  | Extract<Standing, { readonly _tag: "Waits" }>

/** What the instance's annotations ask for. */
export interface Rules {
  /** Since when it is paused, RFC 3339. */
  readonly pausedSince: Option.Option<string>
  /** It is to be asleep, or is. */
  readonly sleep: Option.Option<Sleep>
  /** The backup whose data is being put back: the target is made, and nothing begins that looks into it or changes what is inside. */
  readonly restores: Option.Option<string>
  readonly windows: Option.Option<Windows>
  /** A change that waits where nobody knows what counts meanwhile: nothing is installed then. */
  readonly undecided: Option.Option<Closed>
  /** What the engine has begun inside of a window was cut off: it is ended, and not left half-way until the next. */
  readonly unfinished: boolean
}

export const noRules: Rules = {
  pausedSince: Option.none(),
  sleep: Option.none(),
  restores: Option.none(),
  windows: Option.none(),
  undecided: Option.none(),
  unfinished: false,
}

/** Nothing of it begins, however urgent: what the engine has begun is let finish, because nothing could take its place. */
export const isHeld = ({ pausedSince, sleep }: Rules): boolean =>
  Option.isSome(pausedSince) || Option.isSome(sleep)

/** The admission policies guard all instances, and the operator itself: they are no part of one. */
const isOperators = (start: Start): boolean => start._tag === "TargetStep" && start.step === "ApplyProtection"

/** What can wait for a window: neither failures nor what somebody has lost, nor a first install, nor settings. */
const canWait = (start: Start): boolean =>
  start._tag === "Install"
    ? start.reason === "RepairDue" || start.reason === "VersionChanged"
    : start.step === "BeginUpgrade"

/** What of it the engine has begun is ended, whatever the hour. */
const endsUnfinished = (start: Start, { unfinished }: Rules): boolean =>
  unfinished && start._tag === "Install"

/** Why this may not begin now; nothing when it may. `now`: milliseconds since the epoch. */
export const whyNot = (start: Start, rules: Rules, now: number): Option.Option<Closed> => {
  if (isOperators(start)) return Option.none()
  if (Option.isSome(rules.pausedSince)) return Option.some({ _tag: "Paused", since: rules.pausedSince.value })
  if (Option.isSome(rules.sleep)) {
    return start._tag === "TargetStep" && isSleepStep(start.step)
      ? Option.none()
      : Option.some({ _tag: "Asleep", sleep: rules.sleep.value })
  }
  if (Option.isSome(rules.restores) && (start._tag === "Install" || start.step === "BeginUpgrade"))
    return Option.some({ _tag: "Restoring", backup: rules.restores.value })
  if (start._tag === "Install" && Option.isSome(rules.undecided)) return rules.undecided
  if (Option.isNone(rules.windows) || endsUnfinished(start, rules) || !canWait(start)) return Option.none()
  const opens = opensAt(rules.windows.value, now)
  return opens > now ? Option.some({ _tag: "OutsideWindow", opensAt: opens }) : Option.none()
}

export const mayTake =
  (rules: Rules, now: number) =>
  (step: TargetStep["_tag"]): boolean =>
    Option.isNone(whyNot({ _tag: "TargetStep", step }, rules, now))

/** Of a plan in a message, in characters. */
const mostOfPlan = 400

const waitsFor = ({ change, plan, approval }: Extract<Closed, { readonly _tag: "Waits" }>): string => {
  const waits = `generation ${change.generation} waits`
  if (Option.isNone(plan) || !approval) return `${waits} for a plan of it`
  const annotation = `annotation ${ANNOTATION_APPROVED}="${approvalOf(plan.value)}"`
  const of = plan.value.unreadable === undefined ? "plan of " : ""
  return `${waits} for approval, ${annotation}; ${of}${planSummary(plan.value, mostOfPlan)}`
}

export const waitsForWindow = (what: string, opensAt: number): string =>
  `${what} waits for the maintenance window, which opens ${formatTime(DateTime.makeUnsafe(opensAt))}`

/** In front of what the conditions say otherwise. */
export const wordsOf = (closed: Closed, version: string): string => {
  switch (closed._tag) {
    case "Paused":
      return `paused since ${closed.since}: nothing is written until annotation ${ANNOTATION_PAUSED} goes`
    case "Asleep": {
      const { askedAt, since, sinceBefore } = closed.sleep
      if (sinceBefore !== undefined) {
        return `asleep since ${sinceBefore}, and put back to sleep: nothing else begins until annotation ${ANNOTATION_SLEEP} goes`
      }
      return since === undefined
        ? `falling asleep since ${askedAt}: nothing else begins until annotation ${ANNOTATION_SLEEP} goes`
        : `asleep since ${since}: nothing runs and nothing is written until annotation ${ANNOTATION_SLEEP} goes`
    }
    case "Restoring":
      return `backup ${closed.backup} is being restored: nothing is installed until its data is back and annotation ${ANNOTATION_RESTORE} goes; kubectl pi restore, run again, goes on with it`
    case "OutsideWindow":
      return waitsForWindow(`version ${version}`, closed.opensAt)
    case "Waits":
      return waitsFor(closed)
  }
}

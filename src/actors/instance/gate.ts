// May a write begin now, and if not, why: the one place that knows. Whoever begins something asks here (the planner for
// target steps and installs); a deletion asks nobody. Pure.
import { DateTime, Option } from "effect"
import type { InstallReason } from "../../schema/Conditions.ts"
import type { Sleep } from "../../schema/DayTwo.ts"
import { ANNOTATION_APPROVED, ANNOTATION_PAUSED, ANNOTATION_SLEEP } from "../../schema/Names.ts"
import { type Plan, planSummary } from "../../schema/Plan.ts"
import { formatTime } from "../../schema/Time.ts"
import { opensAt, type Windows } from "../../schema/Windows.ts"
import { isSleepStep, type TargetStep } from "./target/TargetState.ts"

/** What wants to begin. */
export type Start =
  | { readonly _tag: "TargetStep"; readonly step: TargetStep["_tag"] }
  | {
      readonly _tag: "Install"
      readonly reason: InstallReason
      /** What it brings that is not installed, where something is. */
      readonly change: Option.Option<Change>
    }

export interface Change {
  readonly version: string
  readonly generation: number
}

/** Why it may not. */
export type Closed =
  /** `since` is RFC 3339. */
  | { readonly _tag: "Paused"; readonly since: string }
  | { readonly _tag: "Asleep"; readonly sleep: Sleep }
  /** Milliseconds since the epoch: when it may. */
  | { readonly _tag: "OutsideWindow"; readonly opensAt: number }
  | {
      readonly _tag: "NotApproved"
      readonly change: Change
      /** Of that change; none while there is none. */
      readonly plan: Option.Option<Plan>
    }

/** What changes wait for. */
export interface Approval {
  /** Every change waits. */
  readonly required: boolean
  /** The generation that somebody has approved. */
  readonly approved: Option.Option<number>
  /** The version that somebody has asked a plan of. */
  readonly asked: Option.Option<string>
  /** A plan that takes data away has been waited for: what comes after it is looked at as well. */
  readonly grave: boolean
  /** The newest that was made. */
  readonly plan: Option.Option<Plan>
}

export const noApproval: Approval = {
  required: false,
  approved: Option.none(),
  asked: Option.none(),
  grave: false,
  plan: Option.none(),
}

/** What the instance's annotations ask for. */
export interface Rules {
  /** Since when it is paused, RFC 3339. */
  readonly pausedSince: Option.Option<string>
  /** It is to be asleep, or is. */
  readonly sleep: Option.Option<Sleep>
  readonly windows: Option.Option<Windows>
  readonly approval: Approval
  /** What the engine has begun inside of a window was cut off: it is ended, and not left half-way until the next. */
  readonly unfinished: boolean
}

export const noRules: Rules = {
  pausedSince: Option.none(),
  sleep: Option.none(),
  windows: Option.none(),
  approval: noApproval,
  unfinished: false,
}

/** Nothing of it begins, however urgent: what the engine has begun is let finish, because nothing could take its place. */
export const isHeld = ({ pausedSince, sleep }: Rules): boolean =>
  Option.isSome(pausedSince) || Option.isSome(sleep)

/** The plan of that change, if there is one. */
export const planOfChange = ({ plan }: Approval, { version, generation }: Change): Option.Option<Plan> =>
  Option.filter(plan, (made) => made.version === version && made.generation === generation)

/** Whether a change does not begin before there is a plan of it; what is approved does. */
export const needsPlan = ({ required, asked, grave }: Approval, { version }: Change): boolean =>
  required || grave || Option.contains(asked, version)

/**
 * Whether a change waits for somebody. Where a plan is needed, one that does not come, or cannot be read, is not taken for
 * harmless; and one that takes data away waits whoever asked for it.
 */
const unapproved = (change: Change, approval: Approval): Option.Option<Closed> => {
  if (Option.contains(approval.approved, change.generation)) return Option.none()
  const plan = planOfChange(approval, change)
  const made = Option.getOrUndefined(plan)
  const waits =
    approval.required ||
    (made?.data ?? []).length > 0 ||
    (needsPlan(approval, change) && (made === undefined || made.unreadable !== undefined))
  return waits ? Option.some({ _tag: "NotApproved", change, plan }) : Option.none()
}

/** The admission policies guard all instances, and the operator itself: they are no part of one. */
const isOperators = (start: Start): boolean => start._tag === "TargetStep" && start.step === "ApplyProtection"

/** What can wait for a window: neither failures nor what somebody has lost, nor a first install, nor settings. */
const canWait = (start: Start): boolean =>
  start._tag === "Install" && (start.reason === "RepairDue" || start.reason === "VersionChanged")

/** Why this may not begin now; nothing when it may. `now`: milliseconds since the epoch. */
export const whyNot = (start: Start, rules: Rules, now: number): Option.Option<Closed> => {
  if (isOperators(start)) return Option.none()
  if (Option.isSome(rules.pausedSince)) return Option.some({ _tag: "Paused", since: rules.pausedSince.value })
  if (Option.isSome(rules.sleep)) {
    return start._tag === "TargetStep" && isSleepStep(start.step)
      ? Option.none()
      : Option.some({ _tag: "Asleep", sleep: rules.sleep.value })
  }
  const waits =
    start._tag === "Install"
      ? Option.flatMap(start.change, (change) => unapproved(change, rules.approval))
      : Option.none()
  if (Option.isSome(waits)) return waits
  if (Option.isNone(rules.windows) || rules.unfinished || !canWait(start)) return Option.none()
  const opens = opensAt(rules.windows.value, now)
  return opens > now ? Option.some({ _tag: "OutsideWindow", opensAt: opens }) : Option.none()
}

export const mayTake =
  (rules: Rules, now: number) =>
  (step: TargetStep["_tag"]): boolean =>
    Option.isNone(whyNot({ _tag: "TargetStep", step }, rules, now))

/** Of a plan in a message, in characters. */
const mostOfPlan = 400

/** In front of what the conditions say otherwise. */
export const wordsOf = (closed: Closed, version: string): string => {
  switch (closed._tag) {
    case "Paused":
      return `paused since ${closed.since}: nothing is written until annotation ${ANNOTATION_PAUSED} goes`
    case "Asleep": {
      const { askedAt, since } = closed.sleep
      return since === undefined
        ? `falling asleep since ${askedAt}: nothing else begins until annotation ${ANNOTATION_SLEEP} goes`
        : `asleep since ${since}: nothing runs and nothing is written until annotation ${ANNOTATION_SLEEP} goes`
    }
    case "OutsideWindow":
      return `version ${version} waits for the maintenance window, which opens ${formatTime(DateTime.makeUnsafe(closed.opensAt))}`
    case "NotApproved": {
      const plan = Option.match(closed.plan, {
        onNone: () => "there is no plan of it yet",
        onSome: (made) => `plan of ${planSummary(made, mostOfPlan)}`,
      })
      return `generation ${closed.change.generation} waits for approval, annotation ${ANNOTATION_APPROVED}="${closed.change.generation}"; ${plan}`
    }
  }
}

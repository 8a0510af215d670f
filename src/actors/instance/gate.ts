// May a write begin now, and if not, why: the one place that knows. Whoever begins something asks here (the planner for
// target steps and installs); a deletion asks nobody. Pure.
import { Option } from "effect"
import type { InstallReason } from "../../schema/Conditions.ts"
import { ANNOTATION_PAUSED } from "../../schema/Names.ts"
import type { TargetStep } from "./target/TargetState.ts"

/** What wants to begin. */
export type Start =
  | { readonly _tag: "TargetStep"; readonly step: TargetStep["_tag"] }
  | { readonly _tag: "Install"; readonly reason: InstallReason }

/** Why it may not. */
export type Closed =
  /** `since` is RFC 3339. */
  { readonly _tag: "Paused"; readonly since: string }

/** What the instance's annotations ask for, now. */
export interface Rules {
  /** Since when it is paused, RFC 3339. */
  readonly pausedSince: Option.Option<string>
}

export const noRules: Rules = { pausedSince: Option.none() }

/** The admission policies guard all instances, and the operator itself: they are no part of one. */
const isOperators = (start: Start): boolean => start._tag === "TargetStep" && start.step === "ApplyProtection"

/** Why this may not begin now; nothing when it may. */
export const whyNot = (start: Start, rules: Rules): Option.Option<Closed> =>
  isOperators(start)
    ? Option.none()
    : Option.map(rules.pausedSince, (since): Closed => ({ _tag: "Paused", since }))

export const mayTake =
  (rules: Rules) =>
  (step: TargetStep["_tag"]): boolean =>
    Option.isNone(whyNot({ _tag: "TargetStep", step }, rules))

/** In front of what the conditions say otherwise. */
export const wordsOf = (closed: Closed): string =>
  `paused since ${closed.since}: nothing is written until annotation ${ANNOTATION_PAUSED} goes`

// What the annotations of people make of an instance, as `kubectl pi status` shows it.
import { Option } from "effect"
import { memoOf } from "../schema/DayTwo.ts"
import { ANNOTATION_PAUSED } from "../schema/Names.ts"
import type { Instance } from "./Instance.ts"
import { ageOf } from "./Words.ts"

export interface DayTwoShown {
  /** RFC 3339. */
  readonly pausedSince?: string
  /** The operator has not seen yet that it is to be paused: nothing keeps it from writing so far. */
  readonly pauseUnseen?: true
}

export const dayTwoOf = ({ metadata }: Instance): DayTwoShown => {
  const memo = Option.getOrUndefined(memoOf(metadata))
  if (memo?.pausedSince !== undefined) return { pausedSince: memo.pausedSince }
  return metadata.annotations?.[ANNOTATION_PAUSED] === "true" ? { pauseUnseen: true } : {}
}

/** Names and values; nothing of what does not apply. */
export const dayTwoFacts = (
  { pausedSince, pauseUnseen }: DayTwoShown,
  now: number,
): ReadonlyArray<readonly [string, string | undefined]> => {
  const since = ageOf(pausedSince, now)
  return [
    ["Paused", since === undefined ? undefined : `for ${since}, since ${pausedSince}`],
    ["Paused", pauseUnseen ? "asked for, and not yet seen by the operator: is it running?" : undefined],
  ]
}

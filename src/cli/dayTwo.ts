// What the annotations of people make of an instance, as `kubectl pi status` shows it.
import { DateTime, Option } from "effect"
import { readAnnotations } from "../schema/Annotations.ts"
import { type DayTwoMemo, memoOf, windowsIn } from "../schema/DayTwo.ts"
import { ANNOTATION_PAUSED, ANNOTATION_WINDOW } from "../schema/Names.ts"
import { formatTime } from "../schema/Time.ts"
import { opensAt } from "../schema/Windows.ts"
import type { Instance } from "./Instance.ts"
import { ageOf, plain } from "./Words.ts"

export interface DayTwoShown {
  /** RFC 3339. */
  readonly pausedSince?: string
  /** The operator has not seen yet that it is to be paused: nothing keeps it from writing so far. */
  readonly pauseUnseen?: true
  /** As its annotation has it. */
  readonly window?: string
  /** RFC 3339: when it opens next; absent while it is open. */
  readonly windowOpens?: string
  /** What is wrong with annotations that do not count as they stand. */
  readonly wrongAnnotations?: ReadonlyArray<string>
}

const pauseOf = ({ metadata }: Instance, memo: DayTwoMemo | undefined): DayTwoShown => {
  if (memo?.pausedSince !== undefined) return { pausedSince: memo.pausedSince }
  return metadata.annotations?.[ANNOTATION_PAUSED] === "true" ? { pauseUnseen: true } : {}
}

const windowOf = (memo: DayTwoMemo | undefined, now: number): DayTwoShown => {
  const window = memo?.kept?.[ANNOTATION_WINDOW]
  const windows = memo === undefined ? undefined : Option.getOrUndefined(windowsIn(memo))
  if (window === undefined || windows === undefined) return {}
  const opens = opensAt(windows, now)
  return { window, ...(opens > now ? { windowOpens: formatTime(DateTime.makeUnsafe(opens)) } : {}) }
}

/** `now`: milliseconds since the epoch. */
export const dayTwoOf = (instance: Instance, now: number): DayTwoShown => {
  const memo = Option.getOrUndefined(memoOf(instance.metadata))
  const { bad } = readAnnotations(instance.metadata, memo?.kept ?? {})
  return {
    ...pauseOf(instance, memo),
    ...windowOf(memo, now),
    ...(bad.length === 0 ? {} : { wrongAnnotations: bad.map(({ message }) => message) }),
  }
}

/** Names and values; nothing of what does not apply. */
export const dayTwoFacts = (
  { pausedSince, pauseUnseen, window, windowOpens, wrongAnnotations = [] }: DayTwoShown,
  now: number,
): ReadonlyArray<readonly [string, string | undefined]> => {
  const since = ageOf(pausedSince, now)
  return [
    ["Paused", since === undefined ? undefined : `for ${since}, since ${pausedSince}`],
    [
      "Window",
      window === undefined
        ? undefined
        : `${plain(window)} (${windowOpens === undefined ? "open" : `opens ${windowOpens}`})`,
    ],
    ...wrongAnnotations.map((message) => ["Wrong", plain(message)] as const),
    ["Paused", pauseUnseen ? "asked for, and not yet seen by the operator: is it running?" : undefined],
  ]
}

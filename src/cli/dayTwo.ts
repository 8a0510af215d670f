// What the annotations of people make of an instance, as `kubectl pi status` shows it.
import { DateTime, Option } from "effect"
import { readAnnotations } from "../schema/Annotations.ts"
import { type DayTwoMemo, memoOf, windowsIn } from "../schema/DayTwo.ts"
import { ANNOTATION_PAUSED, ANNOTATION_SLEEP, ANNOTATION_WINDOW } from "../schema/Names.ts"
import { mebibytes } from "../schema/Quota.ts"
import { formatTime } from "../schema/Time.ts"
import { opensAt } from "../schema/Windows.ts"
import type { Instance } from "./Instance.ts"
import { ageOf, plain } from "./Words.ts"

export interface DayTwoShown {
  /** RFC 3339. */
  readonly pausedSince?: string
  /** The operator has not seen yet that it is to be paused: nothing keeps it from writing so far. */
  readonly pauseUnseen?: true
  /** It is to be asleep; of one that is not yet `asleepSince` is absent. */
  readonly sleeps?: true
  /** RFC 3339: since when nothing of it runs. */
  readonly asleepSince?: string
  /** The pods that ended, and the memory in bytes that they had asked for. */
  readonly asleepPods?: number
  readonly asleepMemory?: number
  /** It is to be asleep, and the operator has not seen that yet, or is kept from it by a pause. */
  readonly sleepUnseen?: true
  /** As its annotation has it. */
  readonly window?: string
  /** RFC 3339: when it opens next; absent while it is open. */
  readonly windowOpens?: string
  /** The generation that waits for approval. */
  readonly awaitsApproval?: number
  /** What is wrong with annotations that do not count as they stand. */
  readonly wrongAnnotations?: ReadonlyArray<string>
}

const pauseOf = ({ metadata }: Instance, memo: DayTwoMemo | undefined): DayTwoShown => {
  if (memo?.pausedSince !== undefined) return { pausedSince: memo.pausedSince }
  return metadata.annotations?.[ANNOTATION_PAUSED] === "true" ? { pauseUnseen: true } : {}
}

const sleepOf = ({ metadata }: Instance, memo: DayTwoMemo | undefined): DayTwoShown => {
  const sleep = memo?.sleep
  if (sleep === undefined) {
    return metadata.annotations?.[ANNOTATION_SLEEP] === "true" ? { sleepUnseen: true } : {}
  }
  return {
    sleeps: true,
    ...(sleep.pods === undefined ? {} : { asleepPods: sleep.pods }),
    ...(sleep.memory === undefined ? {} : { asleepMemory: sleep.memory }),
    ...(sleep.since === undefined ? {} : { asleepSince: sleep.since }),
  }
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
    ...sleepOf(instance, memo),
    ...windowOf(memo, now),
    ...(memo?.awaits === undefined ? {} : { awaitsApproval: memo.awaits }),
    ...(bad.length === 0 ? {} : { wrongAnnotations: bad.map(({ message }) => message) }),
  }
}

/** Of one that is asleep, or falls asleep. */
const sleepFact = (shown: DayTwoShown, now: number): string | undefined => {
  const { sleeps, asleepSince, asleepPods = 0, asleepMemory = 0, sleepUnseen, pausedSince } = shown
  if (sleepUnseen) {
    return pausedSince === undefined
      ? "asked for, and not yet seen by the operator: is it running?"
      : "asked for, after the pause"
  }
  if (sleeps === undefined) return undefined
  const pods = asleepPods === 1 ? "1 pod" : `${asleepPods} pods`
  const saves = `${pods} with ${mebibytes(asleepMemory)} of memory asked for`
  return asleepSince === undefined
    ? "falls asleep"
    : `for ${ageOf(asleepSince, now)}, since ${asleepSince}: ${saves} ended`
}

/** Names and values; nothing of what does not apply. */
export const dayTwoFacts = (
  shown: DayTwoShown,
  now: number,
): ReadonlyArray<readonly [string, string | undefined]> => {
  const { pausedSince, pauseUnseen, window, windowOpens, awaitsApproval, wrongAnnotations = [] } = shown
  const since = ageOf(pausedSince, now)
  return [
    ["Paused", since === undefined ? undefined : `for ${since}, since ${pausedSince}`],
    ["Asleep", sleepFact(shown, now)],
    [
      "Window",
      window === undefined
        ? undefined
        : `${plain(window)} (${windowOpens === undefined ? "open" : `opens ${windowOpens}`})`,
    ],
    ["Approval", awaitsApproval === undefined ? undefined : `generation ${awaitsApproval} waits for it`],
    ...wrongAnnotations.map((message) => ["Wrong", plain(message)] as const),
    ["Paused", pauseUnseen ? "asked for, and not yet seen by the operator: is it running?" : undefined],
  ]
}

// What the annotations of people make of an instance, as `kubectl pi status` shows it.
import { DateTime, Option } from "effect"
import { readAnnotations } from "../schema/Annotations.ts"
import { type DayTwoMemo, detectsIn, memoOf, upgradesIn, windowsIn } from "../schema/DayTwo.ts"
import {
  ANNOTATION_DRIFT,
  ANNOTATION_PAUSED,
  ANNOTATION_RESTORE,
  ANNOTATION_SLEEP,
  ANNOTATION_UPGRADE_VCLUSTER,
  ANNOTATION_WINDOW,
} from "../schema/Names.ts"
import { differing } from "../schema/Plan.ts"
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
  /** The id of the backup that is being restored: nothing is installed before its data is back. */
  readonly restores?: string
  /** As its annotation has it. */
  readonly window?: string
  /** RFC 3339: when it opens next; absent while it is open. */
  readonly windowOpens?: string
  /** The generation that waits for approval. */
  readonly awaitsApproval?: number
  /** Its plan is there, and somebody is to approve it, or has. */
  readonly approval?: "pending" | "given"
  /** Repairs look, and do nothing. */
  readonly detectsDrift?: true
  /** The operator has not seen yet that they are to: so far they repair. */
  readonly driftUnseen?: true
  /** Objects inside that differ, by the newest look; absent while there is none that still counts. */
  readonly drifted?: number
  /** RFC 3339: when that was found first. */
  readonly driftedSince?: string
  /** The vCluster is to have the operator's chart. */
  readonly upgradesVcluster?: true
  /** The operator has not seen yet that it is to. */
  readonly upgradeUnseen?: true
  /** The newest move of the vCluster to another version of its chart, as long as it is asked for or under way. */
  readonly vclusterUpgrade?: {
    readonly from: string
    readonly to: string
    /** RFC 3339. */
    readonly startedAt: string
    readonly state: "upgrading" | "rollingBack" | "failed" | "refused" | "done"
    readonly why?: string
  }
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

const driftOf = ({ metadata }: Instance, memo: DayTwoMemo | undefined): DayTwoShown => {
  if (memo === undefined || !detectsIn(memo)) {
    return metadata.annotations?.[ANNOTATION_DRIFT] === "detect" ? { driftUnseen: true } : {}
  }
  const { drift } = memo
  return drift === undefined || drift.outdated !== undefined
    ? { detectsDrift: true }
    : { detectsDrift: true, drifted: drift.objects, driftedSince: drift.since }
}

const upgradeStates = { failing: "rollingBack", failed: "failed", refused: "refused", done: "done" } as const

const upgradeOf = ({ metadata }: Instance, memo: DayTwoMemo | undefined): DayTwoShown => {
  const asked = memo !== undefined && upgradesIn(memo)
  const isUnseen = !asked && metadata.annotations?.[ANNOTATION_UPGRADE_VCLUSTER] === "true"
  const upgrade = memo?.vcluster
  return {
    ...(asked ? { upgradesVcluster: true } : {}),
    ...(isUnseen ? { upgradeUnseen: true } : {}),
    ...(upgrade === undefined
      ? {}
      : {
          vclusterUpgrade: {
            from: upgrade.from,
            to: upgrade.to,
            startedAt: upgrade.startedAt,
            state: upgrade.outcome === undefined ? "upgrading" : upgradeStates[upgrade.outcome],
            ...(upgrade.why === undefined ? {} : { why: upgrade.why }),
          },
        }),
  }
}

const approvalOf = (memo: DayTwoMemo | undefined): DayTwoShown => {
  const { awaits, approved, published } = memo ?? {}
  if (awaits === undefined) return {}
  if (published?.generation !== awaits) return { awaitsApproval: awaits }
  return { awaitsApproval: awaits, approval: approved?.plan === published.plan ? "given" : "pending" }
}

/** What a generation waits for that is not approved, and what to do. */
export const awaited = (generation: number, { approval }: DayTwoShown, name: string): string =>
  approval === undefined
    ? `generation ${generation} waits for its plan, which kubectl pi plan ${name} shows once it is made`
    : `generation ${generation} waits to be approved; kubectl pi plan ${name} says what it would do, and how it is approved`

/** `now`: milliseconds since the epoch. */
const restoreOf = ({ metadata }: Instance): DayTwoShown => {
  const restores = metadata.annotations?.[ANNOTATION_RESTORE]
  return restores === undefined ? {} : { restores }
}

export const dayTwoOf = (instance: Instance, now: number): DayTwoShown => {
  const memo = Option.getOrUndefined(memoOf(instance.metadata))
  const { bad } = readAnnotations(instance.metadata, memo?.kept ?? {})
  return {
    ...pauseOf(instance, memo),
    ...sleepOf(instance, memo),
    ...restoreOf(instance),
    ...windowOf(memo, now),
    ...driftOf(instance, memo),
    ...upgradeOf(instance, memo),
    ...approvalOf(memo),
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

const driftFact = (
  { detectsDrift, driftUnseen, drifted, driftedSince }: DayTwoShown,
  { name, now }: { readonly name: string; readonly now: number },
): string | undefined => {
  if (driftUnseen) return "asked for, and not yet seen by the operator: is it running?"
  if (detectsDrift === undefined) return undefined
  if (drifted === undefined) return "not looked at since the last install; repairs only look"
  const ago = `${ageOf(driftedSince, now)} ago`
  return drifted === 0
    ? `none, from the look ${ago} on`
    : `${differing(drifted)}, found ${ago}; kubectl pi plan ${name} says which`
}

const upgradeFact = (
  { upgradesVcluster, upgradeUnseen, vclusterUpgrade, windowOpens }: DayTwoShown,
  now: number,
): string | undefined => {
  if (vclusterUpgrade === undefined) {
    if (upgradeUnseen) return "asked for, and not yet seen by the operator: is it running?"
    if (upgradesVcluster === undefined) return undefined
    return windowOpens === undefined
      ? "has the operator's chart, or is upgraded to it as soon as nothing else is at work"
      : `has the operator's chart, or is upgraded to it from ${windowOpens} on`
  }
  const { from, to, startedAt, state, why } = vclusterUpgrade
  const ago = `${ageOf(startedAt, now)} ago`
  const because = why === undefined ? "" : `: ${plain(why)}`
  switch (state) {
    case "upgrading":
      return `is upgraded from chart ${from} to ${to}, begun ${ago}`
    case "rollingBack":
      return `is rolled back from chart ${to} to ${from}${because}`
    case "failed":
      return `keeps chart ${from}: the upgrade to ${to} has failed ${ago}${because}`
    case "refused":
      return `keeps chart ${from}: the operator's, ${to}, is the older one`
    case "done":
      return `has chart ${to}, upgraded from ${from} ${ago}`
  }
}

const approvalWords = { pending: "waits for it", given: "has it", unplanned: "waits for its plan first" }

/** Names and values; nothing of what does not apply. */
export const dayTwoFacts = (
  shown: DayTwoShown,
  name: string,
  now: number,
): ReadonlyArray<readonly [string, string | undefined]> => {
  const {
    pausedSince,
    pauseUnseen,
    restores,
    window,
    windowOpens,
    awaitsApproval,
    approval,
    wrongAnnotations = [],
  } = shown
  const since = ageOf(pausedSince, now)
  return [
    ["Paused", since === undefined ? undefined : `for ${since}, since ${pausedSince}`],
    ["Asleep", sleepFact(shown, now)],
    [
      "Restoring",
      restores === undefined
        ? undefined
        : `backup ${plain(restores)}; kubectl pi restore, run again, goes on with it`,
    ],
    [
      "Window",
      window === undefined
        ? undefined
        : `${plain(window)} (${windowOpens === undefined ? "open" : `opens ${windowOpens}`})`,
    ],
    ["Drift", driftFact(shown, { name, now })],
    ["vCluster", upgradeFact(shown, now)],
    [
      "Approval",
      awaitsApproval === undefined
        ? undefined
        : `generation ${awaitsApproval} ${approvalWords[approval ?? "unplanned"]}`,
    ],
    ...wrongAnnotations.map((message) => ["Wrong", plain(message)] as const),
    ["Paused", pauseUnseen ? "asked for, and not yet seen by the operator: is it running?" : undefined],
  ]
}

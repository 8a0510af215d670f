// What the annotations of people make of an instance, as the operator has written it down in one of its own.
import { crd } from "../generated/crd.ts"
import { isObject, type Json, valueAt } from "./schema.ts"

export interface SleepView {
  /** RFC 3339: since when nothing of it runs; nothing before. */
  readonly since: string | undefined
  /** The pods that ended, and the memory they had asked for, in MiB. */
  readonly pods: number
  readonly mebibytes: number
  /** The operator has not seen yet that it is to be asleep, or a pause keeps it from it. */
  readonly unseen: boolean
}

export interface DriftView {
  /** Objects that differ; nothing while no look has been taken, or none since the last install. */
  readonly objects: number | undefined
  /** RFC 3339: when that was found first. */
  readonly since: string | undefined
}

/** The vCluster is to have the operator's chart, or is on its way to it or back. */
export interface UpgradeView {
  /** `asked`: nothing has come of it yet. */
  readonly state: "asked" | "upgrading" | "rolling back" | "failed" | "refused" | "done"
  /** Versions of the chart; nothing of one that is only asked for. */
  readonly from: string | undefined
  readonly to: string | undefined
  /** RFC 3339: when it was begun. */
  readonly since: string | undefined
  readonly why: string | undefined
}

export interface DayTwoView {
  /** RFC 3339; nothing while it is not paused. */
  readonly pausedSince: string | undefined
  /** The operator has not seen yet that it is to be paused. */
  readonly pauseUnseen: boolean
  /** It is to be asleep: asked for, falling asleep, or asleep; nothing while it is to be awake. */
  readonly sleep: SleepView | undefined
  /** The maintenance windows that count, as their annotation has them. */
  readonly window: string | undefined
  /** The generation that waits for approval. */
  readonly awaitsApproval: number | undefined
  /** Of one whose repairs look and do nothing. */
  readonly drift: DriftView | undefined
  readonly upgrade: UpgradeView | undefined
  /** The id of the backup whose data is being put back: nothing is installed meanwhile. */
  readonly restores: string | undefined
}

const text = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined)

/** Nothing where it cannot be read, or is of another life of the instance: copies have it, too. */
const memoOf = (object: unknown): Json | undefined => {
  try {
    const memo: Json = JSON.parse(text(valueAt(object, ["metadata", "annotations", crd.dayTwo])) ?? "null")
    const uid = valueAt(object, ["metadata", "uid"])
    return isObject(memo) && memo.uid === uid ? memo : undefined
  } catch {
    return undefined
  }
}

const count = (value: Json | undefined): number => (typeof value === "number" ? value : 0)

const sleepOf = (object: unknown, memo: Json | undefined): SleepView | undefined => {
  const sleep = valueAt(memo, ["sleep"])
  const asked = valueAt(object, ["metadata", "annotations", crd.sleep]) === "true"
  if (!isObject(sleep)) {
    return asked ? { since: undefined, pods: 0, mebibytes: 0, unseen: true } : undefined
  }
  const mebibytes = Math.round(count(sleep.memory) / 2 ** 20)
  return { since: text(sleep.since), pods: count(sleep.pods), mebibytes, unseen: false }
}

const driftOf = (memo: Json | undefined): DriftView | undefined => {
  if (valueAt(memo, ["kept", crd.drift]) !== "detect") return undefined
  const objects = valueAt(memo, ["drift", "objects"])
  const counts = typeof objects === "number" && valueAt(memo, ["drift", "outdated"]) !== true
  return counts
    ? { objects, since: text(valueAt(memo, ["drift", "since"])) }
    : { objects: undefined, since: undefined }
}

const upgradeStates: Readonly<Record<string, UpgradeView["state"]>> = {
  failing: "rolling back",
  failed: "failed",
  refused: "refused",
  done: "done",
}

const upgradeOf = (object: unknown, memo: Json | undefined): UpgradeView | undefined => {
  const upgrade = valueAt(memo, ["vcluster"])
  if (!isObject(upgrade)) {
    const asked = valueAt(object, ["metadata", "annotations", crd.upgradeVcluster]) === "true"
    return asked
      ? { state: "asked", from: undefined, to: undefined, since: undefined, why: undefined }
      : undefined
  }
  return {
    state: upgradeStates[text(upgrade.outcome) ?? ""] ?? "upgrading",
    from: text(upgrade.from),
    to: text(upgrade.to),
    since: text(upgrade.startedAt),
    why: text(upgrade.why),
  }
}

export const dayTwoOf = (object: unknown): DayTwoView => {
  const memo = memoOf(object)
  const pausedSince = text(valueAt(memo, ["pausedSince"]))
  const asked = valueAt(object, ["metadata", "annotations", crd.paused]) === "true"
  const window = text(valueAt(memo, ["kept", crd.window]))
  const sleep = sleepOf(object, memo)
  const awaits = valueAt(memo, ["awaits"])
  return {
    pausedSince,
    pauseUnseen: asked && pausedSince === undefined,
    sleep,
    window,
    awaitsApproval: typeof awaits === "number" ? awaits : undefined,
    drift: driftOf(memo),
    upgrade: upgradeOf(object, memo),
    restores: text(valueAt(memo, ["kept", crd.restore])),
  }
}

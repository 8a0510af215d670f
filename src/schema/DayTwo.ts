// What the annotations of people make of an instance, and what the operator remembers of them in an annotation of its own:
// it outlives the process, and kubectl pi reads it. It belongs to one life (UID) of the instance: copies have it, too. Pure.
import { Option, Result, Schema } from "effect"
import { type Annotated, readAnnotations } from "./Annotations.ts"
import {
  ANNOTATION_APPROVE,
  ANNOTATION_APPROVED,
  ANNOTATION_DAY_TWO,
  ANNOTATION_DRIFT,
  ANNOTATION_PAUSED,
  ANNOTATION_PLAN,
  ANNOTATION_RESTORE,
  ANNOTATION_SLEEP,
  ANNOTATION_UPGRADE_VCLUSTER,
  ANNOTATION_WINDOW,
} from "./Names.ts"
import { approvalOf } from "./Plan.ts"
import { parseWindows, type Windows } from "./Windows.ts"

const Strings = Schema.Record(Schema.String, Schema.String)

/** What is known of an instance that is to be asleep. */
export const Sleep = Schema.Struct({
  /** RFC 3339: when the operator first saw that it is to be. */
  askedAt: Schema.String,
  /** The pods that ran when it was put to sleep, its control plane's among them; absent before they were counted. */
  pods: Schema.optionalKey(Schema.Finite),
  /** How much memory they had asked for, in bytes. */
  memory: Schema.optionalKey(Schema.Finite),
  /** Some of them that nothing inside makes anew: `<namespace>/<name>`. */
  bare: Schema.optionalKey(Schema.Array(Schema.String)),
  /** RFC 3339: since when nothing of it runs. */
  since: Schema.optionalKey(Schema.String),
  /** The same of one that was scaled up by somebody else, and is put back: `since` is absent until it is. */
  sinceBefore: Schema.optionalKey(Schema.String),
})
export type Sleep = typeof Sleep.Type

/** What has been told of the reports about an instance whose repairs look and do nothing. */
export const ToldDrift = Schema.Struct({
  /** A digest of what was found: the same again is no news. */
  found: Schema.String,
  /** So many objects differ. */
  objects: Schema.Finite,
  /** RFC 3339: when that was found first. */
  since: Schema.String,
  /** An install or a repair has begun since: nobody knows what still differs. */
  outdated: Schema.optionalKey(Schema.Literal(true)),
  /** So many could not be compared then; absent of none. */
  uncompared: Schema.optionalKey(Schema.Finite),
})
export type ToldDrift = typeof ToldDrift.Type

/** What has come of moving the vCluster's release to another version of its chart. */
export const VclusterUpgrade = Schema.Struct({
  /** Versions of the chart. */
  from: Schema.String,
  to: Schema.String,
  /** RFC 3339: when it was begun; counted anew from the end of helm, of a pause or of a sleep. */
  startedAt: Schema.String,
  /** What is rolled back to, and the UID of `kube-system` inside, which has to stay the same; until it has ended. */
  revision: Schema.optionalKey(Schema.Finite),
  kubeSystemUID: Schema.optionalKey(Schema.String),
  /** Absent: it is under way. `failing`: it is being rolled back. `refused`: the chart of the operator is an older one. */
  outcome: Schema.optionalKey(Schema.Literals(["failing", "failed", "refused", "done"])),
  /** Of what has failed. */
  why: Schema.optionalKey(Schema.String),
  /** The annotation was taken away in the middle of it: one that stands at its end was set anew. */
  takenBack: Schema.optionalKey(Schema.Literal(true)),
})
export type VclusterUpgrade = typeof VclusterUpgrade.Type

export const DayTwoMemo = Schema.Struct({
  uid: Schema.String,
  /** RFC 3339: when the operator first saw that it is paused. */
  pausedSince: Schema.optionalKey(Schema.String),
  sleep: Schema.optionalKey(Sleep),
  /** The values that count, by annotation. */
  kept: Schema.optionalKey(Strings),
  /** What was asked for a plan of and has got it, with the generation it was for: `spec 3`. */
  planned: Schema.optionalKey(Schema.String),
  /** The generation that waits for its plan or for approval. */
  awaits: Schema.optionalKey(Schema.Finite),
  /** The plan that was told as what waits. An approval by its generation counts for it where it has come after it. */
  published: Schema.optionalKey(Schema.Struct({ generation: Schema.Finite, plan: Schema.String })),
  /** The value of the approval, and the id of the plan that it is of; absent: it was there before there was one. */
  approved: Schema.optionalKey(
    Schema.Struct({ value: Schema.String, plan: Schema.optionalKey(Schema.String) }),
  ),
  /** Only while repairs look and do nothing. */
  drift: Schema.optionalKey(ToldDrift),
  /** The newest one: while it is asked for, and until it has ended. */
  vcluster: Schema.optionalKey(VclusterUpgrade),
  /** Wrong values that were told of, by annotation. */
  told: Schema.optionalKey(Strings),
})
export type DayTwoMemo = typeof DayTwoMemo.Type

const MemoText = Schema.fromJsonString(DayTwoMemo)
const decodeMemo = Schema.decodeUnknownOption(MemoText)
const encodeMemo = Schema.encodeSync(MemoText)

type OneLife = Pick<Annotated, "annotations"> & { readonly uid: string }

/** As it stands on the instance; `None` where there is none, or one of another life, or one that cannot be read. */
export const memoOf = ({ uid, annotations }: OneLife): Option.Option<DayTwoMemo> =>
  Option.filter(decodeMemo(annotations?.[ANNOTATION_DAY_TWO]), (memo) => memo.uid === uid)

/** The windows that count. */
export const windowsIn = ({ kept }: DayTwoMemo): Option.Option<Windows> =>
  Option.flatMap(Option.fromUndefinedOr(kept?.[ANNOTATION_WINDOW]), (text) =>
    Result.getSuccess(parseWindows(text)),
  )

/** Whether repairs look and do nothing. */
export const detectsIn = ({ kept }: Pick<DayTwoMemo, "kept">): boolean =>
  kept?.[ANNOTATION_DRIFT] === "detect"

/** Whether the vCluster is to have the chart of the operator. */
export const upgradesIn = ({ kept }: Pick<DayTwoMemo, "kept">): boolean =>
  kept?.[ANNOTATION_UPGRADE_VCLUSTER] === "true"

/** The backup that is being put back: absent once all of it is. */
export const restoresIn = ({ kept }: Pick<DayTwoMemo, "kept">): Option.Option<string> =>
  Option.fromUndefinedOr(kept?.[ANNOTATION_RESTORE])

/** It has begun, and neither succeeded nor been rolled back. */
export const isUnderWay = ({ outcome }: Pick<VclusterUpgrade, "outcome">): boolean =>
  outcome === undefined || outcome === "failing"

/** The annotation's text; `undefined` when there is nothing to remember. */
export const memoText = (memo: DayTwoMemo): string | undefined => {
  const { uid: _, ...rest } = memo
  return Object.keys(rest).length === 0 ? undefined : encodeMemo(memo)
}

/** What is remembered of a plan that was made. */
export const plannedMark = (asked: string, generation: number): string => `${asked} ${generation}`

/** What is news. */
export type DayTwoNews =
  | { readonly _tag: "Invalid"; readonly message: string }
  | { readonly _tag: "Paused" }
  | { readonly _tag: "Resumed"; readonly since: string }
  | { readonly _tag: "FallingAsleep" }
  /**
   * `since`: absent of one that was not asleep yet. `untold`: what nothing inside makes anew, where nobody has been told of it
   * yet; it may have ended by now.
   */
  | {
      readonly _tag: "Waking"
      readonly since: string | undefined
      readonly untold: ReadonlyArray<string>
    }

export interface DayTwo {
  /** Since when it is paused, RFC 3339. */
  readonly pausedSince: Option.Option<string>
  readonly sleep: Option.Option<Sleep>
  /** The id of the backup that is being put back: nothing is installed meanwhile. */
  readonly restores: Option.Option<string>
  /** Inside of which repairs and upgrades begin; absent: at any time. */
  readonly windows: Option.Option<Windows>
  /** A version, or `spec`: what a plan is asked of. */
  readonly plan: Option.Option<string>
  /** Every change waits for approval. */
  readonly approve: boolean
  /** The id of the plan that is approved. */
  readonly approved: Option.Option<string>
  /** Repairs look, and do nothing. */
  readonly detects: boolean
  readonly memo: DayTwoMemo
  readonly news: ReadonlyArray<DayTwoNews>
}

const nonEmpty = <K extends string>(key: K, strings: Readonly<Record<string, string>>) =>
  Object.keys(strings).length === 0 ? {} : ({ [key]: strings } as { readonly [P in K]: typeof strings })

const waking = ({ since, sinceBefore, bare = [] }: Sleep): DayTwoNews => ({
  _tag: "Waking",
  since: since ?? sinceBefore,
  untold: since === undefined ? bare : [],
})

/** What has ended is remembered for as long as it is asked for: what has failed is not tried again. */
const upgradeOf = (
  last: VclusterUpgrade | undefined,
  asked: boolean,
  goesOn: boolean,
  now: string,
): Pick<DayTwoMemo, "vcluster"> => {
  if (last === undefined) return {}
  if (!isUnderWay(last)) return asked ? { vcluster: last } : {}
  return {
    vcluster: {
      ...last,
      ...(goesOn ? { startedAt: now } : {}),
      ...(asked ? {} : { takenBack: true as const }),
    },
  }
}

/** What an approval is of is settled when its value is first seen, and does not move on to a plan that comes later. */
const approvedOf = (value: string, { approved, published }: DayTwoMemo): DayTwoMemo["approved"] => {
  if (approved?.value === value) return approved
  const [generation, exact] = value.split("-")
  const plan = exact ?? (String(published?.generation) === generation ? published?.plan : undefined)
  return plan === undefined ? { value } : { value, plan }
}

/** What to say of an approval that was just set and is of another plan than the one that waits: nothing comes of it. */
const misses = (
  { namespace, name }: Annotated,
  { awaits, approved: before, published }: DayTwoMemo,
  approved: DayTwoMemo["approved"],
): Option.Option<string> => {
  const isNews = approved !== undefined && approved.value !== before?.value
  if (!isNews || awaits === undefined || published === undefined || approved.plan === published.plan)
    return Option.none()
  const { generation, plan: id } = published
  return Option.some(
    `annotation ${ANNOTATION_APPROVED}: "${approved.value}" approves nothing that waits: generation ${generation} waits with ${approvalOf({ generation, id })}. Read it and approve it by kubectl pi plan ${name} --namespace ${namespace}`,
  )
}

const invalid = (message: string): DayTwoNews => ({ _tag: "Invalid", message })

/** Enough to tell another value from the one that was told. */
const briefly = (value: string): string => value.slice(0, 100)

/** What the annotations say now, over what was remembered; `now` is RFC 3339. */
export const followDayTwo = (
  metadata: Annotated & OneLife,
  before: Option.Option<DayTwoMemo>,
  now: string,
): DayTwo => {
  const last = Option.getOrElse(before, (): DayTwoMemo => ({ uid: metadata.uid }))
  const { kept, bad } = readAnnotations(metadata, last.kept ?? {})
  const paused = kept[ANNOTATION_PAUSED] === "true"
  const since = last.pausedSince
  const untold = bad.filter(({ name, value }) => last.told?.[name] !== briefly(value))
  const pausedSince = paused ? (since ?? now) : undefined
  // Neither is anything taken down in a pause, nor is anything woken.
  const sleeps = paused ? last.sleep !== undefined : kept[ANNOTATION_SLEEP] === "true"
  const sleep = sleeps ? (last.sleep ?? { askedAt: now }) : undefined
  const isBad = new Set(bad.map(({ name }) => name))
  const rightOf = (name: string) =>
    Option.filter(Option.fromUndefinedOr(metadata.annotations?.[name]), () => !isBad.has(name))
  const plan = rightOf(ANNOTATION_PLAN)
  const approved = Option.getOrUndefined(
    Option.map(rightOf(ANNOTATION_APPROVED), (value) => approvedOf(value, last)),
  )
  const memo: DayTwoMemo = {
    uid: metadata.uid,
    ...(pausedSince === undefined ? {} : { pausedSince }),
    ...(sleep === undefined ? {} : { sleep }),
    // Taken away and set again, it asks anew.
    ...(last.planned === undefined || Option.isNone(plan) ? {} : { planned: last.planned }),
    ...(last.awaits === undefined ? {} : { awaits: last.awaits }),
    ...(last.published === undefined ? {} : { published: last.published }),
    ...(approved === undefined ? {} : { approved }),
    ...(last.drift === undefined || !detectsIn({ kept }) ? {} : { drift: last.drift }),
    ...upgradeOf(
      last.vcluster,
      upgradesIn({ kept }),
      // Nobody has waited for it meanwhile.
      (!paused && since !== undefined) || (!sleeps && last.sleep !== undefined),
      now,
    ),
    ...nonEmpty("kept", kept),
    ...nonEmpty("told", Object.fromEntries(bad.map(({ name, value }) => [name, briefly(value)]))),
  }
  return {
    pausedSince: Option.fromUndefinedOr(pausedSince),
    sleep: Option.fromUndefinedOr(sleep),
    restores: restoresIn({ kept }),
    windows: windowsIn(memo),
    plan,
    approve: kept[ANNOTATION_APPROVE] === "required",
    approved: Option.fromUndefinedOr(approved?.plan),
    detects: detectsIn({ kept }),
    memo,
    news: [
      ...untold.map(({ message }) => invalid(message)),
      ...Option.toArray(Option.map(misses(metadata, last, approved), invalid)),
      ...(paused && since === undefined ? [{ _tag: "Paused" } as const] : []),
      ...(!paused && since !== undefined ? [{ _tag: "Resumed", since } as const] : []),
      ...(sleeps && last.sleep === undefined ? [{ _tag: "FallingAsleep" } as const] : []),
      ...(!sleeps && last.sleep !== undefined ? [waking(last.sleep)] : []),
    ],
  }
}

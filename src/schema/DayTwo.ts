// What the annotations of people make of an instance, and what the operator remembers of them in an annotation of its own:
// it outlives the process, and kubectl pi reads it. It belongs to one life (UID) of the instance: copies have it, too. Pure.
import { Option, Result, Schema } from "effect"
import { type Annotated, readAnnotations } from "./Annotations.ts"
import { ANNOTATION_DAY_TWO, ANNOTATION_PAUSED, ANNOTATION_SLEEP, ANNOTATION_WINDOW } from "./Names.ts"
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

export const DayTwoMemo = Schema.Struct({
  uid: Schema.String,
  /** RFC 3339: when the operator first saw that it is paused. */
  pausedSince: Schema.optionalKey(Schema.String),
  sleep: Schema.optionalKey(Sleep),
  /** The values that count, by annotation. */
  kept: Schema.optionalKey(Strings),
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

/** The annotation's text; `undefined` when there is nothing to remember. */
export const memoText = (memo: DayTwoMemo): string | undefined => {
  const { uid: _, ...rest } = memo
  return Object.keys(rest).length === 0 ? undefined : encodeMemo(memo)
}

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
  /** Inside of which repairs and upgrades begin; absent: at any time. */
  readonly windows: Option.Option<Windows>
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
  const memo: DayTwoMemo = {
    uid: metadata.uid,
    ...(pausedSince === undefined ? {} : { pausedSince }),
    ...(sleep === undefined ? {} : { sleep }),
    ...nonEmpty("kept", kept),
    ...nonEmpty("told", Object.fromEntries(bad.map(({ name, value }) => [name, briefly(value)]))),
  }
  return {
    pausedSince: Option.fromUndefinedOr(pausedSince),
    sleep: Option.fromUndefinedOr(sleep),
    windows: windowsIn(memo),
    memo,
    news: [
      ...untold.map(({ message }) => ({ _tag: "Invalid", message }) as const),
      ...(paused && since === undefined ? [{ _tag: "Paused" } as const] : []),
      ...(!paused && since !== undefined ? [{ _tag: "Resumed", since } as const] : []),
      ...(sleeps && last.sleep === undefined ? [{ _tag: "FallingAsleep" } as const] : []),
      ...(!sleeps && last.sleep !== undefined ? [waking(last.sleep)] : []),
    ],
  }
}

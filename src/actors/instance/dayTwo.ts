// Follows the annotations of people: tells what is news, writes down what has to outlive the process, and gives the rules
// that the planner goes by.
import { Clock, DateTime, Duration, Effect, Option } from "effect"
import {
  type DayTwoMemo,
  type DayTwoNews,
  followDayTwo,
  memoOf,
  memoText,
  plannedMark,
} from "../../schema/DayTwo.ts"
import { ANNOTATION_DAY_TWO } from "../../schema/Names.ts"
import type { Plan } from "../../schema/Plan.ts"
import { epochMillis, formatTime } from "../../schema/Time.ts"
import { Events, type OperatorEvent } from "../../services/Events/Events.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import type { Planning } from "./Decision.ts"
import { type Change, type Closed, needsPlan, planOfChange, type Rules, wordsOf } from "./gate.ts"
import type { AnyPass, Pass } from "./Pass.ts"
import { resetBackOff } from "./settle.ts"
import { Views } from "./Views.ts"

const agoSince = (since: string, now: number): string =>
  Duration.format(Duration.seconds(Math.max(0, Math.round((now - epochMillis(since)) / 1000))))

/** That it falls asleep the status says; when it is, that is told with what was taken down. */
const eventOf = (news: Exclude<DayTwoNews, { _tag: "FallingAsleep" }>, now: number): OperatorEvent => {
  switch (news._tag) {
    case "Invalid":
      return {
        type: "Warning",
        reason: "AnnotationInvalid",
        action: "Read",
        note: news.message,
        paced: false,
      }
    case "Paused":
      return {
        type: "Normal",
        reason: "Paused",
        action: "Pause",
        note: "paused: nothing is written in the target or the instance; what runs ends, and a deletion is carried out",
      }
    case "Resumed":
      return {
        type: "Normal",
        reason: "Resumed",
        action: "Pause",
        note: `no longer paused, after ${agoSince(news.since, now)}: what has changed meanwhile is acted on`,
      }
    case "Waking":
      return {
        type: "Normal",
        reason: "Waking",
        action: "Sleep",
        note: `woken${news.since === undefined ? " before all of it was asleep" : `, after ${agoSince(news.since, now)} asleep`}: what has changed meanwhile is acted on`,
      }
  }
}

/** Writes down what has to outlive the process. */
export const writeMemo = Effect.fnUntraced(function* (
  { object }: AnyPass,
  memo: DayTwoMemo,
): Effect.fn.Return<void, KubeError, Kubernetes | Views> {
  const { uid, namespace = "", name } = object.metadata
  const kubernetes = yield* Kubernetes
  const patch = { metadata: { uid, annotations: { [ANNOTATION_DAY_TWO]: memoText(memo) ?? null } } }
  const written = yield* kubernetes.patch(Instances, { namespace, name }, { type: "merge", patch })
  yield* (yield* Views).awaitWrite(Instances, written)
})

/** Nobody's failure when it cannot be written: the next pass tries again. */
const save = Effect.fnUntraced(function* (pass: AnyPass, memo: DayTwoMemo) {
  if (pass.object.metadata.annotations?.[ANNOTATION_DAY_TWO] === memoText(memo)) return
  yield* writeMemo(pass, memo).pipe(
    Effect.catchTag("KubeError", ({ reason, message }) =>
      Effect.logWarning("annotation was not written on the instance").pipe(
        Effect.annotateLogs({ annotation: ANNOTATION_DAY_TWO, reason, message }),
      ),
    ),
  )
})

export interface Followed {
  /** What a plan is asked of: a version, or `spec`. */
  readonly asked: Option.Option<string>
  /** What may begin, with this version in the spec. */
  readonly rules: (version: string) => Rules
}

export const followAnnotations = Effect.fnUntraced(function* (
  pass: AnyPass,
): Effect.fn.Return<Followed, never, Events | Kubernetes | Views> {
  const { memory, object } = pass
  const { metadata } = object
  const events = yield* Events
  const now = yield* Clock.currentTimeMillis
  const before = Option.orElse(memory.dayTwo, () => memoOf(metadata))
  const { pausedSince, sleep, windows, plan, approve, approved, memo, news } = followDayTwo(
    { ...metadata, namespace: metadata.namespace ?? "" },
    before,
    formatTime(DateTime.makeUnsafe(now)),
  )
  memory.dayTwo = Option.some(memo)
  for (const each of news) {
    // What failed before the pause is tried at its end, as day-two.md has it; whoever is to sleep or wake waits out nothing.
    if (each._tag === "Resumed" || each._tag === "FallingAsleep" || each._tag === "Waking")
      resetBackOff(memory)
    if (each._tag === "FallingAsleep") continue
    yield* events.emit(object, eventOf(each, now))
  }
  yield* save(pass, memo)
  const unfinished = Option.exists(memory.record, (record) => record.unfinished === true)
  return {
    asked: plan,
    rules: (version) => ({
      pausedSince,
      sleep,
      windows,
      approval: {
        required: approve,
        approved,
        asked: Option.map(plan, (text) => (text === "spec" ? version : text)),
        grave: memo.grave === true,
        plan: memory.plan,
      },
      unfinished,
    }),
  }
})

/** Which version a plan is to be made of, and from when on; none when all that anybody waits for is there. */
export const planningOf = (
  { memory, instance }: Pass,
  { asked }: Followed,
  { approval }: Rules,
  change: Option.Option<Change>,
): Option.Option<Planning> => {
  const { generation } = instance.metadata
  const at = memory.planAt
  const planned = Option.getOrUndefined(memory.dayTwo)?.planned
  if (Option.isSome(asked) && planned !== plannedMark(asked.value, generation)) {
    const version = Option.getOrElse(approval.asked, () => asked.value)
    return Option.some({ version, asked: asked.value, at })
  }
  if (Option.isNone(change) || !needsPlan(approval, change.value)) return Option.none()
  if (Option.contains(approval.approved, change.value.generation)) return Option.none()
  const made = planOfChange(approval, change.value)
  return Option.exists(made, ({ unreadable }) => unreadable === undefined)
    ? Option.none()
    : Option.some({ version: change.value.version, at })
}

/** Whether data is at stake still: where there is no plan that could be read, as before. */
const isGraveStill = (plan: Option.Option<Plan>, before: boolean): boolean =>
  Option.match(plan, {
    onNone: () => before,
    onSome: ({ unreadable, data }) => (unreadable === undefined ? data.length > 0 : before),
  })

/** Tells once of each generation that waits. */
export const followApproval = Effect.fnUntraced(function* (pass: Pass, closed: Option.Option<Closed>) {
  const { memory, instance, object } = pass
  if (Option.isNone(memory.dayTwo)) return
  // What waits for something else besides is not told once more when that is over.
  if (Option.exists(closed, ({ _tag }) => _tag === "Paused" || _tag === "Asleep")) return
  const waits = Option.filter(closed, (one) => one._tag === "NotApproved")
  const { awaits: before, grave: wasGrave = false, ...rest } = memory.dayTwo.value
  const { generation } = instance.metadata
  const awaits = Option.isSome(waits) ? generation : undefined
  const grave = Option.exists(waits, ({ plan }) => isGraveStill(plan, wasGrave))
  if (awaits === before && grave === wasGrave) return
  const memo: DayTwoMemo = {
    ...rest,
    ...(awaits === undefined ? {} : { awaits }),
    ...(grave ? { grave } : {}),
  }
  memory.dayTwo = Option.some(memo)
  if (Option.isSome(waits) && awaits !== before) {
    yield* (yield* Events).emit(object, {
      type: "Normal",
      reason: "ApprovalPending",
      action: "Plan",
      note: wordsOf(waits.value, instance.spec.version),
      paced: false,
    })
  }
  yield* save(pass, memo)
})

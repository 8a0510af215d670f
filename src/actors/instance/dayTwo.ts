// Follows the annotations of people: tells what is news, writes down what has to outlive the process, and gives the rules
// that the planner goes by.
import { Clock, DateTime, Duration, Effect, Equal, Option } from "effect"
import {
  type DayTwoMemo,
  type DayTwoNews,
  detectsIn,
  followDayTwo,
  memoOf,
  memoText,
  type ToldDrift,
} from "../../schema/DayTwo.ts"
import { ANNOTATION_DAY_TWO } from "../../schema/Names.ts"
import { driftSummary, foundIn, mostOfNote, objectsOf, type Plan } from "../../schema/Plan.ts"
import { epochMillis, formatTime } from "../../schema/Time.ts"
import { Events, type OperatorEvent } from "../../services/Events/Events.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import { restoringIn } from "../../services/StateStore/StateStore.ts"
import type { Approval } from "./approval.ts"
import { type Rules, wordsOf } from "./gate.ts"
import { showPast } from "./history.ts"
import type { AnyPass, Pass } from "./Pass.ts"
import { resetBackOff } from "./settle.ts"
import { Views } from "./Views.ts"

const agoSince = (since: string, now: number): string =>
  Duration.format(Duration.seconds(Math.max(0, Math.round((now - epochMillis(since)) / 1000))))

/** So many pods are told of by name. */
export const mostNames = 10

/** Of pods that nothing inside makes anew: one more than are named says that there are others. */
export const named = (bare: ReadonlyArray<string>): string =>
  `${bare.slice(0, mostNames).join(", ")}${bare.length > mostNames ? " and others" : ""}`

const woken = ({ since, untold }: Extract<DayTwoNews, { _tag: "Waking" }>, now: number): string => {
  const when = since === undefined ? " before all of it was asleep" : `, after ${agoSince(since, now)} asleep`
  const done = `woken${when}: what has changed meanwhile is acted on`
  return untold.length === 0
    ? done
    : `${done}; nothing inside makes these anew where they had ended already: ${named(untold)}`
}

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
      return { type: "Normal", reason: "Waking", action: "Sleep", note: woken(news, now) }
  }
}

/** Writes down what has to outlive the process; with a version, on no other of the object. */
export const writeMemo = Effect.fnUntraced(function* (
  { object }: AnyPass,
  memo: DayTwoMemo,
  resourceVersion?: string,
): Effect.fn.Return<void, KubeError, Kubernetes | Views> {
  const { uid, namespace = "", name } = object.metadata
  const kubernetes = yield* Kubernetes
  const annotations = { [ANNOTATION_DAY_TWO]: memoText(memo) ?? null }
  const metadata = { uid, annotations, ...(resourceVersion === undefined ? {} : { resourceVersion }) }
  const written = yield* kubernetes.patch(
    Instances,
    { namespace, name },
    { type: "merge", patch: { metadata } },
  )
  yield* (yield* Views).awaitWrite(Instances, written)
})

/** Nobody's failure when it cannot be written: the next pass tries again. */
const saved = <R>(write: Effect.Effect<void, KubeError, R>): Effect.Effect<boolean, never, R> =>
  Effect.as(write, true).pipe(
    Effect.catchTag("KubeError", ({ reason, message }) =>
      Effect.logWarning("annotation was not written on the instance").pipe(
        Effect.annotateLogs({ annotation: ANNOTATION_DAY_TWO, reason, message }),
        Effect.as(false),
      ),
    ),
  )

export const save = Effect.fnUntraced(function* (pass: AnyPass, memo: DayTwoMemo) {
  if (pass.object.metadata.annotations?.[ANNOTATION_DAY_TWO] === memoText(memo)) return
  yield* saved(writeMemo(pass, memo))
})

export interface Followed {
  readonly memo: DayTwoMemo
  /** What a plan is asked of: a version, or `spec`. */
  readonly asked: Option.Option<string>
  /** What a change waits for. */
  readonly approval: Approval
  /** What may begin. */
  readonly rules: Rules
}

/** What it comes to is in the memory; to outlive the process it has to be saved. */
export const followAnnotations = Effect.fnUntraced(function* (
  pass: AnyPass,
): Effect.fn.Return<Followed, never, Events | Kubernetes | Views> {
  const { memory, object } = pass
  const { metadata } = object
  const events = yield* Events
  const now = yield* Clock.currentTimeMillis
  const before = Option.orElse(memory.dayTwo, () => memoOf(metadata))
  const { pausedSince, sleep, restores, windows, plan, approve, approved, memo, news } = followDayTwo(
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
  const unfinished = Option.exists(memory.record, (record) => record.unfinished === true)
  // An annotation is taken away by any hand or manifest; what the state says stands until its data is back.
  const marked = restoringIn(memory.record)
  return {
    memo,
    asked: plan,
    approval: {
      required: approve,
      approved,
      asked: plan,
      waited: memo.awaits !== undefined,
      plans: memory.plans,
    },
    rules: {
      pausedSince,
      sleep,
      restores: Option.orElse(marked, () => restores),
      windows,
      undecided: Option.none(),
      unfinished,
    },
  }
})

/** Somebody is to read a plan that may not stand where people read it. */
export const isPlanUnseen = ({ memory, standing }: Pass): boolean =>
  standing._tag === "Waits" && Option.isSome(standing.plan) && Option.isSome(memory.unshown)

const toldOf = (report: Plan, last: ToldDrift | undefined): ToldDrift => {
  const found = foundIn(report)
  if (report.outdated !== undefined && last !== undefined) return { ...last, outdated: true }
  if (last?.outdated === undefined && last?.found === found) return last
  const objects = objectsOf(report)
  const uncompared = report.uncompared?.length ?? 0
  // What differed may be among what nobody can look at any more.
  if (objects === 0 && last !== undefined && last.objects > 0 && uncompared > (last.uncompared ?? 0))
    return last
  const told: ToldDrift = {
    found,
    objects,
    since: report.madeAt,
    ...(uncompared === 0 ? {} : { uncompared }),
  }
  return report.outdated === undefined ? told : { ...told, outdated: true }
}

const driftNews = (
  report: Plan,
  { objects, outdated }: ToldDrift,
  last: ToldDrift | undefined,
  now: number,
): Option.Option<Pick<OperatorEvent, "type" | "reason" | "note">> => {
  if (outdated !== undefined) return Option.none()
  if (objects > 0)
    return Option.some({ type: "Warning", reason: "DriftFound", note: driftSummary(report, mostOfNote) })
  return last === undefined || last.objects === 0
    ? Option.none()
    : Option.some({
        type: "Normal",
        reason: "DriftGone",
        note: `nothing differs inside the instance any more; what differed was found ${agoSince(last.since, now)} ago`,
      })
}

/**
 * Tells of drift that was found and is news, at least once: what was told is written down after it. A report over which an install
 * has begun says nothing of what there is, and what is found after it is news.
 */
export const followDrift = Effect.fnUntraced(function* ({ memory, object }: Pass) {
  const report = Option.getOrUndefined(memory.plans)?.drift
  const memo = Option.getOrUndefined(memory.dayTwo)
  if (report === undefined || memo === undefined || !detectsIn(memo)) return
  const told = toldOf(report, memo.drift)
  if (Equal.equals(told, memo.drift)) return
  const news = driftNews(report, told, memo.drift, yield* Clock.currentTimeMillis)
  // Each is told once, and there are no more of them than looks.
  if (Option.isSome(news))
    yield* (yield* Events).emit(object, { ...news.value, action: "Plan", paced: false })
  memory.dayTwo = Option.some({ ...memo, drift: told })
})

/** Writes down what has to outlive the process, which generation waits among it, and tells once of each plan that waits for somebody. */
export const followStanding = Effect.fnUntraced(function* (pass: Pass) {
  const { memory, standing, object } = pass
  if (Option.isNone(memory.dayTwo)) return
  const { awaits: _, published: last, ...rest } = memory.dayTwo.value
  if (standing._tag === "Agreed") {
    // As long as nothing of it has begun, an approval can be taken back.
    const memo: DayTwoMemo = Option.isNone(standing.plan) ? rest : memory.dayTwo.value
    memory.dayTwo = Option.some(memo)
    return yield* save(pass, memo)
  }
  const { change, plan, approval } = standing
  const now = yield* Clock.currentTimeMillis
  if (isPlanUnseen(pass) && Option.exists(memory.unshown, (at) => at <= now)) yield* showPast(pass)
  const before: DayTwoMemo = {
    ...rest,
    awaits: change.generation,
    ...(last === undefined ? {} : { published: last }),
  }
  memory.dayTwo = Option.some(before)
  if (Option.isNone(plan) || !approval || last?.plan === plan.value.id) return yield* save(pass, before)
  const memo: DayTwoMemo = {
    ...before,
    published: { generation: change.generation, plan: plan.value.id },
  }
  // On the very object that was looked at: an approval that is there by now has come before it.
  const isTold = yield* saved(writeMemo(pass, memo, object.metadata.resourceVersion))
  if (!isTold) return
  memory.dayTwo = Option.some(memo)
  yield* (yield* Events).emit(object, {
    type: "Normal",
    reason: "ApprovalPending",
    action: "Plan",
    note: wordsOf(standing, change.version),
    paced: false,
  })
})

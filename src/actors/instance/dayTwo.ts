// Follows the annotations of people: tells what is news, writes down what has to outlive the process, and gives the rules
// that the planner goes by.
import { Clock, DateTime, Duration, Effect, Option } from "effect"
import { type DayTwoMemo, type DayTwoNews, followDayTwo, memoOf, memoText } from "../../schema/DayTwo.ts"
import { ANNOTATION_DAY_TWO } from "../../schema/Names.ts"
import { epochMillis, formatTime } from "../../schema/Time.ts"
import { Events, type OperatorEvent } from "../../services/Events/Events.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import type { Rules } from "./gate.ts"
import type { AnyPass } from "./Pass.ts"
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

export const followAnnotations = Effect.fnUntraced(function* (
  pass: AnyPass,
): Effect.fn.Return<Rules, never, Events | Kubernetes | Views> {
  const { memory, object } = pass
  const { metadata } = object
  const events = yield* Events
  const now = yield* Clock.currentTimeMillis
  const before = Option.orElse(memory.dayTwo, () => memoOf(metadata))
  const { pausedSince, sleep, windows, memo, news } = followDayTwo(
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
  return { pausedSince, sleep, windows, unfinished }
})

// Follows the annotations of people: tells what is news, writes down what has to outlive the process, and gives the rules
// that the planner goes by.
import { Clock, DateTime, Duration, Effect, Option } from "effect"
import { type DayTwoMemo, type DayTwoNews, followDayTwo, memoOf, memoText } from "../../schema/DayTwo.ts"
import { ANNOTATION_DAY_TWO } from "../../schema/Names.ts"
import { epochMillis, formatTime } from "../../schema/Time.ts"
import { Events, type OperatorEvent } from "../../services/Events/Events.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import type { Rules } from "./gate.ts"
import type { AnyPass } from "./Pass.ts"
import { resetBackOff } from "./settle.ts"
import { Views } from "./Views.ts"

const eventOf = (news: DayTwoNews, now: number): OperatorEvent => {
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
    case "Resumed": {
      const seconds = Math.max(0, Math.round((now - epochMillis(news.since)) / 1000))
      return {
        type: "Normal",
        reason: "Resumed",
        action: "Pause",
        note: `no longer paused, after ${Duration.format(Duration.seconds(seconds))}: what has changed meanwhile is acted on`,
      }
    }
  }
}

/** Nobody's failure when it cannot be written: the next pass tries again. */
const save = Effect.fnUntraced(function* ({ object }: AnyPass, memo: DayTwoMemo) {
  const text = memoText(memo)
  const { uid, annotations, namespace = "", name } = object.metadata
  if (annotations?.[ANNOTATION_DAY_TWO] === text) return
  const kubernetes = yield* Kubernetes
  const patch = { metadata: { uid, annotations: { [ANNOTATION_DAY_TWO]: text ?? null } } }
  const written = yield* kubernetes.patch(Instances, { namespace, name }, { type: "merge", patch }).pipe(
    Effect.tapError(({ reason, message }) =>
      Effect.logWarning("annotation was not written on the instance").pipe(
        Effect.annotateLogs({ annotation: ANNOTATION_DAY_TWO, reason, message }),
      ),
    ),
    Effect.option,
  )
  if (Option.isSome(written)) yield* (yield* Views).awaitWrite(Instances, written.value)
})

export const followAnnotations = Effect.fnUntraced(function* (
  pass: AnyPass,
): Effect.fn.Return<Rules, never, Events | Kubernetes | Views> {
  const { memory, object } = pass
  const { metadata } = object
  const events = yield* Events
  const now = yield* Clock.currentTimeMillis
  const before = Option.orElse(memory.dayTwo, () => memoOf(metadata))
  const { pausedSince, windows, memo, news } = followDayTwo(
    { ...metadata, namespace: metadata.namespace ?? "" },
    before,
    formatTime(DateTime.makeUnsafe(now)),
  )
  memory.dayTwo = Option.some(memo)
  for (const each of news) {
    // What failed before the pause is tried at its end, as day-two.md has it.
    if (each._tag === "Resumed") resetBackOff(memory)
    yield* events.emit(object, eventOf(each, now))
  }
  yield* save(pass, memo)
  const unfinished = Option.exists(memory.record, (record) => record.unfinished === true)
  return { pausedSince, windows, unfinished }
})

// Repairs of the release in a row. Somebody may edit again whatever is put back, and every repair is a run of Helm: they
// become rarer, and the status says why.
import { Duration, Effect, Option } from "effect"
import { Events } from "../../../services/Events/Events.ts"
import { nominalDelay, retryBackoff } from "../../kit/Backoff.ts"
import type { AnyPass } from "../Pass.ts"
import { described, type TargetVerdict } from "./TargetState.ts"

export interface Repairs {
  readonly times: number
  /** When the last one ended: milliseconds since the epoch. */
  readonly endedAt: number
}
export const noRepairs: Repairs = { times: 0, endedAt: 0 }

/** What is lost later than so many milliseconds after the pause is lost anew, and put back at once. */
const apart = 60_000
/** So many repairs in a row are told as repairs, any more as a failure. */
const patience = 3

const pauseOf = ({ times }: Repairs): number =>
  times === 0 ? 0 : Duration.toMillis(nominalDelay(retryBackoff, times))
const nextAt = (repairs: Repairs): number => repairs.endedAt + pauseOf(repairs)

export const oneMore = (before: Repairs, now: number): Repairs => ({
  times: now > nextAt(before) + pauseOf(before) + apart ? 1 : before.times + 1,
  endedAt: now,
})

/** When the repair that this verdict asks for may begin, if it has to wait; says so once it is one too many. */
export const repairPause = Effect.fnUntraced(function* (
  { memory, object }: AnyPass,
  verdict: TargetVerdict,
  now: number,
): Effect.fn.Return<Option.Option<number>, never, Events> {
  if (verdict._tag !== "Act" || verdict.step._tag !== "ReapplyRelease") return Option.none()
  const at = nextAt(memory.repairs)
  if (at <= now) return Option.none()
  if (memory.repairs.times > patience && Option.isNone(memory.targetFailure)) {
    const objects = verdict.step.lost.map(described).join(", ")
    const message = `repair vcluster: ${objects}: put back ${memory.repairs.times} times in a row, and changed again each time; tried again after a pause`
    memory.targetFailure = Option.some({ reason: "TargetError", message })
    if (memory.repairs.times > patience + 1) return Option.some(at)
    const events = yield* Events
    yield* events.emit(object, { type: "Warning", reason: "TargetError", action: "Target", note: message })
  }
  return Option.some(at)
})

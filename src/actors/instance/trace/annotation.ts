// The trace of a change as it stands on the instance, for the operator's next process and for people: the `traceparent` of
// its root, the generation it is of, since when it runs, and the UID of the instance: another one that was made from a copy of
// this one has the annotation too. Pure.
import { DateTime, Option } from "effect"
import { parseTime } from "../../../schema/Time.ts"
import { formatTraceParent, parseTraceParent, type TraceParent } from "../../../services/Telemetry/Tracing.ts"

export interface ChangeTrace {
  readonly parent: TraceParent
  readonly generation: number
  /** Milliseconds since the epoch. */
  readonly since: number
}

export const formatChange = ({ parent, generation, since }: ChangeTrace, uid: string): string =>
  [formatTraceParent(parent), generation, DateTime.formatIso(DateTime.makeUnsafe(since)), uid].join(" ")

/**
 * `None` for what no operator has written so on the instance of that UID: somebody may have edited or copied it. Earlier
 * releases have written none.
 */
export const parseChange = (text: string | undefined, uid: string): Option.Option<ChangeTrace> => {
  const [parent = "", generation = "", since = "", of = uid] = (text ?? "").split(" ")
  if (!/^[1-9][0-9]*$/.test(generation) || of !== uid) return Option.none()
  return Option.all({
    parent: parseTraceParent(parent),
    generation: Option.some(Number(generation)),
    since: Option.map(parseTime(since), DateTime.toEpochMillis),
  })
}

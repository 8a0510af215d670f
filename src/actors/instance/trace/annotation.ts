// The trace of a change as it stands on the instance, for the operator's next process and for people: the `traceparent` of
// its root, the generation it is of, and since when it runs. Pure.
import { DateTime, Option } from "effect"
import { parseTime } from "../../../schema/Time.ts"
import { formatTraceParent, parseTraceParent, type TraceParent } from "../../../services/Telemetry/Tracing.ts"

export interface ChangeTrace {
  readonly parent: TraceParent
  readonly generation: number
  /** Milliseconds since the epoch. */
  readonly since: number
}

export const formatChange = ({ parent, generation, since }: ChangeTrace): string =>
  [formatTraceParent(parent), generation, DateTime.formatIso(DateTime.makeUnsafe(since))].join(" ")

/** `None` for what this operator has not written so: somebody may have edited it. */
export const parseChange = (text: string | undefined): Option.Option<ChangeTrace> => {
  const [parent = "", generation = "", since = ""] = (text ?? "").split(" ")
  if (!/^[1-9][0-9]*$/.test(generation)) return Option.none()
  return Option.all({
    parent: parseTraceParent(parent),
    generation: Option.some(Number(generation)),
    since: Option.map(parseTime(since), DateTime.toEpochMillis),
  })
}

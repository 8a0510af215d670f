// `kubectl pi events`: the Events of an instance, oldest first.
import { Clock, Effect, Schema } from "effect"
import { Command } from "effect/cli"
import { getInstance } from "./Instance.ts"
import { getJson } from "./Kubectl.ts"
import { answer, answerNothing, instanceArgument, where } from "./root.ts"
import { ageOf, Colours, type Paint, painter, table } from "./Words.ts"

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** As core/v1 has them: it can be asked for those of one object. */
const EventList = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      type: Schema.optionalKey(Schema.String),
      reason: Schema.optionalKey(Schema.String),
      message: Schema.optionalKey(Schema.String),
      count: nullable(Schema.Finite),
      eventTime: nullable(Schema.String),
      firstTimestamp: nullable(Schema.String),
      lastTimestamp: nullable(Schema.String),
      reportingComponent: Schema.optionalKey(Schema.String),
      series: nullable(
        Schema.Struct({ count: nullable(Schema.Finite), lastObservedTime: nullable(Schema.String) }),
      ),
      metadata: Schema.Struct({ creationTimestamp: nullable(Schema.String) }),
    }),
  ),
})

export interface Told {
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly count: number
  readonly first: string
  readonly last: string
}

export const toldBy = ({ items }: typeof EventList.Type): ReadonlyArray<Told> =>
  items
    .map((event): Told => {
      const first = event.firstTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? ""
      return {
        type: event.type ?? "",
        reason: event.reason ?? "",
        message: event.message ?? "",
        count: event.series?.count ?? event.count ?? 1,
        first,
        last: event.series?.lastObservedTime ?? event.lastTimestamp ?? first,
      }
    })
    .toSorted((one, other) => (one.last < other.last ? -1 : 1))

export const eventsText = (events: ReadonlyArray<Told>, now: number, paint: Paint): string =>
  table(
    ["LAST SEEN", "TIMES", "TYPE", "REASON", "MESSAGE"],
    events.map(({ type, reason, message, count, last }) => [
      ageOf(last, now) ?? "",
      String(count),
      type === "Warning" ? { text: type, colour: "yellow" as const } : type,
      reason,
      message,
    ]),
    paint,
  )

export const events = Command.make(
  "events",
  { name: instanceArgument },
  Effect.fnUntraced(function* ({ name }) {
    const found = yield* getInstance(yield* where, name)
    const list = yield* getJson(EventList, found.where, [
      "events",
      `--field-selector=involvedObject.uid=${found.instance.metadata.uid}`,
    ])
    const told = toldBy(list)
    const now = yield* Clock.currentTimeMillis
    const paint = painter(yield* Colours)
    if (told.length === 0) {
      const { namespace } = found.instance.metadata
      return yield* answerNothing(
        { events: told },
        `there are no Events of ${namespace}/${name}: none was written yet, or the API server has forgotten them, after an hour by default; kubectl pi history ${name} -n ${namespace} goes back further`,
      )
    }
    yield* answer({ events: told }, () => eventsText(told, now, paint))
  }),
).pipe(
  Command.withDescription(
    "Lists the Events of an instance that the API server still has, the one that was seen last at the end",
  ),
  Command.withExamples([{ command: "kubectl pi events one -n team-a" }]),
)

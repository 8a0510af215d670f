// `kubectl pi trace`: the traces of an instance's operations, and what is in one of them where Jaeger has it.
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { PastOperation } from "../schema/History.ts"
import { ANNOTATION_TRACE } from "../schema/Names.ts"
import { readHistory } from "./history.ts"
import type { Instance } from "./Instance.ts"
import { cannot, misused } from "./Kubectl.ts"
import { answer, answerNothing, instanceArgument, where } from "./root.ts"
import { Colours, type Paint, painter, plain, spanText, table } from "./Words.ts"

export interface Known {
  readonly traceId: string
  readonly what: string
  readonly since: string
}

/** The trace of the newest change, as the operator keeps it on the instance: a `traceparent`, generation and time. */
export const changeOf = ({ metadata }: Instance): Option.Option<Known> => {
  const [parent = "", generation = "", since = ""] = (metadata.annotations?.[ANNOTATION_TRACE] ?? "").split(
    " ",
  )
  const traceId = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(parent)?.[1]
  return traceId === undefined
    ? Option.none()
    : Option.some({ traceId, what: `change to generation ${generation}`, since })
}

/** The newest change first, then operations from the newest on; each trace once. */
export const tracesOf = (
  instance: Instance,
  operations: ReadonlyArray<PastOperation>,
): ReadonlyArray<Known> => {
  const known = [
    ...Option.toArray(changeOf(instance)),
    ...operations
      .toReversed()
      .flatMap(({ traceId, what, why, startedAt }) =>
        traceId === undefined ? [] : [{ traceId, what: `${what}, ${why}`, since: startedAt }],
      ),
  ]
  return known.filter(({ traceId }, index) => known.findIndex((each) => each.traceId === traceId) === index)
}

/** What Jaeger's query API says of a trace; times are microseconds. */
const JaegerTrace = Schema.Struct({
  data: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        spans: Schema.Array(
          Schema.Struct({
            spanID: Schema.String,
            operationName: Schema.String,
            startTime: Schema.Finite,
            duration: Schema.Finite,
            references: Schema.optionalKey(
              Schema.NullOr(Schema.Array(Schema.Struct({ refType: Schema.String, spanID: Schema.String }))),
            ),
            tags: Schema.optionalKey(
              Schema.NullOr(Schema.Array(Schema.Struct({ key: Schema.String, value: Schema.Unknown }))),
            ),
          }),
        ),
      }),
    ),
  ),
})
type JaegerSpan = NonNullable<(typeof JaegerTrace.Type)["data"]>[number]["spans"][number]

/** Spans as a tree, each below the one it is part of, in the order they began. */
export const treeText = (spans: ReadonlyArray<JaegerSpan>, paint: Paint): string => {
  const ids = new Set(spans.map(({ spanID }) => spanID))
  const parentOf = ({ references }: JaegerSpan) =>
    references?.find(({ refType, spanID }) => refType === "CHILD_OF" && ids.has(spanID))?.spanID
  const lines = (parent: string | undefined, depth: number): ReadonlyArray<string> =>
    spans
      .filter((span) => parentOf(span) === parent)
      .toSorted((one, other) => one.startTime - other.startTime)
      .flatMap((span) => {
        const failed = span.tags?.some(({ key, value }) => key === "error" && value === true) ?? false
        const took =
          span.duration < 2_000_000 ? `${Math.round(span.duration / 1000)}ms` : spanText(span.duration / 1000)
        const line = `${"  ".repeat(depth)}${plain(span.operationName)}  ${took}`
        return [failed ? paint("red", `${line}  failed`) : line, ...lines(span.spanID, depth + 1)]
      })
  return lines(undefined, 0).join("\n")
}

const fetchTrace = Effect.fnUntraced(function* (jaeger: string, traceId: string) {
  const client = yield* HttpClient.HttpClient
  const url = `${jaeger.replace(/\/+$/, "")}/api/traces/${traceId}`
  const failed = (why: string) =>
    cannot(`${url}: ${why}; --jaeger is the address of its query service, such as http://localhost:16686`)
  const response = yield* client
    .execute(HttpClientRequest.get(url))
    .pipe(Effect.mapError(() => failed("does not answer")))
  if (response.status === 404)
    return yield* cannot(
      `Jaeger at ${jaeger} has no trace ${traceId}: it may not have it yet, or not any more`,
    )
  if (response.status !== 200) return yield* failed(`answers ${response.status}`)
  const { data } = yield* response.text.pipe(
    Effect.flatMap(Schema.decodeEffect(Schema.fromJsonString(JaegerTrace))),
    Effect.mapError(() => failed("is no Jaeger")),
  )
  return (data ?? []).flatMap(({ spans }) => spans)
})

const NO_TRACE =
  "no trace of this instance is known: the operator traces where OTEL_EXPORTER_OTLP_ENDPOINT names a collector"

export const trace = Command.make(
  "trace",
  {
    name: instanceArgument,
    id: Flag.String("id").pipe(
      Flag.withMetavar("TRACE"),
      Flag.withDescription("Which trace to show; that of the newest change when not set"),
      Flag.optional,
    ),
    jaeger: Flag.String("jaeger").pipe(
      Flag.withMetavar("URL"),
      Flag.withDescription(
        "Address of Jaeger's query service: shows the spans, not only which traces there are",
      ),
      Flag.optional,
    ),
  },
  Effect.fnUntraced(function* ({ name, id, jaeger }) {
    if (Option.isSome(id) && Option.isNone(jaeger)) {
      return yield* misused("--id names the trace whose spans Jaeger has: it needs --jaeger URL")
    }
    const { instance, operations } = yield* readHistory(yield* where, name)
    const known = tracesOf(instance, operations)
    const paint = painter(yield* Colours)
    if (Option.isNone(jaeger)) {
      if (known.length === 0) {
        return yield* answerNothing({ traces: known }, NO_TRACE)
      }
      return yield* answer({ traces: known }, () =>
        table(
          ["TRACE", "SINCE", "WHAT"],
          known.map(({ traceId, since, what }) => [traceId, since.replace(/\.\d+Z$/, "Z"), what]),
          paint,
        ),
      )
    }
    const traceId = Option.getOrUndefined(id) ?? known[0]?.traceId
    if (traceId === undefined) {
      return yield* cannot(`${NO_TRACE}; --id names one that is known from elsewhere`)
    }
    const spans = yield* fetchTrace(jaeger.value, traceId)
    yield* answer({ traceId, spans }, () => treeText(spans, paint))
  }),
).pipe(
  Command.withDescription(
    "Lists the traces of an instance's changes and operations, or shows the spans of one",
  ),
  Command.withExamples([
    { command: "kubectl pi trace one -n team-a" },
    { command: "kubectl pi trace one -n team-a --jaeger http://localhost:16686" },
  ]),
)

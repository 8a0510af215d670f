// Jaeger on the node, and traces as its query API gives them.
import { join } from "node:path"
import { Schema } from "effect"
import { type Running, run, startChild } from "./Child.ts"
import { onNode } from "./Cluster.ts"
import { until } from "./Until.ts"

const tools = join(import.meta.dirname, "..", "..", "..", "tools")
const queries = "http://10.240.0.1:16686"
/** Where the operator is to send its spans: `jaeger.yaml`. */
export const jaegerEndpoint = "http://10.240.0.1:14318"

const Trace = Schema.Struct({
  traceID: Schema.String,
  spans: Schema.Array(
    Schema.Struct({
      spanID: Schema.String,
      operationName: Schema.String,
      /** Microseconds. */
      startTime: Schema.Finite,
      duration: Schema.Finite,
      references: Schema.Array(
        Schema.Struct({ refType: Schema.String, traceID: Schema.String, spanID: Schema.String }),
      ),
      tags: Schema.Array(Schema.Struct({ key: Schema.String, value: Schema.Unknown })),
    }),
  ),
})
/** Null where there is none. */
const Response = Schema.fromJsonString(Schema.Struct({ data: Schema.NullOr(Schema.Array(Trace)) }))
const decode = Schema.decodeSync(Response)

export interface JaegerSpan {
  readonly id: string
  readonly name: string
  readonly parent: string | undefined
  /** Trace ids. */
  readonly links: ReadonlyArray<string>
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  readonly tags: Readonly<Record<string, unknown>>
}

export interface JaegerTrace {
  readonly id: string
  readonly spans: ReadonlyArray<JaegerSpan>
}

const tracesIn = (text: string): ReadonlyArray<JaegerTrace> =>
  (decode(text).data ?? []).map(({ traceID, spans }) => ({
    id: traceID,
    spans: spans.map(({ spanID, operationName, startTime, duration, references, tags }) => ({
      id: spanID,
      name: operationName,
      parent: references.find((each) => each.refType === "CHILD_OF" && each.traceID === traceID)?.spanID,
      links: references.filter((each) => each.traceID !== traceID).map((each) => each.traceID),
      from: startTime / 1000,
      to: (startTime + duration) / 1000,
      tags: Object.fromEntries(tags.map(({ key, value }) => [key, value])),
    })),
  }))

const ask = (path: string): Promise<string> => onNode("curl", "--silent", "--fail", `${queries}${path}`)

/** All it has, as it says it. */
export const everything = (): Promise<string> => ask("/api/traces?service=platform-operator&limit=2000")

export const traces = async (): Promise<ReadonlyArray<JaegerTrace>> => tracesIn(await everything())

/** Builds it where it is not built yet, and waits until it answers. */
export const startJaeger = async (): Promise<Running> => {
  const programs = (await run(join(tools, "programs", "build.sh"), ["jaeger"])).trim()
  // Its own stdin says nothing to it: the shell ends it when ours ends.
  // Of itself it is to tell nothing.
  const script =
    'OTEL_TRACES_SAMPLER=always_off "$0" --config "$1" > /dev/null & cat > /dev/null; kill $!; wait'
  const child = startChild(join(tools, "cluster", "exec"), [
    ...["--", "sh", "-c", script, join(programs, "jaeger"), join(import.meta.dirname, "jaeger.yaml")],
  ])
  await until("Jaeger answers", () =>
    ask("/api/services").then(
      () => true,
      () => undefined,
    ),
  )
  return child
}

export const rootOf = ({ spans }: JaegerTrace): JaegerSpan | undefined =>
  spans.find(({ parent }) => parent === undefined)

/** Spans whose parent is not there. */
export const orphansOf = ({ spans }: JaegerTrace): ReadonlyArray<string> => {
  const ids = new Set(spans.map(({ id }) => id))
  return spans.flatMap(({ name, parent }) => (parent === undefined || ids.has(parent) ? [] : [name]))
}

/** The share of a time that the spans below the root fill. */
export const coverageOf = (trace: JaegerTrace, begin: number, end: number): number => {
  const root = rootOf(trace)
  let reached = begin
  let covered = 0
  for (const { from, to } of trace.spans
    .filter((span) => span !== root)
    .toSorted((a, b) => a.from - b.from)) {
    covered += Math.max(0, Math.min(to, end) - Math.max(from, reached))
    reached = Math.max(reached, to)
  }
  return covered / (end - begin)
}

// The engine's own spans, as it has written them to a file a run (OTLP as JSON, a batch a line), made fit to be shown: what
// could carry a secret is left out or redacted, and what says nothing is left out. The engine never talks to a collector.
import { Exit, Schema } from "effect"
import type { ForeignSpan } from "../Telemetry/Tracing.ts"

/** So many spans of a run are shown: the longest. */
export const mostEngineSpans = 400
/** Characters of a name or value. */
const longest = 256

const Value = Schema.Struct({
  stringValue: Schema.optionalKey(Schema.String),
  boolValue: Schema.optionalKey(Schema.Boolean),
  intValue: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite])),
})
const EngineSpan = Schema.Struct({
  name: Schema.String,
  spanId: Schema.String,
  parentSpanId: Schema.optionalKey(Schema.String),
  kind: Schema.optionalKey(Schema.Finite),
  startTimeUnixNano: Schema.String,
  endTimeUnixNano: Schema.String,
  attributes: Schema.optionalKey(Schema.Array(Schema.Struct({ key: Schema.String, value: Value }))),
  status: Schema.optionalKey(
    Schema.Struct({
      code: Schema.optionalKey(Schema.Finite),
      message: Schema.optionalKey(Schema.String),
    }),
  ),
})
type EngineSpan = typeof EngineSpan.Type

const decode = Schema.decodeUnknownExit(
  Schema.fromJsonString(
    Schema.Struct({
      resourceSpans: Schema.Array(
        Schema.Struct({ scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(EngineSpan) })) }),
      ),
    }),
  ),
)

/** Every read and write of the file backend is a span: hundreds, and none of them says what it was for. */
const isNoise = ({ name }: EngineSpan): boolean => name.startsWith("gocloud.dev/")

/** What an attribute of the engine's may be called; inputs, outputs and stack traces are none of them. */
const isPlain = (key: string): boolean =>
  /^(rpc\..*|plugin\.(name|version|kind)|urn|operation|provider)$/.test(key)

const attributesOf = (span: EngineSpan, redact: (text: string) => string) => {
  const found: Record<string, string | number | boolean> = {}
  for (const { key, value } of span.attributes ?? []) {
    const { stringValue, boolValue, intValue } = value
    if (!isPlain(key)) continue
    if (stringValue !== undefined) found[key] = redact(stringValue).slice(0, longest)
    else if (boolValue !== undefined) found[key] = boolValue
    else if (intValue !== undefined) found[key] = Number(intValue)
  }
  return found
}

const isId = (id: string | undefined): id is string => id !== undefined && /^[0-9a-f]{16}$/.test(id)
const isTime = (nanos: string): boolean => /^[0-9]{1,20}$/.test(nanos)

/** 2: error, in OTLP. */
const errorCode = 2
/** 3: client. */
const clientKind = 3

const lasted = (span: EngineSpan): bigint => BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)

/** A line that was cut off, as by a kill, is left out. */
const spansIn = (text: string): ReadonlyArray<EngineSpan> =>
  text.split("\n").flatMap((line) => {
    const decoded = decode(line)
    if (Exit.isFailure(decoded)) return []
    return decoded.value.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans).flatMap(({ spans }) => spans)
  })

/** `redact` knows the operation's secrets. What hung on a span that is left out hangs on the nearest one that is not. */
export const engineSpans = (text: string, redact: (text: string) => string): ReadonlyArray<ForeignSpan> => {
  const all = spansIn(text).filter(
    ({ spanId, startTimeUnixNano, endTimeUnixNano }) =>
      isId(spanId) && isTime(startTimeUnixNano) && isTime(endTimeUnixNano),
  )
  const byId = new Map(all.map((span) => [span.spanId, span]))
  const shown = all
    .filter((span) => !isNoise(span))
    .sort((a, b) => Number(lasted(b) - lasted(a)))
    .slice(0, mostEngineSpans)
  const kept = new Set(shown.map(({ spanId }) => spanId))
  const parentOf = (span: EngineSpan): string | undefined => {
    const seen = new Set<string>()
    for (let id = span.parentSpanId; isId(id) && !seen.has(id); id = byId.get(id)?.parentSpanId) {
      if (kept.has(id)) return id
      seen.add(id)
    }
    return undefined
  }
  return shown.map((span) => ({
    name: redact(span.name).slice(0, longest),
    spanId: span.spanId,
    parentSpanId: parentOf(span),
    from: BigInt(span.startTimeUnixNano),
    to: BigInt(span.endTimeUnixNano),
    client: span.kind === clientKind,
    attributes: attributesOf(span, redact),
    failure:
      span.status?.code === errorCode ? redact(span.status.message ?? "").slice(0, longest) : undefined,
  }))
}

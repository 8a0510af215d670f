// Traces as the rest of the operator sees them: a trace has ids before it has a root, its spans hang on an anchor, and
// its root is written when its outcome is known, by whichever process sees that.
import { Clock, Context, Effect, Option, type Tracer } from "effect"
import type { AttributeName, RootName, SpanName, WaitName } from "./TraceTable.ts"

/** The ids of a trace's root, as W3C has them in a `traceparent`. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

export type Attributes = Partial<Readonly<Record<AttributeName, string | number | boolean>>>

/** Why something has failed: a reason, and words without a secret. */
export interface Failure {
  readonly reason: string
  readonly message: string
}

/** From and to: milliseconds since the epoch. */
export interface Past {
  readonly from: number
  readonly to: number
  readonly attributes?: Attributes
}

export interface OpenTrace {
  readonly parent: TraceParent
  /** What is run with this as its parent span belongs to the trace. */
  readonly anchor: Tracer.ExternalSpan
  /** From now on with or without the spans that the table calls detail. */
  readonly beBrief: (brief: boolean) => void
  /** A wait that is over. */
  readonly waited: (name: WaitName, past: Past) => void
  /** The root. Nothing may follow it that is not in the trace already, or under way. */
  readonly end: (
    name: RootName,
    past: Past & { readonly failure?: Failure; readonly links: ReadonlyArray<TraceParent> },
  ) => void
}

/** A span that another process has made, fit to be shown: without secrets, its parent one of those beside it or none. */
export interface ForeignSpan {
  readonly name: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** Nanoseconds since the epoch. */
  readonly from: bigint
  readonly to: bigint
  readonly client: boolean
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly failure: string | undefined
}

export interface TracingService {
  /** Ids of a new trace; the sampler has been asked. */
  readonly newTrace: () => TraceParent
  readonly open: (parent: TraceParent) => OpenTrace
  /** A span below another one that is over already. */
  readonly past: (under: Tracer.AnySpan, name: SpanName, past: Past & { readonly failure?: Failure }) => void
  /** Writes spans of another process below one of ours. */
  readonly relay: (under: Tracer.AnySpan, spans: ReadonlyArray<ForeignSpan>) => void
  /** The pass that this span belongs to is worth telling. */
  readonly keepPass: (span: Tracer.AnySpan) => void
}

/** `None`: nothing is traced, and nothing costs anything. */
export const Tracing: Context.Reference<Option.Option<TracingService>> = Context.Reference(
  "platform-operator/Tracing",
  { defaultValue: Option.none<TracingService> },
)

/** The pass that runs is worth telling, whatever else it does. */
export const keepPass: Effect.Effect<void> = Effect.gen(function* () {
  const tracing = yield* Tracing
  const span = yield* Effect.option(Effect.currentSpan)
  if (Option.isSome(tracing) && Option.isSome(span)) tracing.value.keepPass(span.value)
})

/** What has run since then, below the span that is open. */
export const pastSpan = Effect.fnUntraced(function* (name: SpanName, from: number, failure?: Failure) {
  const tracing = yield* Tracing
  const span = yield* Effect.option(Effect.currentSpan)
  if (Option.isNone(tracing) || Option.isNone(span)) return
  const to = yield* Clock.currentTimeMillis
  tracing.value.past(span.value, name, { from, to, ...(failure === undefined ? {} : { failure }) })
})

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

export const formatTraceParent = ({ traceId, spanId, sampled }: TraceParent): string =>
  `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`

export const parseTraceParent = (text: string): Option.Option<TraceParent> => {
  const [, traceId, spanId, flags] = form.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return Option.none()
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return Option.none()
  return Option.some({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}

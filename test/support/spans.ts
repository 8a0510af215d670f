// Spans as they would be exported, kept in memory.
import { tracing } from "@opentelemetry/sdk-node"
import { Effect, Option } from "effect"
import { makeTracing, TraceIds } from "../../src/services/Telemetry/makeTracing.ts"
import { makeTracer } from "../../src/services/Telemetry/TracedSpans.ts"
import { Tracing } from "../../src/services/Telemetry/Tracing.ts"
import { Prng } from "../twins/simulation/Prng.ts"

export interface SeenSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** 2: an error. */
  readonly code: number
  readonly message: string
  readonly links: ReadonlyArray<string>
}

const millis = ([seconds, nanos]: readonly [number, number]): number => seconds * 1000 + nanos / 1e6

export interface SpanOptions {
  readonly redact?: (text: string) => string
  readonly sampler?: tracing.Sampler
  /** Whether spans are kept to be looked at. Default: true. */
  readonly keep?: boolean
}

/** Of ids whose seed nobody has given. */
const anySeed = 0
/** None of those that the kernel and the services of a simulation draw from. */
const stream = 3

/** So many bytes in hexadecimal; 32 bits that are zero become one that is not, so that no id is all zeroes. */
const bytesFrom = (prng: Prng, count: number): string =>
  Array.from({ length: count / 4 }, () => (prng.next() || 1).toString(16).padStart(8, "0")).join("")

/** One collector, over as many processes as run in what is traced. Its ids are drawn from a seed: the world's, in one. */
export const makeSpans = ({ redact = (text) => text, sampler, keep = true }: SpanOptions = {}) => {
  const all: Array<SeenSpan> = []
  const processor: tracing.SpanProcessor = {
    onStart: () => undefined,
    onEnd: (span) => {
      if (!keep) return
      const { spanId, traceId } = span.spanContext()
      all.push({
        name: span.name,
        traceId,
        spanId,
        parentSpanId: span.parentSpanContext?.spanId,
        from: millis(span.startTime),
        to: millis(span.endTime),
        attributes: span.attributes,
        code: span.status.code,
        message: span.status.message ?? "",
        links: span.links.map(({ context }) => context.traceId),
      })
    },
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  }
  let prng = new Prng(anySeed, stream)
  const ids = new TraceIds((count) => bytesFrom(prng, count))
  const provider = new tracing.BasicTracerProvider({
    idGenerator: ids,
    spanProcessors: [processor],
    ...(sampler === undefined ? {} : { sampler }),
  })
  const otel = provider.getTracer("test")
  const tracer = makeTracer(otel, redact)
  const service = makeTracing(otel, ids, redact)
  const named = (name: string) => all.filter((span) => span.name === name)
  return {
    all,
    tracer,
    service,
    /** From now on the ids are those of this seed. */
    seed: (seed: number) => {
      prng = new Prng(seed, stream)
    },
    named,
    roots: () => all.filter(({ parentSpanId }) => parentSpanId === undefined),
    inTrace: (traceId: string) => all.filter((span) => span.traceId === traceId),
    /** Spans whose parent is not there. */
    orphans: () =>
      all.filter(
        ({ traceId, parentSpanId }) =>
          parentSpanId !== undefined &&
          !all.some((span) => span.traceId === traceId && span.spanId === parentSpanId),
      ),
    traced: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      effect.pipe(Effect.withTracer(tracer), Effect.provideService(Tracing, Option.some(service))),
  }
}
export type Spans = ReturnType<typeof makeSpans>

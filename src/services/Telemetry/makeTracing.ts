// `Tracing` over a provider of OpenTelemetry.
import { randomFillSync } from "node:crypto"
import * as Otel from "@opentelemetry/api"
import { Context, Tracer } from "effect"
import {
  fail,
  hrTime,
  InTrace,
  keepPassOf,
  otelContext,
  placeOf,
  type Redact,
  TraceState,
} from "./TracedSpans.ts"
import { rowOf } from "./TraceTable.ts"
import type { Attributes, TracingService } from "./Tracing.ts"

const bytes = { trace: 16, span: 8 }

/** Drawn many at a time: one by one they cost more than the rest of a span. */
const pool = Buffer.alloc(4096)
let used = pool.length
const random = (count: number): string => {
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  const id = pool.toString("hex", used - count, used)
  // All zeroes is no id.
  return /^0+$/.test(id) ? random(count) : id
}

/** Draws ids, but for a span whose ids are given: a root is written long after its ids were told. */
export class TraceIds {
  #traceId: string | undefined
  #spanId: string | undefined
  readonly #draw: (count: number) => string
  /** `draw`: gives so many bytes of chance in hexadecimal, not all of them zero. Default: from the system. */
  constructor(draw: (count: number) => string = random) {
    this.#draw = draw
  }
  generateTraceId = (): string => this.#traceId ?? this.#draw(bytes.trace)
  generateSpanId = (): string => this.#spanId ?? this.#draw(bytes.span)
  with<A>(ids: { readonly traceId?: string; readonly spanId: string }, run: () => A): A {
    this.#traceId = ids.traceId
    this.#spanId = ids.spanId
    try {
      return run()
    } finally {
      this.#traceId = undefined
      this.#spanId = undefined
    }
  }
}

const nanos = (millis: number): bigint => BigInt(Math.round(millis)) * 1_000_000n
const own = (attributes: Attributes | undefined, redact: Redact): Otel.Attributes =>
  Object.fromEntries(
    Object.entries(attributes ?? {}).map(([name, value]) => [
      name,
      typeof value === "string" ? redact(value) : value,
    ]),
  )

/** `ids` is the generator of the provider that `otel` belongs to. */
export const makeTracing = (otel: Otel.Tracer, ids: TraceIds, redact: Redact): TracingService => ({
  newTrace: () => {
    // Asks the sampler; this span is never written.
    const { traceId, spanId, traceFlags } = otel
      .startSpan("Instance.change", { root: true }, Otel.ROOT_CONTEXT)
      .spanContext()
    return { traceId, spanId, sampled: (traceFlags & Otel.TraceFlags.SAMPLED) !== 0 }
  },
  open: (parent) => {
    const state = new TraceState()
    const anchor = Tracer.externalSpan({ ...parent, annotations: Context.make(InTrace, state) })
    const under = Otel.trace.setSpanContext(Otel.ROOT_CONTEXT, otelContext(parent))
    return {
      parent,
      anchor,
      beBrief: (brief) => {
        state.brief = brief
      },
      waited: (name, { from, to, attributes }) => {
        if (!parent.sampled || !state.take()) return
        otel
          .startSpan(name, { startTime: hrTime(nanos(from)), attributes: own(attributes, redact) }, under)
          .end(hrTime(nanos(to)))
      },
      end: (name, { from, to, attributes, failure, links }) => {
        if (!parent.sampled) return
        const span = ids.with(parent, () =>
          otel.startSpan(
            name,
            {
              root: true,
              startTime: hrTime(nanos(from)),
              attributes: own(
                { ...attributes, ...(state.dropped > 0 && { "platforminstance.dropped": state.dropped }) },
                redact,
              ),
              links: links.map((link) => ({ context: otelContext(link) })),
            },
            Otel.ROOT_CONTEXT,
          ),
        )
        if (failure !== undefined) fail(span, failure, redact)
        span.end(hrTime(nanos(to)))
      },
    }
  },
  past: (span, name, { from, to, attributes, failure }) => {
    const place = placeOf(span)
    if (place === undefined || !span.sampled) return
    if ((rowOf(name)?.detail === true && place.state.brief) || !place.state.take()) return
    const past = otel.startSpan(
      name,
      { startTime: hrTime(nanos(from)), attributes: own(attributes, redact) },
      Otel.trace.setSpanContext(Otel.ROOT_CONTEXT, otelContext({ ...place, sampled: true })),
    )
    if (failure !== undefined) fail(past, failure, redact)
    past.end(hrTime(nanos(to)))
  },
  relay: (span, foreign) => {
    const place = placeOf(span)
    if (place === undefined || !span.sampled) return
    for (const { name, spanId, parentSpanId, from, to, client, attributes, failure } of foreign) {
      if (!place.state.take()) continue
      const parent = { traceId: place.traceId, spanId: parentSpanId ?? place.spanId, sampled: true }
      const relayed = ids.with({ spanId }, () =>
        otel.startSpan(
          name,
          {
            startTime: hrTime(from),
            kind: client ? Otel.SpanKind.CLIENT : Otel.SpanKind.INTERNAL,
            attributes: { ...attributes, "platforminstance.engine": true },
          },
          Otel.trace.setSpanContext(Otel.ROOT_CONTEXT, otelContext(parent)),
        ),
      )
      if (failure !== undefined) fail(relayed, { reason: "EngineError", message: failure }, redact)
      relayed.end(hrTime(to))
    }
  },
  keepPass: keepPassOf,
})

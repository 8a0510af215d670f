// Effect's spans on an OpenTelemetry tracer. Exported is what the table names, and only inside a trace that somebody has
// opened; any other span is transparent: what is below it hangs on what is above it.
import * as Otel from "@opentelemetry/api"
import { Cause, Context, Exit, Option, Tracer } from "effect"
import { isAttribute, rowOf, type SpanRow } from "./TraceTable.ts"
import type { Failure } from "./Tracing.ts"

/** At most so many spans in a trace, of each process that writes to it; its root is one of them. */
export const mostSpans = 2_000
/** So many spans of a pass are held back until it is known whether it is worth telling: then further detail is left out. */
const mostHeld = 200
/** Characters. */
const longest = 1_024

export type Redact = (text: string) => string

/** What this process has written of a trace. */
export class TraceState {
  /** Its root is kept a place. */
  spans = 1
  dropped = 0
  brief = false
  take(): boolean {
    if (this.spans < mostSpans) {
      this.spans += 1
      return true
    }
    this.dropped += 1
    return false
  }
}

/** On the anchor of a trace. */
export class InTrace extends Context.Service<InTrace, TraceState>()("platform-operator/InTrace") {}

/** A pass until it is known whether it is told. */
class Held {
  kept = false
  readonly pending: Array<{ readonly detail: boolean; readonly write: () => void }> = []
  readonly state: TraceState
  #held = 0
  #left = 0
  constructor(state: TraceState) {
    this.state = state
  }
  /** Asked when a span begins: one that is left out at its end would take the parent from what is below it. */
  take(detail: boolean): boolean {
    if (this.kept) return this.state.take()
    if (detail && this.#held >= mostHeld) {
      this.#left += 1
      return false
    }
    if (!this.state.take()) return false
    this.#held += 1
    return true
  }
  keep(): void {
    if (this.kept) return
    this.kept = true
    this.state.dropped += this.#left
    for (const { detail, write } of this.pending.splice(0)) {
      if (detail && this.state.brief) this.state.spans -= 1
      else write()
    }
  }
  end(detail: boolean, write: () => void): void {
    if (this.kept) write()
    else this.pending.push({ detail, write })
  }
}

export const hrTime = (nanos: bigint): Otel.HrTime => [
  Number(nanos / 1_000_000_000n),
  Number(nanos % 1_000_000_000n),
]

export const otelContext = (span: {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}): Otel.SpanContext => ({
  traceId: span.traceId,
  spanId: span.spanId,
  traceFlags: span.sampled ? Otel.TraceFlags.SAMPLED : Otel.TraceFlags.NONE,
})

const shown = (value: unknown, redact: Redact): Otel.AttributeValue => {
  if (typeof value === "number" || typeof value === "boolean") return value
  return redact(typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, longest)
}

const named = (error: unknown): Failure => {
  if (typeof error !== "object" || error === null) return { reason: "Error", message: String(error) }
  const reason = "reason" in error && typeof error.reason === "string" ? error.reason : undefined
  const tag = "_tag" in error && typeof error._tag === "string" ? error._tag : "Error"
  const message = "message" in error && typeof error.message === "string" ? error.message : ""
  return { reason: reason ?? tag, message }
}

/** A defect's words are for the log alone. */
const failureOf = (cause: Cause.Cause<unknown>): Failure | undefined => {
  const failed = cause.reasons.find(Cause.isFailReason)
  if (failed !== undefined) return named(failed.error)
  return cause.reasons.some(Cause.isDieReason)
    ? { reason: "Defect", message: "internal error; the operator's log has the details" }
    : undefined
}

export const fail = (span: Otel.Span, { reason, message }: Failure, redact: Redact): void => {
  span.setAttribute("error.type", reason)
  span.setStatus({ code: Otel.SpanStatusCode.ERROR, message: redact(message).slice(0, longest) })
}

type Options = Parameters<Tracer.Tracer["span"]>[0]

interface Place {
  readonly state: TraceState
  readonly held: Held | undefined
  readonly traceId: string
  readonly spanId: string
  /** What is transparent here: one for all of them, because most spans are. */
  readonly transparent: { shown?: Transparent; hidden?: Transparent }
}

/** Stands for any number of spans that are not exported, and knows nothing of any of them. */
abstract class Unexported implements Tracer.Span {
  readonly _tag = "Span"
  readonly name = ""
  readonly parent = Option.none<Tracer.AnySpan>()
  readonly annotations = Context.empty()
  readonly status: Tracer.SpanStatus = { _tag: "Started", startTime: 0n }
  readonly attributes: ReadonlyMap<string, unknown> = new Map()
  readonly links: ReadonlyArray<Tracer.SpanLink> = []
  readonly kind = "internal"
  abstract readonly spanId: string
  abstract readonly traceId: string
  abstract readonly sampled: boolean
  end(): void {}
  attribute(): void {}
  event(): void {}
  addLinks(): void {}
}

/** In no trace. */
class Outside extends Unexported {
  readonly spanId = "0".repeat(16)
  readonly traceId = "0".repeat(32)
  readonly sampled = false
}
const outside = new Outside()

/** What is below it hangs on what is above it. */
class Transparent extends Unexported {
  readonly spanId: string
  readonly traceId: string
  readonly place: Place
  readonly sampled: boolean
  constructor(place: Place, sampled: boolean) {
    super()
    this.place = place
    this.sampled = sampled
    this.spanId = place.spanId
    this.traceId = place.traceId
  }
}

/** `hidden`: the request that it is carries no `traceparent`. */
const transparentAt = (place: Place, hidden: boolean): Transparent => {
  const key = hidden ? "hidden" : "shown"
  const known = place.transparent[key]
  if (known !== undefined) return known
  const made = new Transparent(place, !hidden)
  place.transparent[key] = made
  return made
}

class Exported implements Tracer.Span {
  readonly _tag = "Span"
  readonly name: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly annotations: Context.Context<never>
  readonly links: Array<Tracer.SpanLink>
  readonly kind: Tracer.SpanKind
  readonly spanId: string
  readonly traceId: string
  readonly sampled = true
  readonly attributes = new Map<string, unknown>()
  readonly place: Place
  status: Tracer.SpanStatus
  readonly #span: Otel.Span
  readonly #row: SpanRow
  readonly #redact: Redact
  constructor(options: Options, above: Place, row: SpanRow, span: Otel.Span, redact: Redact) {
    this.name = options.name
    this.parent = options.parent
    this.annotations = options.annotations
    this.links = options.links
    this.kind = options.kind
    this.status = { _tag: "Started", startTime: options.startTime }
    this.#span = span
    this.#row = row
    this.#redact = redact
    const { spanId, traceId } = span.spanContext()
    this.spanId = spanId
    this.traceId = traceId
    const held = row.pass === true ? new Held(above.state) : above.held
    this.place = { state: above.state, held, traceId, spanId, transparent: {} }
  }
  attribute(key: string, value: unknown): void {
    if (!isAttribute(key) || this.status._tag === "Ended") return
    this.attributes.set(key, value)
    this.#span.setAttribute(key, shown(value, this.#redact))
  }
  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Ended") return
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
    const { held, state } = this.place
    if (Exit.isFailure(exit)) {
      const failure = failureOf(exit.cause)
      if (failure === undefined) this.#span.setAttribute("platforminstance.interrupted", true)
      else {
        fail(this.#span, failure, this.#redact)
        held?.keep()
      }
    }
    const write = () => this.#span.end(hrTime(endTime))
    if (this.#row.changes === true) held?.keep()
    if (held === undefined || (this.#row.pass === true && held.kept)) write()
    else if (this.#row.pass !== true) held.end(this.#row.detail === true, write)
    else {
      state.spans -= 1 + held.pending.length
      held.pending.length = 0
    }
  }
  /** What is logged is in the log, with the ids of its span. */
  event(): void {}
  addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    this.links.push(...links)
  }
}

/** Where in which trace a span is; `undefined` for one that is in none. */
export const placeOf = (span: Tracer.AnySpan): Place | undefined => {
  if (span instanceof Exported || span instanceof Transparent) return span.place
  const state = Context.getOrUndefined(span.annotations, InTrace)
  return state === undefined
    ? undefined
    : { state, held: undefined, traceId: span.traceId, spanId: span.spanId, transparent: {} }
}

export const keepPassOf = (span: Tracer.AnySpan): void => placeOf(span)?.held?.keep()

export const makeTracer = (otel: Otel.Tracer, redact: Redact): Tracer.Tracer => {
  const below = (options: Options, place: Place, row: SpanRow): Tracer.Span => {
    const span = otel.startSpan(
      options.name,
      {
        startTime: hrTime(options.startTime),
        kind: row.client === true ? Otel.SpanKind.CLIENT : Otel.SpanKind.INTERNAL,
        links: options.links.map((link) => ({ context: otelContext(link.span) })),
      },
      Otel.trace.setSpanContext(Otel.ROOT_CONTEXT, otelContext({ ...place, sampled: true })),
    )
    return new Exported(options, place, row, span, redact)
  }
  return Tracer.make({
    span: (options) => {
      const parent = Option.getOrUndefined(options.parent)
      const place = parent === undefined ? undefined : placeOf(parent)
      if (place === undefined || parent?.sampled === false) return outside
      const row = rowOf(options.name)
      if (row === undefined || row.root === true) return transparentAt(place, false)
      const detail = row.detail === true
      const taken = () => place.held?.take(detail) ?? place.state.take()
      const left = (detail && place.state.brief) || !taken()
      return left ? transparentAt(place, row.client === true) : below(options, place, row)
    },
  })
}

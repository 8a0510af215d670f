// One run of helm against one API server: each request takes its time, so that anything can happen between two.
import { Clock, Data, Effect, Random } from "effect"
import { type ApiClient, ApiStatus } from "../kubernetes/ApiServer.ts"
import { HelmFailure } from "./Chart.ts"

/** What ends a run: the words after `Error: `. */
export class HelmError extends Data.TaggedError("HelmError")<{
  readonly message: string
  /** Of the API server's answer that caused it; 0 when it was not reached. */
  readonly code?: number
  readonly reason?: string
}> {}

export interface Session {
  /** Requests of this run. Every call throws `ApiStatus`. */
  readonly api: ApiClient
  readonly namespace: string
  /** Helm 4, or the library of Helm 3 that other programs have inside them. */
  readonly major: 3 | 4
  /** A line of its log, on standard error. */
  readonly log: (level: "WARN" | "ERROR", message: string, fields: Readonly<Record<string, string>>) => void
}

const word = (text: string): string => (/^[^\s="]+$/.test(text) ? text : JSON.stringify(text))

/** A line as Go's slog writes it. */
export const logLine = (level: string, message: string, fields: Readonly<Record<string, string>>): string =>
  `${[
    `level=${level}`,
    `msg=${word(message)}`,
    ...Object.entries(fields).map(([key, value]) => `${key}=${word(value)}`),
  ].join(" ")}\n`

/** How long one request takes, in milliseconds: loopback to a server that is not busy. */
const latency = { least: 4, most: 20 }

/** Thrown by a client whose request gets no answer: packets are lost, or the server hangs. */
export class Unanswered extends Error {
  override readonly name = "Unanswered"
}

/** When Go's HTTP/2 gives up on a connection that says nothing: a ping after 30 s, 15 s for its answer. */
const silence = "45 seconds"

const failure = (cause: unknown): HelmError => {
  if (cause instanceof ApiStatus) {
    return new HelmError({ message: cause.message, code: cause.code, reason: cause.reason })
  }
  if (cause instanceof HelmFailure) return new HelmError({ message: cause.message })
  throw cause
}

/** One request. It has its effect at the server in the middle of its time. */
export const request = <A>(call: () => A): Effect.Effect<A, HelmError> =>
  Effect.gen(function* () {
    const half = Random.nextIntBetween(latency.least, latency.most).pipe(
      Effect.flatMap((millis) => Effect.sleep(millis / 2)),
    )
    yield* half
    const answer = yield* Effect.try({
      try: (): A | Unanswered => {
        try {
          return call()
        } catch (cause) {
          if (cause instanceof Unanswered) return cause
          throw cause
        }
      },
      catch: failure,
    })
    if (answer instanceof Unanswered) {
      yield* Effect.sleep(silence)
      return yield* new HelmError({ message: "http2: client connection lost", code: 0, reason: "Transport" })
    }
    yield* half
    return answer
  })

/** Work of its own, no request: rendering, parsing. */
export const compute = <A>(call: () => A): Effect.Effect<A, HelmError> =>
  Effect.try({ try: call, catch: failure })

export const wrap = (prefix: string) => (error: HelmError) =>
  new HelmError({ ...error, message: `${prefix}: ${error.message}` })

/** As Go writes a time: RFC 3339 with the digits that are needed. */
export const timestamp = Effect.map(Clock.currentTimeMillis, (millis) =>
  new Date(millis).toISOString().replace(/\.?0*Z$/, "Z"),
)

export const unixSeconds = Effect.map(Clock.currentTimeMillis, (millis) => String(Math.floor(millis / 1000)))

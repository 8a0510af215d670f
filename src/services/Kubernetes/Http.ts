// HTTP to one API server: one pool of connections, credentials, spans, typed failures. Everything that waits here
// is bounded by the caller's clock, so the pool's own timers are off.
import type * as Undici from "@effect/platform-node/Undici"
import { Duration, Effect, Option, Schema, type Scope, Stream } from "effect"
import { HttpTraceContext } from "effect/http"
import { type ApiFailure, refused, transportFailure, unreadable } from "./ApiFailure.ts"
import type { CredentialSource, Credentials } from "./Credentials.ts"
import { makeDispatcher } from "./Dispatcher.ts"
import { StatusSchema } from "./Objects.ts"
import { describeRequest } from "./Paths.ts"
import { counted } from "./RequestCounts.ts"

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** Path and query, below the server's URL. */
  readonly path: string
  /** Default `application/json`. */
  readonly accept?: string
  /** Default `application/json`. */
  readonly contentType?: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Whether answers may quote a Secret (see `ApiFailure.refused`). */
  readonly secret?: boolean
}

export interface Http {
  /** The parsed answer. */
  readonly json: (request: HttpRequest) => Effect.Effect<unknown, ApiFailure>
  /** The answer as it came. */
  readonly text: (request: HttpRequest) => Effect.Effect<string, ApiFailure>
  /** The answer as it comes in, for as long as the scope is open. Has no timeout of its own. */
  readonly bytes: (
    request: HttpRequest,
  ) => Effect.Effect<Stream.Stream<Uint8Array, ApiFailure>, ApiFailure, Scope.Scope>
}

type Answer = Undici.Dispatcher.ResponseData

const decodeStatusText = Schema.decodeUnknownOption(Schema.fromJsonString(StatusSchema))

/** Longest text kept of an answer that is no `Status`: the failing checks of `/readyz`, for one. In characters. */
const MAX_TEXT = 512

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return "no answer"
  // A refused connection to a name with several addresses is an AggregateError without a message.
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : ""
  return cause.message || code || cause.name
}

const retryAfterOf = (answer: Answer): Option.Option<Duration.Duration> => {
  const seconds = Number(answer.headers["retry-after"])
  return Number.isFinite(seconds) && seconds >= 0 ? Option.some(Duration.seconds(seconds)) : Option.none()
}

const readText = (request: string, answer: Answer): Effect.Effect<string, ApiFailure> =>
  Effect.tryPromise({
    try: () => answer.body.text(),
    catch: (cause) => transportFailure(request, reasonOf(cause)),
  })

/** The failure that an answer of 300 and more is. `plain`: it is a text, not an object. */
export const refusalOf = (
  request: HttpRequest,
  answer: {
    readonly code: number
    readonly text: string
    readonly plain: boolean
    readonly retryAfter: Option.Option<Duration.Duration>
  },
): ApiFailure =>
  refused({
    request: describeRequest(request.method, request.path),
    code: answer.code,
    status: Option.getOrElse(decodeStatusText(answer.text), () =>
      answer.plain && request.secret !== true ? { message: answer.text.trim().slice(0, MAX_TEXT) } : {},
    ),
    retryAfter: answer.retryAfter,
    secret: request.secret === true,
  })

const refusal = Effect.fnUntraced(function* (request: HttpRequest, answer: Answer) {
  const text = yield* readText(describeRequest(request.method, request.path), answer)
  const plain = String(answer.headers["content-type"] ?? "").startsWith("text/plain")
  return refusalOf(request, { code: answer.statusCode, text, plain, retryAfter: retryAfterOf(answer) })
})

const send = (
  dispatcher: Undici.Dispatcher,
  credentials: Credentials,
  request: HttpRequest,
  traceparent: string | undefined,
  signal: AbortSignal,
): Promise<Answer> =>
  dispatcher.request({
    origin: credentials.server.origin,
    path: `${credentials.server.pathname.replace(/\/$/, "")}${request.path}`,
    method: request.method,
    headers: {
      "user-agent": "platform-operator",
      accept: request.accept ?? "application/json",
      ...(request.body !== undefined && { "content-type": request.contentType ?? "application/json" }),
      ...(traceparent !== undefined && { traceparent }),
      ...credentials.headers,
    },
    body: request.body === undefined ? null : JSON.stringify(request.body),
    signal,
  })

const currentTraceparent = Effect.map(Effect.option(Effect.currentSpan), (span) =>
  Option.getOrUndefined(
    // One that is in no trace has nothing to tell.
    Option.map(
      Option.filter(span, ({ sampled }) => sampled),
      (it) => HttpTraceContext.toHeaders(it).traceparent,
    ),
  ),
)

/**
 * Waits as long as a server asks that is busy, and asks again: a 429 with `Retry-After` says that nothing was done.
 * The request's timeout bounds it.
 */
const whenBusy = <A, R>(self: Effect.Effect<A, ApiFailure, R>): Effect.Effect<A, ApiFailure, R> =>
  Effect.catchIf(
    self,
    (failure) => failure.error.code === 429 && Option.isSome(failure.retryAfter),
    (failure) =>
      Effect.andThen(Effect.sleep(Option.getOrElse(failure.retryAfter, () => Duration.zero)), whenBusy(self)),
  )

/** An answer of less than 300, still to be read. */
export interface Opened {
  /** Of less than 300. */
  readonly code: number
  readonly text: Effect.Effect<string, ApiFailure>
  readonly bytes: Stream.Stream<Uint8Array, ApiFailure>
}

/** How a request gets to the server: once, as it is. */
export interface Exchange {
  /** Which server it is, for counts. */
  readonly host: () => string
  readonly attempt: (request: HttpRequest) => Effect.Effect<Opened, ApiFailure, Scope.Scope>
  /** Reads the credentials again. */
  readonly renew: Effect.Effect<void, ApiFailure>
}

/** HTTP over an exchange: with a second try for a rotated token, patience with a busy server, and a timeout. */
export const httpOver = (
  { attempt: once, renew, host }: Exchange,
  options: { readonly timeout: Duration.Duration },
): Http => {
  const attempt = (request: HttpRequest) => once(request).pipe(counted(request.method, host))
  /** A token may have been rotated a moment ago: a 401 is believed the second time. */
  const open = (request: HttpRequest): Effect.Effect<Opened, ApiFailure, Scope.Scope> =>
    Effect.catchIf(
      attempt(request),
      (failure) => failure.error.code === 401,
      () => Effect.andThen(renew, attempt(request)),
    )

  const text = (request: HttpRequest) =>
    open(request).pipe(
      Effect.flatMap((answer) => answer.text),
      Effect.scoped,
      whenBusy,
      Effect.timeoutOrElse({
        duration: options.timeout,
        orElse: () =>
          Effect.fail(
            transportFailure(
              describeRequest(request.method, request.path),
              `no answer within ${Duration.format(options.timeout)}`,
            ),
          ),
      }),
    )

  return {
    text,
    json: (request) =>
      Effect.flatMap(text(request), (body) =>
        Effect.try({
          try: (): unknown => JSON.parse(body),
          catch: () => unreadable(describeRequest(request.method, request.path), 200),
        }),
      ),
    bytes: (request) => Effect.map(open(request), (answer) => answer.bytes),
  }
}

/** HTTP to the server that the credentials name. Connections close with the scope; `timeout` bounds `json` and `text`. */
export const makeHttp = Effect.fnUntraced(function* (
  source: CredentialSource,
  options: { readonly timeout: Duration.Duration; readonly host?: string },
) {
  const dispatcherFor = yield* makeDispatcher
  let host = options.host ?? ""

  const attempt = Effect.fnUntraced(function* (request: HttpRequest) {
    const described = describeRequest(request.method, request.path)
    const credentials = yield* source.current
    host = options.host ?? credentials.server.host
    const dispatcher = yield* dispatcherFor(credentials)
    const traceparent = yield* currentTraceparent
    const signal = yield* Effect.abortSignal
    yield* Effect.annotateCurrentSpan({
      "http.request.method": request.method,
      "server.address": credentials.server.host,
    })
    const answer = yield* Effect.tryPromise({
      try: () => send(dispatcher, credentials, request, traceparent, signal),
      catch: (cause) => transportFailure(described, reasonOf(cause)),
    })
    yield* Effect.annotateCurrentSpan("http.response.status_code", answer.statusCode)
    if (answer.statusCode >= 300) return yield* Effect.flatMap(refusal(request, answer), Effect.fail)
    return {
      code: answer.statusCode,
      text: readText(described, answer),
      bytes: Stream.fromAsyncIterable<Uint8Array, ApiFailure>(answer.body, (cause) =>
        transportFailure(described, reasonOf(cause)),
      ),
    } satisfies Opened
  })

  return httpOver({ attempt, renew: source.renew, host: () => host }, options)
})

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

const refusal = Effect.fnUntraced(function* (request: HttpRequest, answer: Answer) {
  const described = describeRequest(request.method, request.path)
  const text = yield* readText(described, answer)
  const plain = String(answer.headers["content-type"] ?? "").startsWith("text/plain")
  return refused({
    request: described,
    code: answer.statusCode,
    status: Option.getOrElse(decodeStatusText(text), () =>
      plain && request.secret !== true ? { message: text.trim().slice(0, MAX_TEXT) } : {},
    ),
    retryAfter: retryAfterOf(answer),
    secret: request.secret === true,
  })
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
  Option.getOrUndefined(Option.map(span, (it) => HttpTraceContext.toHeaders(it).traceparent)),
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

/** HTTP to the server that the credentials name. Connections close with the scope; `timeout` bounds `json` and `text`. */
export const makeHttp = Effect.fnUntraced(function* (
  source: CredentialSource,
  options: { readonly timeout: Duration.Duration },
) {
  const dispatcherFor = yield* makeDispatcher

  const attempt = Effect.fnUntraced(function* (request: HttpRequest) {
    const credentials = yield* source.current
    const dispatcher = yield* dispatcherFor(credentials)
    const traceparent = yield* currentTraceparent
    const signal = yield* Effect.abortSignal
    yield* Effect.annotateCurrentSpan({
      "http.request.method": request.method,
      "server.address": credentials.server.host,
    })
    const answer = yield* Effect.tryPromise({
      try: () => send(dispatcher, credentials, request, traceparent, signal),
      catch: (cause) => transportFailure(describeRequest(request.method, request.path), reasonOf(cause)),
    })
    yield* Effect.annotateCurrentSpan("http.response.status_code", answer.statusCode)
    return answer.statusCode < 300 ? answer : yield* Effect.flatMap(refusal(request, answer), Effect.fail)
  })

  /** A token may have been rotated a moment ago: a 401 is believed the second time. */
  const open = (request: HttpRequest): Effect.Effect<Answer, ApiFailure, Scope.Scope> =>
    Effect.catchIf(
      attempt(request),
      (failure) => failure.error.code === 401,
      () => Effect.andThen(source.renew, attempt(request)),
    )

  const text = (request: HttpRequest) => {
    const described = describeRequest(request.method, request.path)
    return open(request).pipe(
      Effect.flatMap((answer) => readText(described, answer)),
      Effect.scoped,
      whenBusy,
      Effect.timeoutOrElse({
        duration: options.timeout,
        orElse: () =>
          Effect.fail(transportFailure(described, `no answer within ${Duration.format(options.timeout)}`)),
      }),
    )
  }

  return {
    text,
    json: (request) =>
      Effect.flatMap(text(request), (body) =>
        Effect.try({
          try: (): unknown => JSON.parse(body),
          catch: () => unreadable(describeRequest(request.method, request.path), 200),
        }),
      ),
    bytes: (request) =>
      Effect.map(open(request), (answer) =>
        Stream.fromAsyncIterable<Uint8Array, ApiFailure>(answer.body, (cause) =>
          transportFailure(describeRequest(request.method, request.path), reasonOf(cause)),
        ),
      ),
  } satisfies Http
})

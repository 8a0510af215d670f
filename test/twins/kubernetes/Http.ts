// The live `Http` over an API server in memory: what lies between is a network that can fail. A request that nothing
// can meet is answered without JSON text.
import { Cause, Duration, Effect, Option, Queue, Random, type Scope, Stream } from "effect"
import { type ApiFailure, transportFailure } from "../../../src/services/Kubernetes/ApiFailure.ts"
import {
  type Http,
  type HttpRequest,
  httpOver,
  type Opened,
  refusalOf,
} from "../../../src/services/Kubernetes/Http.ts"
import { describeRequest } from "../../../src/services/Kubernetes/Paths.ts"
import { countRequest } from "../../../src/services/Kubernetes/RequestCounts.ts"
import type { ApiAnswer, ApiRequest, ApiServer, ApiStatus, OpenWatch, WatchLine } from "./ApiServer.ts"
import type { Code, Faults, Trouble } from "./Faults.ts"
import * as Status from "./Status.ts"

export interface HttpOptions {
  readonly user: string
  readonly groups?: ReadonlyArray<string>
  /** What can go wrong on the way. Default: the server's own faults. */
  readonly faults?: Faults
  /** Of `json` and `text`. Default 30 seconds, as the host cluster's. */
  readonly timeout?: Duration.Duration
  /** Why the server cannot be reached now: asked before each request (see Network.ts). */
  readonly obstacle?: () => Obstacle | undefined
  /** Which server it is, for counts. Default: the host's. */
  readonly host?: string
}

/** A failure at once, or silence. */
export type Obstacle = { readonly _tag: "Refused"; readonly message: string } | { readonly _tag: "Silent" }

const TIMEOUT = Duration.seconds(30)

/** Bookmarks come about every minute (1.35, measured), and one shortly before the end of a watch. */
const BOOKMARK_EVERY = Duration.seconds(60)
const BEFORE_THE_END = Duration.seconds(2)

/** As undici words them. */
export const REFUSED = "connect ECONNREFUSED"
export const RESET = "read ECONNRESET"
const CLOSED = "other side closed"

const BOOKMARK_LINE = JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "1" } } })

const half = (text: string): string => text.slice(0, Math.ceil(text.length / 2))

const textOf = (body: unknown): string => (typeof body === "string" ? body : JSON.stringify(body))

const isWatch = (request: HttpRequest): boolean =>
  request.method === "GET" && /[?&]watch=(1|true)\b/.test(request.path)

/** What the live layer makes of an answer that refuses. */
export const failureOf = (request: HttpRequest, answer: ApiAnswer): ApiFailure =>
  refusalOf(request, {
    code: answer.status,
    text: textOf(answer.body),
    plain: typeof answer.body === "string",
    retryAfter: Option.map(Option.fromUndefinedOr(answer.retryAfter), Duration.seconds),
  })

/** What a server (or a proxy before it) says that is in trouble. */
export const statusOf = (code: Code, retryAfter = 1): ApiStatus => {
  switch (code) {
    case 401:
      return Status.unauthorized()
    case 403:
      return Status.forbidden({}, "by a proxy")
    case 404:
      return Status.noSuchResource()
    case 409:
      return Status.modified({})
    case 410:
      return Status.expired("The provided continue parameter is too old")
    case 422:
      return Status.patchFailed()
    case 429:
      return Status.tooManyRequests(retryAfter)
    case 500:
      return Status.internalError("etcdserver: request timed out")
    case 503:
      return Status.unavailable()
  }
}

export const planned = (trouble: Extract<Trouble, { _tag: "Answer" }>): ApiAnswer => ({
  status: trouble.code,
  body: statusOf(trouble.code, trouble.retryAfter).body,
  ...(trouble.code === 429 && { retryAfter: trouble.retryAfter ?? 1 }),
})

const encoder = new TextEncoder()

const encode = (line: WatchLine): Uint8Array => encoder.encode(`${JSON.stringify(line)}\n`)

export const httpOf = (api: ApiServer, options: HttpOptions): Http => {
  const faults = options.faults ?? api.faults
  const { user, groups, obstacle = () => undefined } = options
  let token = faults.tokenEpoch()

  const asApi = (request: HttpRequest): ApiRequest => ({
    user,
    ...(groups !== undefined && { groups }),
    method: request.method,
    path: request.path,
    ...(request.accept !== undefined && { accept: request.accept }),
    ...(request.contentType !== undefined && { contentType: request.contentType }),
    ...(request.body !== undefined && { body: request.body }),
  })
  const broken = (request: HttpRequest, why: string): ApiFailure =>
    transportFailure(describeRequest(request.method, request.path), why)
  const isClear = () => faults.isQuiet() && token === faults.tokenEpoch() && obstacle() === undefined

  /** Waits while packets get lost, and fails when there is nobody. */
  const reach = Effect.fnUntraced(function* (request: HttpRequest) {
    const found = obstacle()
    if (found?._tag === "Silent") return yield* Effect.never
    if (found?._tag === "Refused") return yield* broken(request, found.message)
    if (faults.isHanging()) yield* untilChange(faults, () => !faults.isHanging())
    if (faults.isDown()) return yield* broken(request, REFUSED)
    if (faults.delay() > 0) yield* Effect.sleep(Duration.millis(faults.delay()))
  })

  /** What a fault does to the request, or the server's own answer. */
  const exchange = Effect.fnUntraced(function* (request: HttpRequest) {
    yield* reach(request)
    const trouble = faults.meet({ method: request.method, path: request.path, user })
    if (trouble?._tag === "Reset" && trouble.when === "before") return yield* broken(request, RESET)
    if (trouble?._tag === "Answer") return planned(trouble)
    if (token !== faults.tokenEpoch()) return planned({ _tag: "Answer", code: 401, retryAfter: undefined })
    if (trouble?._tag === "Hang") return yield* Effect.never
    const answer = api.handle(asApi(request))
    switch (trouble?._tag) {
      case "Reset":
        return yield* broken(request, RESET)
      case "Late":
        return yield* Effect.as(Effect.sleep(Duration.millis(trouble.millis)), answer)
      case "Twice":
        return api.handle(asApi(request))
      case "Half":
        return { ...answer, body: half(textOf(answer.body)) }
      default:
        return answer
    }
  })

  const openWatch = Effect.fnUntraced(function* (request: HttpRequest) {
    yield* reach(request)
    const trouble = faults.meet({ method: request.method, path: request.path, user })
    if (trouble?._tag === "Reset") return yield* broken(request, RESET)
    if (trouble?._tag === "Answer") return yield* failureOf(request, planned(trouble))
    if (trouble?._tag === "Hang") return yield* Effect.never
    if (trouble?._tag === "Late") yield* Effect.sleep(Duration.millis(trouble.millis))
    if (trouble?._tag === "Half") return Stream.make(encoder.encode(half(BOOKMARK_LINE)))
    if (token !== faults.tokenEpoch())
      return yield* failureOf(request, planned({ _tag: "Answer", code: 401, retryAfter: undefined }))
    return yield* watchBytes(
      api,
      faults,
      asApi(request),
      (answer) => failureOf(request, answer),
      () => broken(request, CLOSED),
    )
  })

  const attempt = (request: HttpRequest): Effect.Effect<Opened, ApiFailure, Scope.Scope> =>
    isWatch(request)
      ? Effect.map(openWatch(request), (bytes) => ({ code: 200, text: Effect.never, bytes }))
      : Effect.flatMap(exchange(request), (answer) =>
          answer.status >= 300
            ? Effect.fail(failureOf(request, answer))
            : Effect.succeed({
                code: answer.status,
                text: Effect.sync(() => textOf(answer.body)),
                bytes: Stream.sync(() => encoder.encode(textOf(answer.body))),
              }),
        )

  const renew = Effect.sync(() => {
    token = faults.tokenEpoch()
  })
  const host = options.host ?? "host"
  const slow = httpOver({ attempt, renew, host: () => host }, { timeout: options.timeout ?? TIMEOUT })

  const direct = <A>(request: HttpRequest, read: (body: unknown) => A, long: Effect.Effect<A, ApiFailure>) =>
    Effect.suspend((): Effect.Effect<A, ApiFailure> => {
      if (!isClear()) return long
      const answer = api.handle(asApi(request))
      return Effect.andThen(
        countRequest(request.method, host, answer.status),
        answer.status >= 300 ? Effect.fail(failureOf(request, answer)) : Effect.succeed(read(answer.body)),
      )
    })

  return {
    json: (request) => direct(request, (body) => body, slow.json(request)),
    text: (request) => direct(request, textOf, slow.text(request)),
    bytes: slow.bytes,
  }
}

const untilChange = (faults: Faults, done: () => boolean): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const stop = faults.onChange(() => {
      if (!done()) return
      stop()
      resume(Effect.void)
    })
    return Effect.sync(stop)
  })

const isOpen = (opened: ApiAnswer | OpenWatch): opened is OpenWatch => "close" in opened

/** The lines of a watch as bytes, with bookmarks and the end that was asked for, while the scope is open. */
const watchBytes = Effect.fnUntraced(function* (
  api: ApiServer,
  faults: Faults,
  request: ApiRequest,
  failure: (answer: ApiAnswer) => ApiFailure,
  cut: () => ApiFailure,
) {
  const queue = yield* Queue.unbounded<Uint8Array, ApiFailure | Cause.Done>()
  // While packets get lost nothing is heard; what was sent comes when they pass again.
  const held: Array<Uint8Array> = []
  const opened = api.watch(request, {
    onEvent: (line) => {
      if (faults.isHanging()) held.push(encode(line))
      else Queue.offerUnsafe(queue, encode(line))
    },
    onEnd: () => Queue.endUnsafe(queue),
  })
  if (!isOpen(opened)) return yield* failure(opened)
  const stop = faults.onChange(() => {
    if (faults.isDown()) Queue.failCauseUnsafe(queue, Cause.fail(cut()))
    else if (!faults.isHanging()) for (const line of held.splice(0)) Queue.offerUnsafe(queue, line)
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      stop()
      opened.close()
    }),
  )
  const seconds = Number(
    /[?&]timeoutSeconds=(\d+)/.exec(request.path)?.[1] ?? (yield* Random.nextIntBetween(1800, 3600)),
  )
  yield* Effect.forkScoped(
    Effect.gen(function* () {
      yield* keepTime(opened, Duration.seconds(seconds))
      opened.close()
      if (!faults.isHanging()) yield* Queue.end(queue)
    }),
  )
  return Stream.fromQueue(queue)
})

/** Bookmarks until a watch has lasted its time. */
const keepTime = Effect.fnUntraced(function* (watch: OpenWatch, lasts: Duration.Duration) {
  const last = Duration.subtract(lasts, BEFORE_THE_END)
  let passed = Duration.zero
  while (Duration.isLessThan(Duration.sum(passed, BOOKMARK_EVERY), last)) {
    yield* Effect.sleep(BOOKMARK_EVERY)
    passed = Duration.sum(passed, BOOKMARK_EVERY)
    watch.bookmark()
  }
  yield* Effect.sleep(Duration.subtract(last, passed))
  watch.bookmark()
  yield* Effect.sleep(BEFORE_THE_END)
})

// One watch connection, from the request to its end.
import { Clock, Duration, Effect, Option, Pull, Random, Result, type Scope, Stream } from "effect"
import { type ApiFailure, refused } from "./ApiFailure.ts"
import type { Backoff } from "./Backoff.ts"
import { resourceName } from "./Kinds.ts"
import type { KnownObjects } from "./KnownObjects.ts"
import type { ListOptions, ResourceKind, WatchEvent } from "./Kubernetes.ts"
import type { PageReader } from "./ListAll.ts"
import type { WatchRequest } from "./Requests.ts"
import { type BrokenLine, decodeLine, makeLineSplitter, type WatchLine } from "./WatchDecoder.ts"
import type { WatchReporter } from "./WatchHealth.ts"

/** What a list-watch needs of the network. */
export interface WatchTransport {
  readonly list: PageReader
  /** The bytes of the answer as they come; the connection closes with the scope. */
  readonly watch: (
    kind: ResourceKind,
    options: ListOptions,
    request: WatchRequest,
  ) => Effect.Effect<Stream.Stream<Uint8Array, ApiFailure>, ApiFailure, Scope.Scope>
}

/** The server ends a watch after a random time between these, so that watches do not end in step. In seconds. */
const SHORTEST_TIMEOUT = 300
const LONGEST_TIMEOUT = 600

/** A server that has not ended the watch so long after its time, and sent nothing either, is not there any more. */
const IDLE_MARGIN = Duration.seconds(15)

export type WatchEnd =
  /** By the server. `lively`: an event or a bookmark came. */
  | { readonly _tag: "Closed"; readonly lasted: Duration.Duration; readonly lively: boolean }
  /** No byte came for longer than the watch was to last. */
  | { readonly _tag: "Idle" }
  /** The server no longer has the history since the version (410). */
  | { readonly _tag: "Gone" }
  | { readonly _tag: "Broken"; readonly line: BrokenLine }
  /** Not opened, cut off, or ended with an error in the stream. */
  | { readonly _tag: "Refused"; readonly failure: ApiFailure }

export interface WatchOnce {
  readonly transport: WatchTransport
  readonly kind: ResourceKind
  readonly options: ListOptions
  readonly known: KnownObjects
  readonly backoff: Backoff
  readonly report: WatchReporter
  readonly emit: (event: WatchEvent) => Effect.Effect<void>
  readonly version: string
}

export interface Ended {
  readonly end: WatchEnd
  /** Up to which everything was emitted. */
  readonly version: string
}

const refusedOrGone = (failure: ApiFailure): WatchEnd =>
  failure.expired ? { _tag: "Gone" } : { _tag: "Refused", failure }

/**
 * How long nothing has been heard. One timer for a whole watch, not one for each chunk: most watches of a quiet cluster
 * hear nothing but a bookmark a minute. The time that the reader takes for what it has heard does not count.
 */
const makeSilence = (limit: Duration.Duration) => {
  let since: bigint | undefined
  return {
    begins: Effect.map(Clock.monotonicTimeNanos, (now) => {
      since = now
    }),
    ends: () => {
      since = undefined
    },
    tooLong: Effect.gen(function* () {
      let left = limit
      while (Duration.isPositive(left)) {
        yield* Effect.sleep(left)
        const now = yield* Clock.monotonicTimeNanos
        left = Duration.subtract(limit, Duration.nanos(now - (since ?? now)))
      }
    }),
  }
}

/** Watches once. Emits before it moves the version on, so that an interrupted watch is repeated, not skipped. */
export const watchOnce = (watch: WatchOnce): Effect.Effect<Ended> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { transport, kind, options } = watch
      const timeoutSeconds = yield* Random.nextIntBetween(SHORTEST_TIMEOUT, LONGEST_TIMEOUT)
      const idle = Duration.sum(Duration.seconds(timeoutSeconds), IDLE_MARGIN)
      const split = makeLineSplitter()
      let version = watch.version
      let lively = false

      const handle = Effect.fnUntraced(function* (line: WatchLine) {
        if (line._tag === "Error") {
          const { status } = line
          return refusedOrGone(
            refused({
              request: `WATCH ${resourceName(kind)}`,
              code: status.code ?? 500,
              status,
              retryAfter: Option.none(),
              secret: false,
            }),
          )
        }
        if (line._tag !== "Bookmark") {
          const { object } = line
          const events = line._tag === "Deleted" ? watch.known.remove(object) : watch.known.upsert(object)
          for (const event of events) yield* watch.emit(event)
          version = object.metadata.resourceVersion
        } else {
          version = line.version
        }
        lively = true
        return undefined
      })

      const read = Effect.fnUntraced(function* (chunk: Uint8Array) {
        const lines = split(chunk)
        if (Result.isFailure(lines)) return { _tag: "Broken", line: lines.failure } satisfies WatchEnd
        for (const bytes of lines.success) {
          const line = decodeLine(kind, bytes)
          if (Result.isFailure(line)) return { _tag: "Broken", line: line.failure } satisfies WatchEnd
          const end = yield* handle(line.success)
          if (end !== undefined) return end
        }
        yield* watch.report({ lastEventAt: yield* Clock.currentTimeMillis })
        return undefined
      })

      const follow: Effect.Effect<WatchEnd, ApiFailure, Scope.Scope> = Effect.gen(function* () {
        const bytes = yield* transport
          .watch(kind, options, { version, timeoutSeconds })
          .pipe(Effect.timeoutOption(idle))
        if (Option.isNone(bytes)) return { _tag: "Idle" }
        const opened = yield* Clock.monotonicTimeNanos
        yield* watch.backoff.succeeded
        yield* watch.report({ state: "Watching" })
        const pull = yield* Stream.toPull(bytes.value)
        const silence = makeSilence(idle)
        const next = pull.pipe(Pull.catchDone(() => Effect.succeed("closed" as const)))
        const listen: Effect.Effect<WatchEnd, ApiFailure> = Effect.gen(function* () {
          while (true) {
            yield* silence.begins
            const chunks = yield* next
            silence.ends()
            if (chunks === "closed") {
              const lasted = Duration.nanos((yield* Clock.monotonicTimeNanos) - opened)
              return { _tag: "Closed", lasted, lively }
            }
            for (const chunk of chunks) {
              const end = yield* read(chunk)
              if (end !== undefined) return end
            }
          }
        })
        return yield* Effect.raceFirst(
          listen,
          Effect.as(silence.tooLong, { _tag: "Idle" } satisfies WatchEnd),
        )
      })

      const end = yield* Effect.catch(follow, (failure) => Effect.succeed(refusedOrGone(failure)))
      return { end, version }
    }),
  )

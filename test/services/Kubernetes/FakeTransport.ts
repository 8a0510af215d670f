// The network of a list-watch, in memory and under the test clock: the test answers each request itself.
import { type Cause, Clock, Effect, Option, Queue, Random, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ApiFailure } from "../../../src/services/Kubernetes/ApiFailure.ts"
import { refused } from "../../../src/services/Kubernetes/ApiFailure.ts"
import type { KubeObject, ListOptions, WatchEvent } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { listWatch } from "../../../src/services/Kubernetes/ListWatch.ts"
import type { ListPage } from "../../../src/services/Kubernetes/Objects.ts"
import type { PageRequest, WatchRequest } from "../../../src/services/Kubernetes/Requests.ts"
import { makeWatchRegistry } from "../../../src/services/Kubernetes/WatchHealth.ts"
import type { WatchTransport } from "../../../src/services/Kubernetes/WatchOnce.ts"
import * as Fixture from "./Objects.ts"

export const failure = (code: number, reason: string, retryAfter?: number): ApiFailure =>
  refused({
    request: "GET configmaps",
    code,
    status: {
      reason,
      message: reason,
      details: retryAfter === undefined ? null : { retryAfterSeconds: retryAfter },
    },
    retryAfter: Option.none(),
    secret: false,
  })

/** A watch the machine has opened. */
export interface Connection {
  readonly request: WatchRequest
  readonly send: (...texts: ReadonlyArray<string | Uint8Array>) => Effect.Effect<void>
  /** The server ends the watch. */
  readonly end: Effect.Effect<void>
  readonly fail: (failure: ApiFailure) => Effect.Effect<void>
  /** Whether the machine has let go of it. */
  readonly closed: () => boolean
}

export type Call =
  | { readonly at: number; readonly _tag: "List"; readonly page: PageRequest; readonly options: ListOptions }
  | {
      readonly at: number
      readonly _tag: "Watch"
      readonly request: WatchRequest
      readonly options: ListOptions
    }

export const makeFakeTransport = Effect.gen(function* () {
  const calls: Array<Call> = []
  const connections = yield* Queue.unbounded<Connection>()
  const pages = yield* Queue.unbounded<Effect.Effect<ListPage, ApiFailure>>()
  /** Answers of watches, in order; without one a watch is opened. */
  const refusals: Array<Effect.Effect<never, ApiFailure>> = []

  const transport: WatchTransport = {
    list: (_kind, options, page) =>
      Effect.gen(function* () {
        calls.push({ at: yield* Clock.currentTimeMillis, _tag: "List", page, options })
        return yield* Effect.flatten(Queue.take(pages))
      }),
    watch: (_kind, options, request) =>
      Effect.gen(function* () {
        calls.push({ at: yield* Clock.currentTimeMillis, _tag: "Watch", request, options })
        const refusal = refusals.shift()
        if (refusal !== undefined) return yield* refusal
        const bytes = yield* Queue.unbounded<Uint8Array, ApiFailure | Cause.Done>()
        let closed = false
        yield* Effect.addFinalizer(() => Effect.sync(() => (closed = true)))
        yield* Queue.offer(connections, {
          request,
          send: (...texts) =>
            Queue.offerAll(
              bytes,
              texts.map((text) => (typeof text === "string" ? new TextEncoder().encode(text) : text)),
            ),
          end: Effect.asVoid(Queue.end(bytes)),
          fail: (given) => Effect.asVoid(Queue.fail(bytes, given)),
          closed: () => closed,
        })
        return Stream.fromQueue(bytes)
      }),
  }

  return {
    transport,
    calls,
    /** The next page that a list is answered with; lists wait for one. */
    page: (version: string, items: ReadonlyArray<KubeObject> = [], next?: string) =>
      Queue.offer(
        pages,
        Effect.succeed({ items, resourceVersion: version, next: Option.fromUndefinedOr(next) }),
      ),
    refuseList: (given: ApiFailure) => Queue.offer(pages, Effect.fail(given)),
    refuseWatch: (...given: ReadonlyArray<Effect.Effect<never, ApiFailure>>) =>
      Effect.sync(() => refusals.push(...given)),
    /** Waits for the next watch to be opened. */
    connection: Queue.take(connections),
  }
})

/** A list-watch over a fake transport, with everything it emitted. */
export const start = (options?: ListOptions, kind = Fixture.kind) =>
  Effect.gen(function* () {
    const fake = yield* makeFakeTransport
    const registry = yield* makeWatchRegistry
    const events: Array<WatchEvent> = []
    const fiber = yield* listWatch(fake.transport, registry, kind, options).pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.forkChild,
    )
    return { ...fake, events, fiber, statuses: registry.statuses }
  })

/** Chance that always comes out longest (or, with another value, so far up). */
export const chance = (value = 1 - Number.EPSILON) =>
  Effect.provideService(Random.Random, {
    nextDoubleUnsafe: () => value,
    nextIntUnsafe: () => 0,
  })

/** An event, short enough to compare. */
export const brief = (event: WatchEvent): string =>
  event._tag === "Snapshot"
    ? `= ${event.objects.map((object) => object.metadata.name).join(" ")}`
    : `${event._tag === "Deleted" ? "-" : "+"} ${event.object.metadata.name} ${event.object.metadata.uid}`

/** Lets every fiber run until it waits. */
export const settle = TestClock.adjust(0)

export const summary = (call: Call): string => {
  if (call._tag === "Watch") return `watch ${call.request.version}`
  const { from, next, paged } = call.page
  const version = from._tag === "NotOlderThan" ? ` ${from.version}` : ""
  return `list ${from._tag}${version}${next === undefined ? "" : ` next=${next}`}${paged ? "" : " whole"}`
}
export const summaries = (calls: ReadonlyArray<Call>) => calls.map(summary)

/** The waits before each further request, in milliseconds. */
export const gaps = (calls: ReadonlyArray<Call>) =>
  calls.slice(1).map((call, index) => call.at - (calls[index]?.at ?? 0))

export const watching = (version = "zeta", objects = [Fixture.configMap("a", "eta")]) =>
  Effect.gen(function* () {
    const machine = yield* start()
    yield* machine.page(version, objects)
    const first = yield* machine.connection
    yield* settle
    return { ...machine, first }
  })

// List, then watch, for ever: `Listing -> Watching -> (Closed | Idle | Gone | Broken | Refused) -> Watching | Listing`.
// Versions are opaque: they are kept and sent back, never compared. That time does not run backwards is the server's
// promise: a list is asked to be not older than what was seen, or, when the server cannot, to be the newest there is.
import { Clock, Duration, Effect, Option, Queue, Random, Result, Stream } from "effect"
import type { ApiFailure } from "./ApiFailure.ts"
import { type Backoff, makeBackoff } from "./Backoff.ts"
import { isSecret, resourceName } from "./Kinds.ts"
import { type KnownObjects, makeKnownObjects } from "./KnownObjects.ts"
import type { ListOptions, ResourceKind, WatchEvent } from "./Kubernetes.ts"
import { listAll } from "./ListAll.ts"
import type { ListFrom } from "./Requests.ts"
import { countWatchEnd, type WatchRegistry, type WatchReporter } from "./WatchHealth.ts"
import { type Ended, type WatchEnd, type WatchTransport, watchOnce } from "./WatchOnce.ts"

/** A list is read anew so often even when nothing seems wrong, +- 10 %. */
const RELIST = Duration.hours(10)
/** Before the next watch after one that the server ended as agreed: at most this long. */
const RECONNECT_JITTER = Duration.seconds(1)
/** A watch that ends sooner than this, without an event, is a failure. */
const SHORTEST = Duration.seconds(1)
/**
 * A server sends a bookmark about every minute (1.35, measured), but none to a watch from a version that it has not
 * reached, as after a restore of its store: that one stays open and silent. After so long without any, a list tells.
 */
const SUSPICIOUS = Duration.minutes(2)
/** No wait that a server asks for is longer. */
const LONGEST_ASKED = Duration.minutes(1)
/** A list because of lost history or a broken line is free once in this time; the next ones wait. */
const FREE_RELIST = Duration.minutes(2)

type Step =
  | { readonly _tag: "List"; readonly from: ListFrom }
  | { readonly _tag: "Watch"; readonly version: string }

const nameOf = (kind: ResourceKind, { namespace, labelSelector, fieldSelector }: ListOptions): string =>
  [resourceName(kind), namespace, labelSelector, fieldSelector].filter((part) => part !== undefined).join(" ")

const jitter = (upTo: Duration.Duration): Effect.Effect<Duration.Duration> =>
  Effect.map(Random.next, (chance) => Duration.times(upTo, chance))

interface Complaints {
  readonly refused: (failure: ApiFailure, wait: Duration.Duration) => Effect.Effect<void>
  readonly works: Effect.Effect<void>
}

interface Machine {
  readonly transport: WatchTransport
  readonly kind: ResourceKind
  readonly options: ListOptions
  readonly known: KnownObjects
  readonly backoff: Backoff
  readonly report: WatchReporter
  readonly complaints: Complaints
  readonly emit: (event: WatchEvent) => Effect.Effect<void>
}

const stateOf = ({ error: { code } }: ApiFailure) => {
  if (code === 401 || code === 403) return "Forbidden"
  return code === 404 ? "NotServed" : "BackingOff"
}

/** Warns of each failure once, not at each attempt, until it works again. */
const makeComplaints = (kind: ResourceKind): Complaints => {
  let last: string | undefined
  return {
    refused: ({ error: { code, reason, message } }, wait) =>
      Effect.suspend(() => {
        const news = `${code} ${reason}` !== last
        last = `${code} ${reason}`
        return (news ? Effect.logWarning("list-watch refused") : Effect.logDebug("list-watch refused")).pipe(
          Effect.annotateLogs({
            resource: resourceName(kind),
            code,
            reason,
            error: message,
            waitMillis: Math.round(Duration.toMillis(wait)),
          }),
        )
      }),
    works: Effect.sync(() => {
      last = undefined
    }),
  }
}

/** Waits as long as the server asks, else as the back-off says. */
const pause = Effect.fnUntraced(function* (machine: Machine, failure: ApiFailure | undefined) {
  const own = yield* machine.backoff.failed
  const asked = failure === undefined ? Option.none() : failure.retryAfter
  const wait = Option.match(asked, {
    onNone: () => own,
    onSome: (least) => Duration.sum(Duration.min(least, LONGEST_ASKED), Duration.min(own, RECONNECT_JITTER)),
  })
  yield* machine.report({ state: failure === undefined ? "BackingOff" : stateOf(failure) })
  if (failure !== undefined) yield* machine.complaints.refused(failure, wait)
  yield* Effect.sleep(wait)
})

/** One list. A server that cannot show what was asked is asked for the newest state instead, at once. */
const list = Effect.fnUntraced(function* (machine: Machine, from: ListFrom) {
  yield* machine.report({ state: "Listing" })
  const listed = yield* Effect.result(listAll(machine.transport.list, machine.kind, machine.options, from))
  if (Result.isFailure(listed)) {
    const failure = listed.failure
    const pastOrFuture = failure.expired || failure.ahead
    if (pastOrFuture && from._tag !== "Newest")
      return { _tag: "List", from: { _tag: "Newest" } } satisfies Step
    yield* pause(machine, failure)
    return { _tag: "List", from } satisfies Step
  }
  for (const event of machine.known.replace(listed.success.items)) yield* machine.emit(event)
  yield* machine.report({ lastListAt: yield* Clock.currentTimeMillis })
  return { _tag: "Watch", version: listed.success.version } satisfies Step
})

/** What follows a watch that ended at `version`. `again`: another was lost or broken a moment ago. */
const afterWatch = Effect.fnUntraced(function* (
  machine: Machine,
  end: WatchEnd,
  version: string,
  again: boolean,
) {
  const rewatch: Step = { _tag: "Watch", version }
  const relist: Step = {
    _tag: "List",
    // A server whose list leads straight back to a version it no longer has is asked for its newest.
    from: again ? { _tag: "Newest" } : { _tag: "NotOlderThan", version },
  }
  if (end._tag !== "Refused") yield* machine.complaints.works
  switch (end._tag) {
    case "Closed": {
      if (!end.lively && Duration.isGreaterThan(end.lasted, SUSPICIOUS)) return relist
      const failed = !end.lively && Duration.isLessThan(end.lasted, SHORTEST)
      yield* failed ? pause(machine, undefined) : Effect.flatMap(jitter(RECONNECT_JITTER), Effect.sleep)
      return rewatch
    }
    case "Idle":
      yield* Effect.logWarning("watch fell silent").pipe(
        Effect.annotateLogs({ resource: resourceName(machine.kind) }),
      )
      yield* pause(machine, undefined)
      return rewatch
    case "Gone":
      if (again) yield* pause(machine, undefined)
      return relist
    case "Broken":
      yield* Effect.logError("watch sent a line that cannot be read").pipe(
        Effect.annotateLogs({
          resource: resourceName(machine.kind),
          bytes: end.line.size,
          sha256: end.line.sha256,
        }),
      )
      if (again) yield* pause(machine, undefined)
      return relist
    case "Refused": {
      yield* pause(machine, end.failure)
      const { code } = end.failure.error
      // A request that the server finds faulty does not get better by repeating it.
      return code === 400 || code === 422 || end.failure.ahead ? relist : rewatch
    }
  }
})

const run = Effect.fnUntraced(function* (machine: Machine) {
  let step: Step = { _tag: "List", from: { _tag: "Any" } }
  let relistAt = 0n
  let freeRelistAt = 0n
  while (true) {
    if (step._tag === "List") {
      step = yield* list(machine, step.from)
      const period = Duration.times(RELIST, 0.9 + 0.2 * (yield* Random.next))
      relistAt = (yield* Clock.monotonicTimeNanos) + Duration.toNanosUnsafe(period)
      continue
    }
    const ended: Ended = yield* watchOnce({ ...machine, version: step.version })
    const now: bigint = yield* Clock.monotonicTimeNanos
    yield* countWatchEnd(resourceName(machine.kind), ended.end._tag.toLowerCase())
    step = yield* afterWatch(machine, ended.end, ended.version, now < freeRelistAt)
    if (step._tag === "List") freeRelistAt = now + Duration.toNanosUnsafe(FREE_RELIST)
    else if (now >= relistAt) step = { _tag: "List", from: { _tag: "NotOlderThan", version: step.version } }
  }
})

/**
 * The list-watch of a kind. Secrets are always asked for as metadata only. It never fails and ends by interruption
 * alone, which closes its connection. A slow consumer slows the reading of the socket, nothing is dropped.
 */
export const listWatch = (
  transport: WatchTransport,
  registry: WatchRegistry,
  kind: ResourceKind,
  given: ListOptions = {},
): Stream.Stream<WatchEvent> => {
  const options = isSecret(kind) ? { ...given, metadataOnly: true } : given
  return Stream.callback<WatchEvent>(
    (queue) =>
      Effect.gen(function* () {
        return yield* run({
          transport,
          kind,
          options,
          known: makeKnownObjects(),
          backoff: yield* makeBackoff,
          complaints: makeComplaints(kind),
          report: yield* registry.register(nameOf(kind, options)),
          emit: (event) => Queue.offer(queue, event),
        })
      }),
    { bufferSize: 1024, strategy: "suspend" },
  )
}

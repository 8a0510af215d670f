// At most one operator at work: `lead` runs its work while this process holds a Lease, and has ended all of it before
// anybody else can hold that Lease.
//
//   duration > (renewDeadline + ending) x 1.2     for clocks that run 20 % apart
//
// The renew deadline counts from the moment the last successful request was begun, on the monotonic clock. A minute
// without the API costs nothing.
import {
  Clock,
  Data,
  DateTime,
  Duration,
  Effect,
  Exit,
  Fiber,
  Option,
  Queue,
  type Scope,
  Stream,
} from "effect"
import { Lease } from "../Kubernetes/Kinds.ts"
import { KubeError, type KubeObject, Kubernetes } from "../Kubernetes/Kubernetes.ts"
import { set } from "../Metrics/Metrics.ts"
import { heldSpec, isFree, type LeaseState, leaseState, look, microTime, type Sighting } from "./Lease.ts"

export interface LeaseOptions {
  readonly namespace: string
  readonly name: string
  /** Who this process is: another one in each life of a process. */
  readonly identity: string
  /** How long a lease that is not renewed keeps others out. Default: 120 s. */
  readonly duration?: Duration.Input
  /** So long after the last renewal the lease counts as lost. Default: 80 s. */
  readonly renewDeadline?: Duration.Input
  /** Between two attempts, to take it or to renew it. Default: 5 s. */
  readonly retry?: Duration.Input
  /** How long one attempt may take. Default: 5 s. */
  readonly attempt?: Duration.Input
  /** How long the work may take to end once the lease is lost. Default: 12 s. */
  readonly ending?: Duration.Input
  /** Whether a holder is proven to have ended, so that its lease need not be waited out. */
  readonly isDead: (holder: string) => Effect.Effect<boolean>
  /** The work has not ended in that time: this has to end the process, now. */
  readonly overdue: Effect.Effect<void>
}

/** The lease was lost, and all work has ended. */
export class LeaseLost extends Data.TaggedError("LeaseLost")<{ readonly message: string }> {}

const timing = (options: LeaseOptions) => {
  const chosen = (given: Duration.Input | undefined, fallback: Duration.Input) =>
    Duration.fromInputUnsafe(given ?? fallback)
  return {
    duration: chosen(options.duration, "120 seconds"),
    renewDeadline: chosen(options.renewDeadline, "80 seconds"),
    retry: chosen(options.retry, "5 seconds"),
    attempt: chosen(options.attempt, "5 seconds"),
    ending: chosen(options.ending, "12 seconds"),
  }
}

/** A lease as the server has it. */
interface Seen {
  readonly version: string
  readonly state: LeaseState
}
const seenIn = (object: KubeObject): Seen => ({
  version: object.metadata.resourceVersion,
  state: leaseState(object),
})

/** What this process holds, and when the request that proved it was begun (nanoseconds, monotonic). */
interface Held extends Seen {
  readonly provenAt: bigint
}

const lostRace = (error: KubeError): boolean =>
  error.reason === "Conflict" || error.reason === "AlreadyExists"

const makeRequests = (kubernetes: Kubernetes["Service"], options: LeaseOptions) => {
  const { namespace, name, identity } = options
  const { duration, attempt } = timing(options)
  const ref = { namespace, name }
  const bounded = Effect.timeoutOrElse({
    duration: attempt,
    orElse: () =>
      Effect.fail(
        new KubeError({
          code: 0,
          reason: "Transport",
          request: `leases/${namespace}/${name}`,
          message: `no answer within ${Duration.format(attempt)}`,
        }),
      ),
  })
  const read = Effect.map(kubernetes.get(Lease, ref), Option.map(seenIn))
  /** Takes effect on nothing but the version that was seen; `Conflict` or `AlreadyExists` else. */
  const hold = Effect.fnUntraced(function* (seen: Option.Option<Seen>) {
    const provenAt = yield* Clock.monotonicTimeNanos
    const before = Option.getOrUndefined(seen)
    const spec = heldSpec(before?.state, identity, duration, microTime(yield* DateTime.now))
    const written = yield* before === undefined
      ? kubernetes.create(Lease, {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: ref,
          spec,
        })
      : kubernetes.patch(Lease, ref, {
          type: "merge",
          patch: { metadata: { resourceVersion: before.version }, spec },
        })
    return { ...seenIn(written), provenAt } satisfies Held
  })
  const letGo = (resourceVersion: string) =>
    kubernetes.patch(Lease, ref, {
      type: "merge",
      patch: { metadata: { resourceVersion }, spec: { holderIdentity: "", leaseDurationSeconds: 1 } },
    })
  /** Lets the next one take what is this process's, by a write whose answer it has not waited for. */
  const releaseUnanswered = Effect.gen(function* () {
    const seen = yield* read
    if (Option.isSome(seen) && seen.value.state.holder === identity) yield* letGo(seen.value.version)
  })
  /** Lets the next one take it at once. A renewal that was cut off may have had its effect. */
  const release = (held: Held) =>
    letGo(held.version).pipe(
      Effect.asVoid,
      Effect.catchIf(lostRace, () => releaseUnanswered),
    )
  return { ref, bounded, read, hold, release, releaseUnanswered }
}
type Requests = ReturnType<typeof makeRequests>

/** As the last thing this process does: it waits for no answer for long. */
const giveBack = (requests: Requests, release: Effect.Effect<void, KubeError>): Effect.Effect<void> =>
  release.pipe(
    requests.bounded,
    Effect.catchTag("KubeError", (error) => Effect.logWarning("lease not released", error)),
  )

/** Waits until it is this process's. Tries at every retry, and at once when the watch shows it released. */
const acquire = Effect.fnUntraced(function* (
  requests: Requests,
  kubernetes: Kubernetes["Service"],
  options: LeaseOptions,
): Effect.fn.Return<Held, never, Scope.Scope> {
  const { retry } = timing(options)
  const released = yield* Queue.sliding<void>(1)
  yield* kubernetes
    .listWatch(Lease, { namespace: options.namespace, fieldSelector: `metadata.name=${options.name}` })
    .pipe(
      Stream.runForEach((event) =>
        event._tag === "Deleted" || (event._tag === "Upserted" && leaseState(event.object).holder === "")
          ? Effect.asVoid(Queue.offer(released, undefined))
          : Effect.void,
      ),
      Effect.forkScoped,
    )
  let sighting: Sighting | undefined
  let told: string | undefined
  let unanswered = false
  const take = (seen: Option.Option<Seen>) =>
    Effect.suspend(() => {
      unanswered = true
      return requests.hold(seen)
    })
  yield* Effect.addFinalizer((exit) =>
    Exit.isFailure(exit) && unanswered ? giveBack(requests, requests.releaseUnanswered) : Effect.void,
  )
  const attempt = Effect.gen(function* () {
    const seen = yield* requests.read
    if (Option.isNone(seen)) return Option.some(yield* take(seen))
    const now = yield* Clock.monotonicTimeNanos
    const { state } = seen.value
    const { holder } = state
    sighting = look(sighting, state, now)
    if (isFree(state, sighting, options.identity, now) || (yield* options.isDead(holder)))
      return Option.some(yield* take(seen))
    if (told !== holder) {
      told = holder
      yield* Effect.logInfo("another operator leads, waiting").pipe(Effect.annotateLogs({ holder }))
    }
    return Option.none<Held>()
  })
  while (true) {
    const held = yield* requests
      .bounded(attempt)
      .pipe(
        Effect.catchTag("KubeError", (error) =>
          (lostRace(error) ? Effect.void : Effect.logWarning("lease cannot be taken", error)).pipe(
            Effect.as(Option.none<Held>()),
          ),
        ),
      )
    if (Option.isSome(held)) return held.value
    yield* Effect.timeoutOption(Queue.take(released), retry)
  }
})

/** Renews it for ever. Fails when somebody else has it, or the deadline has passed without a success. */
const renew = Effect.fnUntraced(function* (
  requests: Requests,
  options: LeaseOptions,
  current: { held: Held },
): Effect.fn.Return<never, LeaseLost> {
  const { retry, renewDeadline } = timing(options)
  /** After a conflict: our own write whose answer was lost, or a stranger's. */
  const again = Effect.gen(function* () {
    const seen = yield* requests.read
    const holder = Option.getOrUndefined(seen)?.state.holder
    if (Option.isSome(seen) && holder !== options.identity)
      return yield* new LeaseLost({ message: `the lease was taken by ${holder || "nobody"}` })
    return yield* requests.hold(seen)
  })
  while (true) {
    const left =
      current.held.provenAt + Duration.toNanosUnsafe(renewDeadline) - (yield* Clock.monotonicTimeNanos)
    if (left <= 0n)
      return yield* new LeaseLost({
        message: `the lease was not renewed for ${Duration.format(renewDeadline)}`,
      })
    yield* Effect.sleep(Duration.min(retry, Duration.nanos(left)))
    const renewed = yield* requests.hold(Option.some(current.held)).pipe(
      Effect.catchIf(
        (error) => error.code === 404 || lostRace(error),
        () => again,
      ),
      requests.bounded,
      Effect.catchTag("KubeError", (error) =>
        Effect.logWarning("lease not renewed", error).pipe(Effect.as(undefined)),
      ),
    )
    if (renewed !== undefined) current.held = renewed
  }
})

/**
 * Runs `work` as soon as the lease is this process's. When the lease is lost, or the caller is interrupted, the work is
 * interrupted and awaited: after a loss for `ending` at most, then `overdue` has to end the process. The lease is
 * renewed until the work has ended, and released after it. Fails with `LeaseLost`.
 */
export const lead = <A, E, R>(options: LeaseOptions, work: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const kubernetes = yield* Kubernetes
        const requests = makeRequests(kubernetes, options)
        const { ending } = timing(options)
        const leads = (is: 0 | 1) => set("leader_election_master_status", { name: options.name }, is)
        yield* leads(0)
        const current = { held: yield* restore(Effect.scoped(acquire(requests, kubernetes, options))) }
        yield* leads(1)
        yield* Effect.logInfo("leading").pipe(Effect.annotateLogs({ identity: options.identity }))
        const renewing = yield* Effect.forkScoped(restore(renew(requests, options, current)))
        const working = yield* Effect.forkScoped(restore(work))
        const outcome = yield* Effect.exit(
          restore(Effect.raceFirst(Fiber.join(working), Fiber.join(renewing))),
        )
        yield* leads(0)
        // Whatever ended it: nothing of the work is left before the lease is anybody else's.
        const endOverdue = Effect.exit(Fiber.join(renewing)).pipe(
          Effect.andThen(Effect.sleep(ending)),
          Effect.andThen(options.overdue),
        )
        const watching = yield* Effect.forkScoped(Effect.interruptible(endOverdue))
        yield* Fiber.interrupt(working)
        yield* Fiber.interrupt(watching)
        const held = renewing.pollUnsafe() === undefined
        yield* Fiber.interrupt(renewing)
        if (held) yield* giveBack(requests, requests.release(current.held))
        return yield* outcome
      }),
    ),
  )

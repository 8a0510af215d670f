import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, References } from "effect"
import { Lease, Namespace } from "../../../src/services/Kubernetes/Kinds.ts"
import { type LeaseOptions, lead } from "../../../src/services/LeaderElection/LeaderElection.ts"
import { leaseState } from "../../../src/services/LeaderElection/Lease.ts"
import { httpOf } from "../../twins/kubernetes/Http.ts"
import { kubernetesOver } from "../../twins/kubernetes/KubernetesTwin.ts"
import { makeApiServer } from "../../twins/kubernetes/Server.ts"
import { simulate, until } from "../../twins/simulation/Simulation.ts"
import { seeds } from "../../twins/simulation/seeds.ts"

const ref = { namespace: "ops", name: "platform-operator" }

interface Candidate {
  readonly fiber: Fiber.Fiber<never, unknown>
  /** At work: between the begin of its work and the end of all of it. */
  working: boolean
  overdue: boolean
  readonly ended: () => Exit.Exit<never, unknown> | undefined
}

/** Candidates for one lease on one API server, each with an HTTP connection of its own. */
const makeElection = Effect.gen(function* () {
  const api = yield* makeApiServer({ name: "host", rbac: false })
  const admin = api.as("admin")
  admin.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "ops" } })
  const scope = yield* Effect.scope
  const candidates: Array<Candidate> = []
  /** The most that were ever at work at the same moment. */
  let most = 0

  const start = Effect.fnUntraced(function* (
    identity: string,
    {
      ends = "0 seconds",
      rate = 1,
      isDead = () => Effect.succeed(false),
      answersAfter = "0 seconds",
    }: {
      readonly ends?: Duration.Input
      readonly rate?: number
      readonly isDead?: LeaseOptions["isDead"]
      /** So long after it has had its effect a request is answered. */
      readonly answersAfter?: Duration.Input
    } = {},
  ) {
    const http = httpOf(api, { user: identity })
    const services = yield* kubernetesOver({
      ...http,
      json: (request) => Effect.tap(http.json(request), () => Effect.sleep(answersAfter)),
    })
    const candidate: Candidate = {
      fiber: undefined as never,
      working: false,
      overdue: false,
      ended: () => undefined,
    }
    const end = Effect.sync(() => {
      candidate.working = false
    })
    const work = Effect.acquireRelease(
      Effect.sync(() => {
        candidate.working = true
        most = Math.max(most, candidates.filter((each) => each.working).length)
      }),
      () => Effect.andThen(Effect.sleep(ends), end),
    ).pipe(Effect.andThen(Effect.never), Effect.scoped)
    const clock = yield* Clock.clockWith(Effect.succeed)
    const fiber = yield* lead(
      {
        ...ref,
        identity,
        isDead,
        overdue: Effect.sync(() => {
          // The process ends, and its work with it.
          candidate.overdue = true
          candidate.working = false
        }),
      },
      work,
    ).pipe(
      Effect.provideContext(services),
      Effect.provideService(References.MinimumLogLevel, "None"),
      Effect.provideService(Clock.Clock, rate === 1 ? clock : running(clock, rate)),
      Effect.forkIn(scope),
    )
    Object.assign(candidate, { fiber, ended: () => fiber.pollUnsafe() })
    candidates.push(candidate)
    return candidate
  })
  return {
    api,
    start,
    most: () => most,
    holder: () => {
      const found = admin.get(Lease, ref)
      return found === undefined ? undefined : leaseState(found).holder
    },
  }
})

/** A clock that runs faster (above 1) or slower than the world's. */
const running = (clock: Clock.Clock, rate: number): Clock.Clock => ({
  ...clock,
  currentTimeMillisUnsafe: () => Math.round(clock.currentTimeMillisUnsafe() * rate),
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => Math.round(now * rate)),
  currentTimeNanosUnsafe: () => scaled(clock.currentTimeNanosUnsafe(), rate),
  currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => scaled(now, rate)),
  monotonicTimeNanosUnsafe: () => scaled(clock.monotonicTimeNanosUnsafe(), rate),
  monotonicTimeNanos: Effect.map(clock.monotonicTimeNanos, (now) => scaled(now, rate)),
  sleep: (duration) => clock.sleep(Duration.times(duration, 1 / rate)),
})
const scaled = (nanos: bigint, rate: number): bigint => (nanos * BigInt(Math.round(rate * 1000))) / 1000n

describe("leader election", () => {
  it.each(seeds(3))("lets one of three work, and the next one when it is stopped (seed %i)", (seed) =>
    simulate(
      Effect.gen(function* () {
        const { start, most, holder } = yield* makeElection
        const all = [yield* start("a"), yield* start("b", { ends: "7 seconds" }), yield* start("c")]
        yield* until(() => all.some(({ working }) => working), "10 seconds", "a leader")
        const first = all.find(({ working }) => working) ?? assert.fail()
        const stopping = yield* Effect.forkScoped(Fiber.interrupt(first.fiber))
        yield* Fiber.join(stopping)
        assert.isFalse(first.working)
        yield* until(() => all.some(({ working }) => working), "5 seconds", "the next leader")
        yield* Effect.sleep("10 minutes")
        assert.strictEqual(most(), 1)
        assert.include(["a", "b", "c"], holder())
      }),
      { seed },
    ),
  )

  it.each(["a renewal", "the write that takes it"])(
    "gives the lease back though it is stopped in %s that has had its effect",
    (write) =>
      simulate(
        Effect.gen(function* () {
          const { api, start, most, holder } = yield* makeElection
          const written = yield* Deferred.make<void>()
          let writes = 0
          api.subscribe(({ kind }) => {
            if (kind.plural !== Lease.plural) return
            writes += 1
            if (writes === (write === "a renewal" ? 3 : 1)) Deferred.doneUnsafe(written, Effect.void)
          })
          const first = yield* start("a", { answersAfter: "1 second" })
          yield* Deferred.await(written)
          yield* Fiber.interrupt(first.fiber)
          assert.strictEqual(holder(), "")
          const second = yield* start("b")
          yield* until(() => second.working, "5 seconds", "the next leader")
          assert.strictEqual(most(), 1)
        }),
        { seed: 1 },
      ),
  )

  it("does not lose its lease in a minute without the API", () =>
    simulate(
      Effect.gen(function* () {
        const { api, start, most } = yield* makeElection
        const a = yield* start("a")
        yield* until(() => a.working, "10 seconds", "a leader")
        const b = yield* start("b")
        for (const trouble of ["down", "hang"] as const) {
          api.faults[trouble]()
          yield* Effect.sleep("60 seconds")
          api.faults.up()
          yield* Effect.sleep("3 minutes")
          assert.isTrue(a.working)
          assert.isFalse(b.working)
        }
        assert.strictEqual(most(), 1)
      }),
      { seed: 1 },
    ))

  it("fails when the API is gone for longer, with all its work ended", () =>
    simulate(
      Effect.gen(function* () {
        const { api, start } = yield* makeElection
        const a = yield* start("a", { ends: "5 seconds" })
        yield* until(() => a.working, "10 seconds", "a leader")
        api.faults.down()
        yield* until(() => a.ended() !== undefined, "92 seconds", "the end")
        assert.isFalse(a.working || a.overdue)
        assert.isTrue(Exit.isFailure(a.ended() ?? assert.fail()))
      }),
      { seed: 1 },
    ))

  it("counts its deadline from when the last renewal was begun, not from when it was answered", () =>
    simulate(
      Effect.gen(function* () {
        const { api, start } = yield* makeElection
        const written = yield* Deferred.make<void>()
        api.subscribe(({ kind }) => {
          if (kind.plural === Lease.plural) Deferred.doneUnsafe(written, Effect.void)
        })
        const a = yield* start("a", { answersAfter: "2 seconds" })
        yield* Deferred.await(written)
        api.faults.down()
        yield* Effect.sleep("79 seconds")
        assert.isTrue(a.working)
        yield* Effect.sleep("2 seconds")
        assert.isFalse(a.working)
      }),
      { seed: 1 },
    ))

  for (const [fast, slow] of [
    [1, 1],
    [1.2, 1],
    [1, 1.2],
  ] as const) {
    it(`F44: has ended all work before the next one begins, though work does not end (clocks ${fast} : ${slow})`, () =>
      simulate(
        Effect.gen(function* () {
          const { api, start, most } = yield* makeElection
          const a = yield* start("a", { ends: "1 hour", rate: slow })
          yield* until(() => a.working, "10 seconds", "a leader")
          const b = yield* start("b", { rate: fast })
          yield* Effect.sleep("30 seconds")
          // The leader alone loses its way to the API.
          api.faults.reset("before", { times: 1_000_000, user: "a" })
          yield* until(() => b.working, "3 minutes", "the next leader")
          assert.isTrue(a.overdue)
          assert.strictEqual(most(), 1)
        }),
        { seed: 1 },
      ))
  }

  it("waits for the whole duration when a holder has died without a word", () =>
    simulate(
      Effect.gen(function* () {
        const { api, start } = yield* makeElection
        api.as("admin").create(Lease, {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: ref,
          spec: {
            holderIdentity: "gone",
            leaseDurationSeconds: 120,
            renewTime: "2020-01-01T00:00:00.000000Z",
          },
        })
        const a = yield* start("a")
        yield* Effect.sleep("119 seconds")
        // However old its renewal says it is: nobody's clock is believed.
        assert.isFalse(a.working)
        yield* until(() => a.working, "10 seconds", "a leader")
      }),
      { seed: 1 },
    ))

  it("takes over at once from a holder that is proven dead", () =>
    simulate(
      Effect.gen(function* () {
        const { api, start } = yield* makeElection
        api.as("admin").create(Lease, {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: ref,
          spec: { holderIdentity: "dead", leaseDurationSeconds: 120 },
        })
        const a = yield* start("a", { isDead: (holder) => Effect.succeed(holder === "dead") })
        yield* until(() => a.working, "5 seconds", "a leader")
      }),
      { seed: 1 },
    ))

  it("stops at once when somebody else has written the lease", () =>
    simulate(
      Effect.gen(function* () {
        const { api, start } = yield* makeElection
        const a = yield* start("a")
        yield* until(() => a.working, "10 seconds", "a leader")
        api
          .as("admin")
          .patch(Lease, ref, { type: "merge", patch: { spec: { holderIdentity: "a stranger" } } })
        yield* until(() => a.ended() !== undefined, "10 seconds", "the end")
        assert.isFalse(a.working)
      }),
      { seed: 1 },
    ))
})

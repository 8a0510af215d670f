import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Deferred, Duration, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { BackoffPolicy } from "../../../src/actors/kit/Backoff.ts"
import { type ActorContext, makeSupervisor } from "../../../src/actors/kit/Supervisor.ts"
import { makeTimers } from "../../../src/actors/kit/Timers.ts"

type Context = ActorContext<string, string, never>

const restart: BackoffPolicy = { first: Duration.seconds(1), cap: Duration.seconds(8), jitter: 0 }

/** A supervisor over the given actor; `deaths` lists what `onDefect` was told. */
const supervise = Effect.fnUntraced(function* (
  actor: (context: Context) => Effect.Effect<void, never, Scope.Scope>,
) {
  const deaths: Array<{ key: string; at: number; deaths: number; message: string }> = []
  const supervisor = yield* makeSupervisor<string, string, never, never>({
    actor,
    restart,
    onDefect: (key, cause, count) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        deaths.push({ key, at: now / 1000, deaths: count, message: Cause.pretty(cause).split("\n")[0] ?? "" })
      }),
  })
  return { supervisor, deaths }
})

describe("the supervisor", () => {
  it.effect("starts an actor a key on first sight, and only wakes it afterwards", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { supervisor } = yield* supervise((context) =>
        Effect.gen(function* () {
          log.push(`${context.key} starts`)
          while (true) log.push(`${context.key} ${[...(yield* context.mailbox.take)].join(" ")}`)
        }),
      )
      assert.deepStrictEqual(supervisor.keys(), [])
      yield* supervisor.notify("a", "seen")
      yield* TestClock.adjust(0)
      yield* supervisor.notify("b", "seen")
      yield* supervisor.notify("a", "changed")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(log, ["a starts", "a seen", "b starts", "b seen", "a changed"])
      assert.deepStrictEqual(supervisor.keys(), ["a", "b"])
    }),
  )

  it.effect("restarts an actor that dies, later each time, and tells and counts each death", () =>
    Effect.gen(function* () {
      const { supervisor, deaths } = yield* supervise((context) =>
        Effect.andThen(context.mailbox.take, Effect.die(new Error("boom"))),
      )
      yield* supervisor.notify("a", "seen")
      yield* TestClock.adjust("32 seconds")
      assert.deepStrictEqual(
        deaths.map(({ at, deaths: count }) => [at, count]),
        [
          [0, 1],
          [1, 2],
          [3, 3],
          [7, 4],
          [15, 5],
          [23, 6],
          [31, 7],
        ],
      )
      assert.match(deaths[0]?.message ?? "", /boom/)
      assert.deepStrictEqual(supervisor.keys(), ["a"])
    }),
  )

  it.effect(
    "counts deaths from the last time that something was carried through, and so are its pauses",
    () =>
      Effect.gen(function* () {
        let lives = 0
        const { supervisor, deaths } = yield* supervise((context) =>
          Effect.gen(function* () {
            yield* context.mailbox.take
            lives += 1
            if (lives === 3) yield* context.thrived
            return yield* Effect.die(new Error("boom"))
          }),
        )
        yield* supervisor.notify("a", "seen")
        yield* TestClock.adjust("6 seconds")
        assert.deepStrictEqual(
          deaths.map(({ at, deaths: count }) => [at, count]),
          [
            [0, 1],
            [1, 2],
            [3, 1],
            [4, 2],
            [6, 3],
          ],
        )
      }),
  )

  it.effect("leaves other keys alone when one keeps dying", () =>
    Effect.gen(function* () {
      let passes = 0
      const { supervisor } = yield* supervise((context) =>
        context.key === "bad"
          ? Effect.die(new Error("boom"))
          : Effect.forever(Effect.tap(context.mailbox.take, () => Effect.sync(() => passes++))),
      )
      yield* supervisor.notify("bad", "seen")
      yield* supervisor.notify("good", "seen")
      yield* TestClock.adjust("1 minute")
      yield* supervisor.notify("good", "changed")
      yield* TestClock.adjust(0)
      assert.strictEqual(passes, 2)
    }),
  )

  it.effect("keeps the operation in the slot running over a restart, and its exit waits to be read", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const work = Effect.as(Effect.sleep("10 seconds"), "done").pipe(
        Effect.onInterrupt(() => Effect.sync(() => log.push("interrupted"))),
      )
      const { supervisor } = yield* supervise((context) =>
        Effect.gen(function* () {
          const first = context.slot.state()._tag === "Idle"
          if (first) yield* context.slot.start("install", work)
          yield* context.mailbox.take
          if (first) return yield* Effect.die(new Error("boom"))
          while (context.slot.state()._tag !== "Finished") yield* context.mailbox.take
          const state = context.slot.state()
          if (state._tag === "Finished" && Exit.isSuccess(state.exit)) log.push(state.exit.value)
        }),
      )
      yield* supervisor.notify("a", "seen")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log, ["done"])
    }),
  )

  it.effect("wakes a restarted actor, whatever the one before it had taken from the mailbox", () =>
    Effect.gen(function* () {
      const taken: Array<string> = []
      const { supervisor } = yield* supervise((context) =>
        Effect.gen(function* () {
          const reasons = yield* context.mailbox.take
          taken.push(...reasons)
          if (taken.length === 1) return yield* Effect.die(new Error("boom"))
          return yield* Effect.never
        }),
      )
      yield* supervisor.notify("a", "seen")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(taken, ["seen", "restart"])
    }),
  )

  it.effect("ends the timers of an actor with it", () =>
    Effect.gen(function* () {
      const taken: Array<string> = []
      let lives = 0
      const { supervisor } = yield* supervise((context) =>
        Effect.gen(function* () {
          lives += 1
          const timers = yield* makeTimers(context.mailbox)
          taken.push(...(yield* context.mailbox.take))
          if (lives === 1) {
            yield* timers.arm("poll", Duration.seconds(10))
            return yield* Effect.die(new Error("boom"))
          }
          while (true) taken.push(...(yield* context.mailbox.take))
        }),
      )
      yield* supervisor.notify("a", "seen")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(taken, ["seen", "restart"])
    }),
  )

  it.effect("lets an actor go that has returned, and starts a fresh one when the key is seen again", () =>
    Effect.gen(function* () {
      const contexts: Array<Context> = []
      const { supervisor, deaths } = yield* supervise((context) => {
        contexts.push(context)
        return Effect.asVoid(context.mailbox.take)
      })
      yield* supervisor.notify("a", "seen")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(supervisor.keys(), [])
      yield* supervisor.notify("a", "seen again")
      yield* TestClock.adjust(0)
      assert.strictEqual(new Set(contexts.map((context) => context.slot)).size, 2)
      assert.deepStrictEqual(deaths, [])
    }),
  )

  it.effect("loses no wake-up that comes while an actor ends", () =>
    Effect.gen(function* () {
      const passes: Array<string> = []
      const ending = yield* Deferred.make<void>()
      const { supervisor } = yield* supervise((context) =>
        Effect.gen(function* () {
          yield* Effect.addFinalizer(() => Deferred.await(ending))
          passes.push([...(yield* context.mailbox.take)].join(" "))
        }),
      )
      yield* supervisor.notify("a", "gone")
      yield* TestClock.adjust("1 second")
      // The actor has looked and found nothing; its scope is still closing.
      yield* supervisor.notify("a", "created again")
      yield* Deferred.succeed(ending, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(passes, ["gone", "created again"])
      assert.deepStrictEqual(supervisor.keys(), [])
    }),
  )

  it.effect("goes on when telling of a death dies itself", () =>
    Effect.gen(function* () {
      let lives = 0
      const supervisor = yield* makeSupervisor<string, string, never, never>({
        actor: (context) =>
          Effect.gen(function* () {
            yield* context.mailbox.take
            lives += 1
            return yield* lives === 1 ? Effect.die(new Error("boom")) : Effect.never
          }),
        restart,
        onDefect: () => Effect.die(new Error("the Event cannot be made")),
      })
      yield* supervisor.notify("a", "seen")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(lives, 2)
    }),
  )

  it.effect("ends every actor and every operation with its scope, and tells of no death", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const noted = (what: string) => Effect.onInterrupt(() => Effect.sync(() => log.push(what)))
      const scope = yield* Scope.make()
      const { supervisor, deaths } = yield* supervise((context) =>
        context.slot
          .start("install", Effect.never.pipe(noted("operation")))
          .pipe(Effect.andThen(Effect.never), noted("actor")),
      ).pipe(Scope.provide(scope))
      yield* supervisor.notify("a", "seen")
      yield* TestClock.adjust("1 second")
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(log.toSorted(), ["actor", "operation"])
      assert.deepStrictEqual(deaths, [])
    }),
  )
})

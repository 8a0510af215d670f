// The kernel: virtual time, seeded order, and what it says when a world cannot go on.
import { assert, describe, it } from "@effect/vitest"
import {
  Clock,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  Option,
  PubSub,
  Queue,
  Random,
  Ref,
  Schedule,
  Semaphore,
  Stream,
} from "effect"
import { runSimulation, Simulation, simulate, until } from "./Simulation.ts"
import { seeds } from "./seeds.ts"

/** What a run that fails says. */
const failureOf = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return assert.fail("it has not failed")
}

/** Ten workers that sleep and write what they do. */
const crowd = Effect.gen(function* () {
  const { trace } = yield* Simulation
  const worker = (name: number) =>
    Effect.gen(function* () {
      for (let round = 0; round < 5; round++) {
        yield* Effect.sleep(Duration.millis(yield* Random.nextIntBetween(1, 20)))
        yield* Effect.yieldNow
        trace.add(`worker ${name}, round ${round}`)
      }
    })
  yield* Effect.forEach(
    Array.from({ length: 10 }, (_, index) => index),
    worker,
    {
      concurrency: "unbounded",
    },
  )
})

describe("time", () => {
  it("jumps to the next sleeper", () => {
    const run = runSimulation(
      Effect.gen(function* () {
        const before = yield* Clock.currentTimeMillis
        yield* Effect.sleep("30 days")
        return (yield* Clock.currentTimeMillis) - before
      }),
      { seed: 1 },
    )
    assert.strictEqual(run.result, Duration.toMillis("30 days"))
    assert.isBelow(run.steps, 20)
  })

  it("begins where it is told to", () => {
    const start = new Date("2030-05-06T07:08:09Z")
    assert.strictEqual(simulate(Clock.currentTimeMillis, { seed: 1, start }), start.getTime())
  })

  it("moves the wall clock, and nobody who sleeps", () => {
    const { result, elapsed } = runSimulation(
      Effect.gen(function* () {
        const { shiftWallClock } = yield* Simulation
        const before = yield* Clock.currentTimeMillis
        const sleeper = yield* Effect.forkChild(Effect.sleep("1 minute"))
        shiftWallClock("-1 hour")
        yield* Fiber.join(sleeper)
        return (yield* Clock.currentTimeMillis) - before
      }),
      { seed: 1 },
    )
    assert.strictEqual(elapsed, 60_000)
    assert.strictEqual(result, 60_000 - 3_600_000)
  })
})

describe("order", () => {
  it("is the same for the same seed, byte by byte", () => {
    for (const seed of seeds(5)) {
      const first = runSimulation(crowd, { seed })
      const second = runSimulation(crowd, { seed })
      assert.strictEqual(second.trace.text(), first.trace.text())
      assert.strictEqual(first.trace.lines.length, 50)
    }
  })

  it("is another one for another seed", () => {
    const texts = new Set([1, 2, 3, 4, 5].map((seed) => runSimulation(crowd, { seed }).trace.text()))
    assert.strictEqual(texts.size, 5)
  })

  it("is open between what wakes at the same moment", () => {
    const firsts = new Set(
      Array.from({ length: 50 }, (_, seed) =>
        simulate(Effect.raceAll(["a", "b", "c"].map((name) => Effect.as(Effect.sleep("1 second"), name))), {
          seed,
        }),
      ),
    )
    assert.deepStrictEqual([...firsts].sort(), ["a", "b", "c"])
  })

  it("respects priorities", () => {
    const order = simulate(
      Effect.gen(function* () {
        const seen: Array<number> = []
        const at = (priority: number) =>
          Effect.andThen(
            Effect.yieldNowWith(priority),
            Effect.sync(() => seen.push(priority)),
          )
        yield* Effect.all([at(2), at(0), at(1)], { concurrency: "unbounded" })
        return seen
      }),
      { seed: 3 },
    )
    assert.deepStrictEqual(order, [0, 1, 2])
  })
})

describe("a world that cannot go on", () => {
  it("is a deadlock when nothing runs and nobody sleeps, and the message says how to see it again", () => {
    const message = failureOf(() =>
      simulate(
        Effect.promise(() => Promise.resolve()),
        { seed: 17 },
      ),
    )
    assert.match(message, /deadlock at 2026-01-01T00:00:00.000Z/)
    assert.match(message, /real promise/)
    assert.match(
      message,
      /SEED=17 npx vitest run --project unit test\/twins\/simulation\/Simulation.test.ts -t 'a world that cannot go on > is a deadlock/,
    )
  })

  it("is a livelock when it runs without time moving, and the message names who runs", () => {
    const spin = Effect.fn("spin")(function* () {
      while (true) yield* Effect.yieldNow
    })
    const message = failureOf(() => simulate(spin(), { seed: 1, maxSteps: 5_000 }))
    assert.match(message, /livelock.*5000 steps without time moving. Busy: spin/)
  })

  it("keeps what the program failed with, and shows the end of the trace", () => {
    const message = failureOf(() =>
      simulate(
        Effect.gen(function* () {
          const { trace } = yield* Simulation
          yield* Effect.sleep("1 day")
          trace.add("the last thing that happened")
          assert.strictEqual(1, 2)
        }),
        { seed: 4 },
      ),
    )
    assert.match(message, /expected 1 to equal 2/)
    assert.match(message, /SEED=4 /)
    assert.match(message, /1d 00:00:00.000 the last thing that happened/)
  })
})

describe("until", () => {
  it("looks when the world has come to rest, not in the middle of it", () => {
    const seen = simulate(
      Effect.gen(function* () {
        let value = 0
        const seen: Array<number> = []
        yield* Effect.forkScoped(
          Effect.gen(function* () {
            for (let round = 0; round < 3; round++) {
              yield* Effect.sleep("1 second")
              value += 1
              yield* Effect.yieldNow
              value += 10
            }
          }),
        )
        yield* until(() => seen.push(value) > 0 && value === 33, "1 minute", "all rounds are over")
        return seen
      }),
      { seed: 5 },
    )
    assert.deepStrictEqual(seen, [0, 11, 22, 33])
  })

  it("gives up at the deadline, also when nothing else happens", () => {
    const message = failureOf(() =>
      simulate(
        until(() => false, "5 minutes", "pigs fly"),
        { seed: 1 },
      ),
    )
    assert.match(message, /not within 5m of virtual time: pigs fly/)
  })
})

describe("what Effect brings", () => {
  it("times out in virtual time", () => {
    const result = runSimulation(Effect.timeoutOption(Effect.never, "3 hours"), { seed: 1 })
    assert.deepStrictEqual(result.result, Option.none())
    assert.strictEqual(result.elapsed, 3 * 3_600_000)
  })

  it("repeats and retries on schedules", () => {
    const { result, elapsed } = runSimulation(
      Effect.gen(function* () {
        const tries = yield* Ref.make(0)
        const attempt = Effect.filterOrFail(
          Ref.updateAndGet(tries, (count) => count + 1),
          (count) => count === 5,
          () => "not yet",
        )
        return yield* Effect.retry(attempt, Schedule.exponential("1 second"))
      }),
      { seed: 1 },
    )
    assert.strictEqual(result, 5)
    assert.strictEqual(elapsed, 15_000)
  })

  it("streams: merges, buffers, groups within a time", () => {
    const result = simulate(
      Stream.merge(
        Stream.fromSchedule(Schedule.spaced("1 second")).pipe(Stream.take(10)),
        Stream.fromSchedule(Schedule.spaced("3 seconds")).pipe(Stream.take(3)),
      ).pipe(Stream.buffer({ capacity: 4 }), Stream.groupedWithin(100, "1 minute"), Stream.runCollect),
      { seed: 2 },
    )
    assert.strictEqual(result.flat().length, 13)
  })

  it("queues, publishes, permits", () => {
    const result = simulate(
      Effect.gen(function* () {
        const queue = yield* Queue.bounded<number>(2)
        const pubsub = yield* PubSub.unbounded<number>()
        const semaphore = yield* Semaphore.make(2)
        const subscription = yield* PubSub.subscribe(pubsub)
        let inside = 0
        let most = 0
        const work = (value: number) =>
          semaphore.withPermits(1)(
            Effect.gen(function* () {
              inside += 1
              most = Math.max(most, inside)
              yield* Effect.sleep("1 second")
              yield* Queue.offer(queue, value)
              yield* PubSub.publish(pubsub, value)
              inside -= 1
            }),
          )
        const workers = yield* Effect.forkChild(
          Effect.forEach([1, 2, 3, 4, 5, 6], work, { concurrency: "unbounded" }),
        )
        const taken = yield* Effect.replicateEffect(Queue.take(queue), 6)
        const published = yield* Effect.replicateEffect(PubSub.take(subscription), 6)
        yield* Fiber.join(workers)
        return { taken: taken.sort(), published: published.sort(), most }
      }),
      { seed: 8 },
    )
    assert.deepStrictEqual(result, { taken: [1, 2, 3, 4, 5, 6], published: [1, 2, 3, 4, 5, 6], most: 2 })
  })

  it("interrupts, and waits for finalizers", () => {
    const { result, elapsed } = runSimulation(
      Effect.gen(function* () {
        const finalized = yield* Deferred.make<number>()
        const fiber = yield* Effect.never.pipe(
          Effect.onInterrupt(() => Effect.andThen(Effect.sleep("7 seconds"), Deferred.succeed(finalized, 1))),
          Effect.forkChild,
        )
        yield* Effect.sleep("1 second")
        yield* Fiber.interrupt(fiber)
        return yield* Deferred.await(finalized)
      }),
      { seed: 1 },
    )
    assert.strictEqual(result, 1)
    assert.strictEqual(elapsed, 8_000)
  })
})

describe("a lifetime", () => {
  it("stops at once when it ends: nothing of it runs any more, finalizers neither", () => {
    const log = simulate(
      Effect.gen(function* () {
        const { lifetime } = yield* Simulation
        const log: Array<string> = []
        const process = lifetime()
        const ticking = Effect.gen(function* () {
          while (true) {
            yield* Effect.sleep("1 second")
            log.push("tick")
          }
        }).pipe(Effect.onExit(() => Effect.sync(() => log.push("finalizer"))))
        const fiber = yield* Effect.forkChild(
          process.run(Effect.all([ticking, Effect.never], { concurrency: 2 })),
        )
        yield* Effect.sleep("2500 millis")
        process.end()
        yield* Effect.sleep("10 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        assert.isFalse(process.isAlive())
        return log
      }),
      { seed: 1 },
    )
    assert.deepStrictEqual(log, ["tick", "tick"])
  })

  it("gives its result as long as it lives", () => {
    const exit = simulate(
      Effect.gen(function* () {
        const { lifetime } = yield* Simulation
        return yield* Effect.exit(
          lifetime().run(Effect.andThen(Effect.sleep("1 second"), Effect.fail("lost"))),
        )
      }),
      { seed: 1 },
    )
    assert.deepStrictEqual(exit, Exit.fail("lost"))
  })
})

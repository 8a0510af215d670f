import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type Mailbox, makeMailbox } from "../../../src/actors/kit/Mailbox.ts"
import { makeTimers } from "../../../src/actors/kit/Timers.ts"

/** Every reason with the second it came at. */
const record = Effect.fnUntraced(function* (mailbox: Mailbox) {
  const log: Array<string> = []
  const fiber = yield* Effect.forkChild(
    Effect.forever(
      Effect.gen(function* () {
        const reasons = yield* mailbox.take
        const now = yield* Clock.currentTimeMillis
        log.push(`${now / 1000} ${[...reasons].join(" ")}`)
      }),
    ),
  )
  return { log, fiber }
})

describe("a timer", () => {
  it.effect("wakes once, at its time, with its name", () =>
    Effect.gen(function* () {
      const mailbox = yield* makeMailbox
      const timers = yield* makeTimers(mailbox)
      const { log, fiber } = yield* record(mailbox)
      yield* timers.arm("poll", Duration.seconds(10))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(log, ["10 timer:poll"])
      yield* Fiber.interrupt(fiber)
    }),
  )

  it.effect("that is armed again is replaced; others of another name stand", () =>
    Effect.gen(function* () {
      const mailbox = yield* makeMailbox
      const timers = yield* makeTimers(mailbox)
      const { log, fiber } = yield* record(mailbox)
      yield* timers.arm("poll", Duration.seconds(10))
      yield* timers.arm("repair", Duration.seconds(12))
      yield* TestClock.adjust("9 seconds")
      yield* timers.arm("poll", Duration.seconds(10))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(log, ["12 timer:repair", "19 timer:poll"])
      yield* Fiber.interrupt(fiber)
    }),
  )

  it.effect("that is disarmed never fires; disarming one that is not armed is nothing", () =>
    Effect.gen(function* () {
      const mailbox = yield* makeMailbox
      const timers = yield* makeTimers(mailbox)
      yield* timers.disarm("retry")
      yield* timers.arm("poll", Duration.seconds(10))
      yield* timers.disarm("poll")
      yield* TestClock.adjust("1 hour")
      assert.isFalse(mailbox.isPending())
    }),
  )

  it.effect("is armed until it has fired or is disarmed", () =>
    Effect.gen(function* () {
      const timers = yield* makeTimers(yield* makeMailbox)
      assert.isFalse(yield* timers.isArmed)
      yield* timers.arm("poll", Duration.seconds(10))
      assert.isTrue(yield* timers.isArmed)
      yield* TestClock.adjust("10 seconds")
      assert.isFalse(yield* timers.isArmed)
      yield* timers.arm("retry", Duration.seconds(10))
      yield* timers.disarm("retry")
      assert.isFalse(yield* timers.isArmed)
    }),
  )

  it.effect("dies with the scope it was made in", () =>
    Effect.gen(function* () {
      const mailbox = yield* makeMailbox
      yield* Effect.scoped(
        Effect.gen(function* () {
          const timers = yield* makeTimers(mailbox)
          yield* timers.arm("poll", Duration.seconds(10))
          yield* TestClock.adjust("5 seconds")
        }),
      )
      yield* TestClock.adjust("1 hour")
      assert.isFalse(mailbox.isPending())
    }),
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMailbox } from "../../../src/actors/kit/Mailbox.ts"

describe("a mailbox", () => {
  it.effect("coalesces: many wake-ups are one take, with every reason", () =>
    Effect.gen(function* () {
      const mailbox = yield* makeMailbox
      for (const reason of ["a", "b", "a"]) yield* mailbox.wake(reason)
      assert.deepStrictEqual([...(yield* mailbox.take)], ["a", "b"])
      assert.isFalse(mailbox.isPending())
    }),
  )

  it.effect("makes its reader wait while nobody wakes it", () =>
    Effect.gen(function* () {
      const mailbox = yield* makeMailbox
      const reader = yield* Effect.forkChild(mailbox.take)
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(reader.pollUnsafe())
      mailbox.wakeUnsafe("late")
      assert.deepStrictEqual([...(yield* Fiber.join(reader))], ["late"])
    }),
  )

  it.effect("keeps a wake-up that comes while its reader is busy", () =>
    Effect.gen(function* () {
      const mailbox = yield* makeMailbox
      const passes: Array<ReadonlyArray<string>> = []
      const reader = yield* Effect.forkChild(
        Effect.forever(
          mailbox.take.pipe(
            Effect.tap((reasons) => Effect.sync(() => passes.push([...reasons]))),
            Effect.andThen(Effect.sleep("10 seconds")),
          ),
        ),
      )
      yield* mailbox.wake("first")
      yield* TestClock.adjust("1 second")
      yield* mailbox.wake("second")
      yield* mailbox.wake("third")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(passes, [["first"], ["second", "third"]])
      yield* Fiber.interrupt(reader)
    }),
  )

  it.effect("loses nothing to a reader that was interrupted while it waited", () =>
    Effect.gen(function* () {
      const mailbox = yield* makeMailbox
      const reader = yield* Effect.forkChild(mailbox.take)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(reader)
      yield* mailbox.wake("after")
      assert.isTrue(mailbox.isPending())
      assert.deepStrictEqual([...(yield* mailbox.take)], ["after"])
    }),
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMailbox } from "../../../src/actors/kit/Mailbox.ts"
import { makeSlot } from "../../../src/actors/kit/Slot.ts"

const makeTestSlot = Effect.gen(function* () {
  const mailbox = yield* makeMailbox
  const slot = makeSlot<string, string, string>(yield* Effect.scope, mailbox)
  return { mailbox, slot }
})

const finishedExit = (slot: Effect.Success<typeof makeTestSlot>["slot"]) => {
  const state = slot.state()
  return state._tag === "Finished" ? state.exit : assert.fail(`the slot is ${state._tag}`)
}

describe("a slot", () => {
  it.effect("runs one operation and keeps its exit until it is acknowledged", () =>
    Effect.gen(function* () {
      const { mailbox, slot } = yield* makeTestSlot
      assert.deepStrictEqual(slot.state(), { _tag: "Idle" })
      yield* slot.start("install", Effect.as(Effect.sleep("1 minute"), "done"))
      assert.deepStrictEqual(slot.state(), { _tag: "Running", operation: "install", cancelling: false })
      assert.isFalse(mailbox.isPending())
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([...(yield* mailbox.take)], ["operation"])
      assert.deepStrictEqual(finishedExit(slot), Exit.succeed("done"))
      yield* slot.acknowledge
      assert.deepStrictEqual(slot.state(), { _tag: "Idle" })
    }),
  )

  it.effect("never holds two: starting while one runs, or before its exit was read, is a defect", () =>
    Effect.gen(function* () {
      const { slot } = yield* makeTestSlot
      let ran = 0
      const second = Effect.sync(() => `${++ran}`)
      yield* slot.start("first", Effect.as(Effect.sleep("1 minute"), "done"))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(slot.start("second", second))))
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Exit.hasDies(yield* Effect.exit(slot.start("second", second))))
      assert.strictEqual(ran, 0)
      assert.deepStrictEqual(finishedExit(slot), Exit.succeed("done"))
    }),
  )

  it.effect("does not forget a running operation that is acknowledged", () =>
    Effect.gen(function* () {
      const { slot } = yield* makeTestSlot
      yield* slot.start("install", Effect.never)
      yield* slot.acknowledge
      assert.strictEqual(slot.state()._tag, "Running")
    }),
  )

  it.effect("gives a failure and a defect as exits", () =>
    Effect.gen(function* () {
      const { slot } = yield* makeTestSlot
      yield* slot.start("fails", Effect.fail("no registry"))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(finishedExit(slot), Exit.fail("no registry"))
      yield* slot.acknowledge
      yield* slot.start("dies", Effect.die(new Error("boom")))
      yield* TestClock.adjust(0)
      assert.isTrue(Exit.hasDies(finishedExit(slot)))
    }),
  )

  it.effect("cancels without waiting for what the operation has to put in order", () =>
    Effect.gen(function* () {
      const { mailbox, slot } = yield* makeTestSlot
      const closed = yield* Deferred.make<void>()
      yield* slot.start(
        "install",
        Effect.onInterrupt(Effect.never, () => Deferred.await(closed)),
      )
      yield* TestClock.adjust("1 second")
      yield* slot.cancel
      yield* slot.cancel
      assert.deepStrictEqual(slot.state(), { _tag: "Running", operation: "install", cancelling: true })
      assert.isFalse(mailbox.isPending())
      yield* Deferred.succeed(closed, undefined)
      yield* TestClock.adjust(0)
      const exit = finishedExit(slot)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepStrictEqual([...(yield* mailbox.take)], ["operation"])
    }),
  )

  it.effect("stops by waiting for the end, also of what is being cancelled already", () =>
    Effect.gen(function* () {
      const { slot } = yield* makeTestSlot
      const closed = yield* Deferred.make<void>()
      yield* slot.start(
        "install",
        Effect.onInterrupt(Effect.never, () => Deferred.await(closed)),
      )
      yield* TestClock.adjust("1 second")
      yield* slot.cancel
      const stopping = yield* Effect.forkChild(slot.stop)
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(stopping.pollUnsafe())
      yield* Deferred.succeed(closed, undefined)
      yield* Fiber.join(stopping)
      assert.strictEqual(slot.state()._tag, "Finished")
    }),
  )

  it.effect("stops and cancels at once when nothing runs", () =>
    Effect.gen(function* () {
      const { slot } = yield* makeTestSlot
      yield* slot.cancel
      yield* slot.stop
      assert.deepStrictEqual(slot.state(), { _tag: "Idle" })
    }),
  )

  it.effect("tells the end of an operation that was cancelled before it began", () =>
    Effect.gen(function* () {
      const { slot } = yield* makeTestSlot
      yield* slot.start("install", Effect.never)
      yield* slot.stop
      assert.isTrue(Exit.hasInterrupts(finishedExit(slot)))
      yield* slot.acknowledge
      yield* slot.start("again", Effect.succeed("done"))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(finishedExit(slot), Exit.succeed("done"))
    }),
  )
})

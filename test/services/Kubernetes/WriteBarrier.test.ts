import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeWriteBarrier } from "../../../src/services/Kubernetes/WriteBarrier.ts"
import { configMap } from "./Objects.ts"

const key = "ns/a"
const at = (version: string, uid?: string) => configMap("a", version, uid === undefined ? {} : { uid })

/** What `settled` gives within the time, `undefined` while it waits. */
const settledAfter = (barrier: ReturnType<typeof makeWriteBarrier>, meanwhile: Effect.Effect<void>) =>
  Effect.gen(function* () {
    const waiting = yield* Effect.forkChild(barrier.settled(key))
    yield* TestClock.adjust(0)
    yield* meanwhile
    yield* TestClock.adjust(0)
    return waiting.pollUnsafe() === undefined ? undefined : yield* Fiber.join(waiting)
  })

describe("a reader after a write", () => {
  it.effect("does not wait without a write", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* makeWriteBarrier().settled(key))
    }),
  )

  it.effect("waits until the cache shows exactly that version", () =>
    Effect.gen(function* () {
      const barrier = makeWriteBarrier()
      yield* barrier.wrote(key, at("mine"))
      assert.isUndefined(yield* settledAfter(barrier, barrier.observed(key, at("someone else's"))))
      assert.isUndefined(yield* settledAfter(barrier, barrier.observed("ns/b", at("mine"))))
      assert.isTrue(yield* settledAfter(barrier, barrier.observed(key, at("mine"))))
    }),
  )

  it.effect("does not wait for a write that the cache showed before its answer came", () =>
    Effect.gen(function* () {
      const barrier = makeWriteBarrier()
      yield* barrier.observed(key, at("mine"))
      yield* barrier.observed(key, at("newer"))
      yield* barrier.wrote(key, at("mine"))
      assert.isTrue(yield* barrier.settled(key))
    }),
  )

  it.effect("is satisfied by the end of the object, not by the end of an earlier one of that name", () =>
    Effect.gen(function* () {
      const barrier = makeWriteBarrier()
      yield* barrier.wrote(key, at("mine", "second"))
      assert.isUndefined(yield* settledAfter(barrier, barrier.ended(key, at("x", "first"))))
      assert.isTrue(yield* settledAfter(barrier, barrier.ended(key, at("y", "second"))))
    }),
  )

  it.effect("does not wait for an object whose end was seen before the answer came", () =>
    Effect.gen(function* () {
      const barrier = makeWriteBarrier()
      yield* barrier.ended(key, at("y"))
      yield* barrier.wrote(key, at("mine"))
      assert.isTrue(yield* barrier.settled(key))
    }),
  )

  it.effect("waits five seconds and no more, once", () =>
    Effect.gen(function* () {
      const barrier = makeWriteBarrier()
      yield* barrier.wrote(key, at("mine"))
      const waiting = yield* Effect.forkChild(barrier.settled(key))
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* Fiber.join(waiting))
      assert.isTrue(yield* barrier.settled(key))
    }),
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type Claim, type FairPermits, makeFairPermits } from "../../../src/actors/kit/FairPermits.ts"

const settle = Effect.repeat(Effect.yieldNow, { times: 20 })

/** Asks for a permit and holds it for a minute; `started` gets the key when it has it. */
const ask = Effect.fnUntraced(function* (
  permits: FairPermits,
  started: Array<string>,
  claim: Partial<Claim> & { readonly key: string },
  held: Effect.Effect<void> = Effect.sleep("1 minute"),
) {
  const fiber = yield* permits
    .withPermit(
      { urgent: false, failing: false, ...claim },
      Effect.void,
      Effect.andThen(
        Effect.sync(() => started.push(claim.key)),
        held,
      ),
    )
    .pipe(Effect.forkChild)
  yield* settle
  return fiber
})
const minutes = Effect.fnUntraced(function* (count: number) {
  for (let minute = 0; minute < count; minute++) {
    yield* TestClock.adjust("1 minute")
    yield* settle
  }
})

describe("permits", () => {
  it.effect("of which there are few at first become one more with each that comes back", () =>
    Effect.gen(function* () {
      const permits = makeFairPermits(3, 1)
      const started: Array<string> = []
      for (const key of ["a", "b", "c", "d", "e", "f", "g", "h"]) yield* ask(permits, started, { key })
      const after: Array<number> = [started.length]
      for (let minute = 0; minute < 4; minute++) {
        yield* minutes(1)
        after.push(started.length)
      }
      assert.deepStrictEqual(after, [1, 3, 6, 8, 8])
    }),
  )

  it.effect("are at most so many, and all free at the end, however each holder ends", () =>
    Effect.gen(function* () {
      const permits = makeFairPermits(5)
      let most = 0
      const fibers: Array<Fiber.Fiber<void>> = []
      for (let number = 0; number < 50; number++) {
        const ends = number % 3 === 0 ? Effect.die(new Error("ends badly")) : Effect.void
        const held = Effect.sync(() => {
          most = Math.max(most, permits.state().holding)
        }).pipe(Effect.andThen(Effect.sleep("1 minute")), Effect.andThen(ends))
        fibers.push(yield* ask(permits, [], { key: `${number}` }, held))
      }
      for (const fiber of fibers.filter((_, index) => index % 7 === 0)) yield* Fiber.interrupt(fiber)
      yield* minutes(12)
      assert.strictEqual(most, 5)
      assert.deepStrictEqual(permits.state(), { holding: 0, waiting: 0 })
    }),
  )

  it.effect(
    "go to what is urgent first, among a hundred that are not: it waits for one holder's length",
    () =>
      Effect.gen(function* () {
        const permits = makeFairPermits(2)
        const started: Array<string> = []
        for (let number = 0; number < 100; number++) yield* ask(permits, started, { key: `repair ${number}` })
        const asked = yield* Clock.currentTimeMillis
        let startedAt = Number.NaN
        const note = Effect.map(Clock.currentTimeMillis, (now) => {
          startedAt = now
        })
        yield* ask(permits, started, { key: "change", urgent: true }, note)
        yield* minutes(60)
        assert.isAtMost(startedAt - asked, 60_000)
        const repairs = started.filter((key) => key !== "change")
        assert.deepStrictEqual(
          repairs,
          Array.from({ length: 100 }, (_, number) => `repair ${number}`),
        )
      }),
  )

  it.effect(
    "keep the place of a key that gives up waiting and asks again, as long as it is not forgotten",
    () =>
      Effect.gen(function* () {
        const permits = makeFairPermits(1)
        const started: Array<string> = []
        yield* ask(permits, started, { key: "holder" })
        const patient = yield* ask(permits, started, { key: "again" })
        const leaving = yield* ask(permits, started, { key: "forgotten" })
        yield* ask(permits, started, { key: "third" })
        yield* Fiber.interrupt(patient)
        yield* Fiber.interrupt(leaving)
        yield* permits.forget("forgotten")
        yield* ask(permits, started, { key: "forgotten" })
        yield* ask(permits, started, { key: "again" })
        yield* minutes(5)
        assert.deepStrictEqual(started, ["holder", "again", "third", "forgotten"])
      }),
  )

  it.effect("give a key that has run a new place at the end", () =>
    Effect.gen(function* () {
      const permits = makeFairPermits(1)
      const started: Array<string> = []
      yield* ask(permits, started, { key: "one" })
      yield* ask(permits, started, { key: "two" })
      yield* ask(permits, started, { key: "one" })
      yield* minutes(3)
      assert.deepStrictEqual(started, ["one", "two", "one"])
    }),
  )

  for (const [count, share] of [
    [2, 1],
    [3, 1],
    [4, 2],
    [5, 2],
  ] as const) {
    it.effect(`of ${count} go ${share} at most to what keeps failing, and never ends`, () =>
      Effect.gen(function* () {
        const permits = makeFairPermits(count)
        const started: Array<string> = []
        for (let number = 0; number < 5; number++)
          yield* ask(
            permits,
            started,
            { key: `failing ${number}`, urgent: true, failing: true },
            Effect.never,
          )
        assert.lengthOf(started, share)
        for (let number = 0; number < 10; number++) yield* ask(permits, started, { key: `${number}` })
        yield* minutes(10)
        assert.lengthOf(started, share + 10)
      }),
    )
  }

  it.effect("go to what keeps failing last when there is one alone", () =>
    Effect.gen(function* () {
      const permits = makeFairPermits(1)
      const started: Array<string> = []
      yield* ask(permits, started, { key: "holder" })
      yield* ask(permits, started, { key: "failing", urgent: true, failing: true })
      yield* ask(permits, started, { key: "repair" })
      yield* ask(permits, started, { key: "change", urgent: true })
      yield* minutes(4)
      assert.deepStrictEqual(started, ["holder", "change", "repair", "failing"])
    }),
  )
})

// The live clock, by a real clock that the test moves.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { type LiveOptions, runLive, type Timers } from "./Live.ts"
import type { Simulation } from "./Simulation.ts"

/** A clock that stands still between calls of `pass`. */
const makeTimers = () => {
  let now = 1000
  let planned: { readonly at: number; readonly call: () => void } | undefined
  const next = () => planned
  const timers: Timers = {
    now: () => now,
    after: (millis, call) => {
      const own = { at: now + Math.max(0, millis), call }
      planned = own
      return () => {
        if (planned === own) planned = undefined
      }
    },
  }
  const pass = (millis: number) => {
    const end = now + millis
    for (let count = 0, due = next(); due !== undefined && due.at <= end; count++, due = next()) {
      assert.isBelow(count, 100_000, "it comes to rest")
      planned = undefined
      now = Math.max(now, due.at)
      // A slice of the world costs no time here: what is planned at once would never let time pass.
      due.call()
      const soon = next()
      if (soon !== undefined && soon.at <= now) now += 1
    }
    now = Math.max(now, end)
  }
  return { timers, pass, isPlanned: () => planned !== undefined }
}

const run = <A, E>(effect: Effect.Effect<A, E, Simulation>, options: Partial<LiveOptions> = {}) => {
  const clock = makeTimers()
  const ends: Array<Error | undefined> = []
  const live = runLive(effect, {
    seed: 1,
    timers: clock.timers,
    onEnd: (error) => {
      ends.push(error)
    },
    ...options,
  })
  return { ...clock, live, ends }
}

describe("a world on a live clock", () => {
  const ticking = (ticks: Array<number>) =>
    Effect.gen(function* () {
      while (true) {
        yield* Effect.sleep("1 second")
        ticks.push(yield* Clock.currentTimeMillis)
      }
    })

  it("goes along with real time, times the speed", () => {
    const start = new Date("2026-01-01T00:00:00Z")
    for (const speed of [1, 60]) {
      const ticks: Array<number> = []
      const { pass } = run(ticking(ticks), { start, speed })
      pass(10_500 / speed)
      assert.deepStrictEqual(
        ticks.map((tick) => tick - start.getTime()),
        Array.from({ length: 10 }, (_, index) => (index + 1) * 1000),
      )
    }
  })

  it("lets the outside in at the present moment, and acts upon it at once", () => {
    let wake = () => {}
    const seen: Array<number> = []
    const { live, pass } = run(
      Effect.gen(function* () {
        yield* Effect.callback<void>((resume) => {
          wake = () => resume(Effect.void)
        })
        seen.push(yield* Clock.currentTimeMillis)
        return yield* Effect.never
      }),
      { start: new Date(0) },
    )
    pass(5000)
    live.enter(() => wake())
    pass(20)
    assert.deepStrictEqual(seen, [5000])
  })

  it("runs nothing any more once it is stopped", () => {
    const ticks: Array<number> = []
    const { isPlanned, live, pass } = run(ticking(ticks))
    pass(2500)
    live.stop()
    pass(10_000)
    assert.strictEqual(ticks.length, 2)
    assert.isFalse(isPlanned())
  })

  it("says what it ended of", () => {
    const { ends, pass } = run(Effect.andThen(Effect.sleep("1 second"), Effect.die(new Error("broken"))))
    pass(500)
    assert.deepStrictEqual(ends, [])
    pass(1000)
    assert.deepStrictEqual(
      ends.map((error) => error?.message),
      ["broken"],
    )
  })

  it("says that a world spins", () => {
    const { ends, pass } = run(Effect.forever(Effect.yieldNow), { maxSteps: 5000 })
    pass(1000)
    assert.include(ends[0]?.message, "livelock")
  })
})

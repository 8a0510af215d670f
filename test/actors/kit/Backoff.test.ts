import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Random } from "effect"
import {
  cleanupBackoff,
  delayAfter,
  nominalDelay,
  restartBackoff,
  retryBackoff,
} from "../../../src/actors/kit/Backoff.ts"

const seconds = (count: number, policy = retryBackoff) =>
  Array.from({ length: count }, (_, index) => Duration.toSeconds(nominalDelay(policy, index + 1)))

describe("the backoff", () => {
  it("of retries doubles from 1 s to 1000 s", () => {
    assert.deepStrictEqual(seconds(12), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000])
  })

  it("of cleanups doubles from 10 s to 5 min", () => {
    assert.deepStrictEqual(seconds(7, cleanupBackoff), [10, 20, 40, 80, 160, 300, 300])
  })

  it("of restarts doubles from 1 s to 1 min", () => {
    assert.deepStrictEqual(seconds(8, restartBackoff), [1, 2, 4, 8, 16, 32, 60, 60])
  })

  it("stays at its cap however many failures there were, and counts fewer than one as the first", () => {
    assert.strictEqual(Duration.toSeconds(nominalDelay(retryBackoff, 1_000_000)), 1000)
    assert.strictEqual(Duration.toSeconds(nominalDelay(retryBackoff, 0)), 1)
  })

  it.effect("takes off at most a fifth at random, and adds nothing", () =>
    Effect.gen(function* () {
      const delays: Array<number> = []
      for (let tries = 0; tries < 200; tries++) {
        delays.push(Duration.toMillis(yield* delayAfter(retryBackoff, 4)))
      }
      assert.isAbove(Math.min(...delays), 6_400 - 1)
      assert.isAtMost(Math.max(...delays), 8_000)
      // Spread over the whole range, or many failing instances would retry in step.
      assert.isBelow(Math.min(...delays), 6_600)
      assert.isAbove(Math.max(...delays), 7_800)
    }).pipe(Random.withSeed("backoff")),
  )

  it.effect("of cleanups has no jitter: its count is read by people", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* delayAfter(cleanupBackoff, 2), Duration.seconds(20))
    }),
  )
})

// How long to wait before the next attempt of something that failed.
import { Clock, Duration, Effect, Random } from "effect"

/** The first wait is at most this long. */
const BASE = Duration.millis(800)
/** No wait is longer. */
const CAP = Duration.seconds(30)
/** So long must all have been well before the waits start small again. */
const HEALTHY = Duration.seconds(120)

export interface Backoff {
  /** It works (again). */
  readonly succeeded: Effect.Effect<void>
  /** It failed; gives the time to wait: full jitter below 800 ms, doubled at each failure, at most 30 s. */
  readonly failed: Effect.Effect<Duration.Duration>
}

const elapsedSince = (start: bigint, now: bigint): Duration.Duration => Duration.nanos(now - start)

/**
 * Full jitter keeps many watches from coming back in step. One success does not reset the count: a server that takes
 * connections only to drop them would be hammered.
 */
export const makeBackoff: Effect.Effect<Backoff> = Effect.sync(() => {
  let failures = 0
  let wellSince: bigint | undefined
  return {
    succeeded: Effect.map(Clock.monotonicTimeNanos, (now) => {
      wellSince ??= now
    }),
    failed: Effect.gen(function* () {
      const now = yield* Clock.monotonicTimeNanos
      if (wellSince !== undefined && Duration.isGreaterThanOrEqualTo(elapsedSince(wellSince, now), HEALTHY)) {
        failures = 0
      }
      wellSince = undefined
      const longest = Duration.min(CAP, Duration.times(BASE, 2 ** failures))
      failures += 1
      return Duration.times(longest, yield* Random.next)
    }),
  }
})

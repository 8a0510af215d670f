// How long to wait after the n-th failure in a row: doubling from a first delay up to a cap, jittered so that
// many failing instances do not retry in step. The only place that decides this.
import { Duration, Effect, Random } from "effect"

export interface BackoffPolicy {
  readonly first: Duration.Duration
  readonly cap: Duration.Duration
  /** Share of the delay that may be taken off at random, 0 to 1. */
  readonly jitter: number
}

/** After a failed target step or install: 1 s, doubling, 1000 s at most. */
export const retryBackoff: BackoffPolicy = {
  first: Duration.seconds(1),
  cap: Duration.seconds(1000),
  jitter: 0.2,
}

/** After a failed cleanup Job: 10 s, doubling, 5 min at most. */
export const cleanupBackoff: BackoffPolicy = {
  first: Duration.seconds(10),
  cap: Duration.minutes(5),
  jitter: 0,
}

/** After an actor died of a defect: 1 s, doubling, 1 min at most. */
export const restartBackoff: BackoffPolicy = {
  first: Duration.seconds(1),
  cap: Duration.minutes(1),
  jitter: 0.2,
}

/** The delay without jitter. `failures` counts from 1; beyond about 50 doublings only the cap is left. */
export const nominalDelay = (policy: BackoffPolicy, failures: number): Duration.Duration =>
  Duration.min(Duration.times(policy.first, 2 ** Math.min(Math.max(failures, 1) - 1, 50)), policy.cap)

/** The delay to wait before the next try, between `1 - jitter` and 1 times the nominal one. */
export const delayAfter = (policy: BackoffPolicy, failures: number): Effect.Effect<Duration.Duration> =>
  Random.next.pipe(
    Effect.map((chance) => Duration.times(nominalDelay(policy, failures), 1 - policy.jitter * chance)),
  )

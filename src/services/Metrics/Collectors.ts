// What is looked up when somebody scrapes, because it changes by itself: ages, lengths of queues, the process. Each has to
// be cheap: nothing is asked of the disk or of a server.
import { Context, Effect, type Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"

export interface CollectorRegistry {
  /** Runs before each scrape until the scope closes. */
  readonly add: (collect: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
  readonly collect: Effect.Effect<void>
}

export const makeCollectors = (): CollectorRegistry => {
  const collectors = new Set<Effect.Effect<void>>()
  return {
    add: (collect) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => collectors.add(collect)),
          () => Effect.sync(() => collectors.delete(collect)),
        ),
      ),
    collect: Effect.suspend(() => Effect.forEach([...collectors], (each) => each, { discard: true })),
  }
}

/** As the registry of metrics is: the process' own, unless another one is provided. */
export const Collectors = Context.Reference<CollectorRegistry>("platform-operator/Collectors", {
  defaultValue: makeCollectors,
})

/** What a scrape gets: Prometheus' text format, 0.0.4. */
export const scrape: Effect.Effect<string> = Effect.gen(function* () {
  yield* (yield* Collectors).collect
  return yield* PrometheusMetrics.format()
})

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import { WatchHealth, type WatchStatus } from "../../../src/services/Kubernetes/WatchHealth.ts"
import { Collectors, makeCollectors, scrape } from "../../../src/services/Metrics/Collectors.ts"
import { watchAgesLayer } from "../../../src/services/Metrics/WatchAges.ts"
import { samplesIn } from "./exposition.ts"

const watch = (name: string, change: Partial<WatchStatus> = {}): WatchStatus => ({
  name,
  state: "Watching",
  lastEventAt: undefined,
  lastListAt: undefined,
  ...change,
})

const ages = Effect.map(scrape, (text) =>
  Object.fromEntries(samplesIn(text).map(({ labels, value }) => [labels.watch, value])),
)

describe("the age of a watch", () => {
  it.effect("counts from what it was told last, or from when it was first seen", () =>
    Effect.gen(function* () {
      let statuses: ReadonlyArray<WatchStatus> = [
        watch("told", { lastListAt: 1000, lastEventAt: 7000 }),
        watch("listed", { lastListAt: 4000 }),
        watch("begun"),
        watch("unknown", { state: "NotServed" }),
      ]
      yield* Layer.build(
        Layer.provide(watchAgesLayer, Layer.succeed(WatchHealth, { statuses: Effect.sync(() => statuses) })),
      )
      yield* TestClock.setTime(10_000)
      assert.deepStrictEqual(yield* ages, { told: 3, listed: 6, begun: 0 })
      statuses = statuses.slice(2)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* ages, { begun: 5 })
    }).pipe(
      Effect.provideService(Metric.MetricRegistry, new Map()),
      Effect.provideService(Collectors, makeCollectors()),
    ),
  )
})

// The real promtool has nothing against what a scrape gets.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Option } from "effect"
import { Collectors, makeCollectors, scrape } from "../../../src/services/Metrics/Collectors.ts"
import { beginCounters, set } from "../../../src/services/Metrics/Metrics.ts"
import { processMetricsLayer } from "../../../src/services/Metrics/ProcessMetrics.ts"
import { checkMetrics } from "../../support/promtool.ts"
import { runSimulation, until } from "../../twins/simulation/Simulation.ts"
import { makeWorld } from "../../twins/world/World.ts"

describe("promtool", () => {
  it("finds a fault where there is one", () => {
    assert.match(checkMetrics("# TYPE a_total gauge\na_total 1\n"), /a_total/)
  })

  it("finds none in a scrape of an operator with an instance", () => {
    const { result } = runSimulation(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false })
        const operator = yield* world.startOperator({ metrics: true })
        world.apply()
        yield* until(() => world.isReady(), "20 minutes", "the instance is Ready")
        yield* Effect.sleep("40 minutes")
        return Option.getOrThrow(yield* operator.scrape)
      }),
      { seed: 1 },
    )
    assert.include(result, "platforminstance_info")
    assert.strictEqual(checkMetrics(result), "")
  })

  it.live("finds none in a scrape of a process, nor in labels with odd characters", () =>
    Effect.gen(function* () {
      yield* Layer.build(processMetricsLayer)
      yield* beginCounters
      yield* set("platform_operator_watch_age_seconds", { watch: 'a "b" \\ c\nd é' }, 1)
      yield* Effect.sleep("50 millis")
      const text = yield* scrape
      assert.include(text, "process_cpu_seconds_total")
      assert.strictEqual(checkMetrics(text), "")
    }).pipe(
      Effect.provideService(Metric.MetricRegistry, new Map()),
      Effect.provideService(Collectors, makeCollectors()),
    ),
  )
})

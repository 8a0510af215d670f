import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import { Collectors, makeCollectors, scrape } from "../../../src/services/Metrics/Collectors.ts"
import {
  beginCounters,
  forgetInstance,
  increment,
  observe,
  set,
} from "../../../src/services/Metrics/Metrics.ts"
import { processMetricsLayer } from "../../../src/services/Metrics/ProcessMetrics.ts"
import { metricRows } from "../../../src/services/Metrics/Table.ts"
import { makeWorkQueue } from "../../../src/services/Metrics/WorkQueue.ts"
import { helpIn, samplesIn, typesIn, valueIn } from "./exposition.ts"

/** With a registry of its own. */
const alone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(
    Effect.provideService(Metric.MetricRegistry, new Map()),
    Effect.provideService(Collectors, makeCollectors()),
  )

describe("the table of metrics", () => {
  it.each(metricRows)("%s is named as its type and unit ask for", (name, row) => {
    assert.match(name, /^[a-z][a-z0-9_]*$/)
    assert.strictEqual(row.type === "counter", name.endsWith("_total"), "counters alone are totals")
    assert.strictEqual(row.buckets !== undefined, row.type === "histogram")
    assert.match(row.help, /^[A-Z0-9].*[^.]$/)
    assert.notMatch(name, /_(milliseconds|ms|kilobytes|minutes)(_|$)/)
    for (const label of Object.keys(row.labels)) assert.match(label, /^[a-z][a-z_]*$/)
  })

  it("has the labels of an instance on what goes with one, and nowhere else", () => {
    for (const [name, { scope, labels }] of metricRows) {
      assert.strictEqual("namespace" in labels, scope === "instance", name)
    }
  })
})

describe("the series of an instance", () => {
  it("are 40 at most, whatever its state", () => {
    const most = metricRows
      .filter(([, { scope }]) => scope === "instance")
      .map(([, { labels }]) =>
        Object.values(labels).reduce((count, values) => count * Math.max(1, values.length), 1),
      )
    const series = most.reduce((sum, count) => sum + count, 0)
    assert.isAtMost(series, 40)
    assert.isAtLeast(series, most.length)
  })
})

describe("an exposition", () => {
  it.effect("has type and help of each metric, and escapes what a label holds", () =>
    alone(
      Effect.gen(function* () {
        const odd = 'a"b\\c\nd'
        yield* set("platform_operator_watch_age_seconds", { watch: odd }, 1.5)
        yield* increment("controller_runtime_reconcile_total", { controller: "x", result: "error" }, 2)
        yield* observe("platform_operator_queue_wait_seconds", {}, 7)
        const text = yield* scrape
        const samples = samplesIn(text)
        assert.strictEqual(valueIn(samples, "platform_operator_watch_age_seconds", { watch: odd }), 1.5)
        assert.strictEqual(valueIn(samples, "controller_runtime_reconcile_total", { result: "error" }), 2)
        assert.deepStrictEqual(
          ["1", "5", "15", "+Inf"].map((le) =>
            valueIn(samples, "platform_operator_queue_wait_seconds_bucket", { le }),
          ),
          [0, 0, 1, 1],
        )
        assert.strictEqual(valueIn(samples, "platform_operator_queue_wait_seconds_sum"), 7)
        for (const [name, { type, help }] of metricRows) {
          if (!text.includes(`# TYPE ${name} `)) continue
          assert.strictEqual(typesIn(text).get(name), type)
          assert.strictEqual(helpIn(text).get(name), help)
        }
        assert.strictEqual(typesIn(text).size, 3)
      }),
    ),
  )

  it.effect("shows counters before they have counted anything", () =>
    alone(
      Effect.gen(function* () {
        yield* beginCounters
        const samples = samplesIn(yield* scrape)
        for (const operation of ["install", "repair", "rollback", "uninstall"])
          for (const outcome of ["succeeded", "failed", "cancelled"])
            assert.strictEqual(
              valueIn(samples, "platform_operator_helm_runs_total", { operation, outcome }),
              0,
            )
      }),
    ),
  )

  it.effect("has nothing of an instance that is gone, and all of the others", () =>
    alone(
      Effect.gen(function* () {
        for (const name of ["one", "two"]) {
          yield* set("platforminstance_state_bytes", { namespace: "a", name }, 1)
          yield* increment("platforminstance_restored_objects_total", { namespace: "a", name })
        }
        yield* set("leader_election_master_status", { name: "one" }, 1)
        yield* forgetInstance({ namespace: "a", name: "one" })
        assert.deepStrictEqual(
          samplesIn(yield* scrape).map(({ name, labels }) => `${name} ${labels.name}`),
          [
            "platforminstance_state_bytes two",
            "platforminstance_restored_objects_total two",
            "leader_election_master_status one",
          ],
        )
      }),
    ),
  )
})

describe("the process", () => {
  it.live("is in every scrape with all that the table has of it", () =>
    alone(
      Effect.gen(function* () {
        yield* Layer.build(processMetricsLayer)
        yield* scrape
        // The loop's lag is known once timers have come.
        yield* Effect.sleep("50 millis")
        const text = yield* scrape
        const samples = samplesIn(text)
        for (const [name, { scope }] of metricRows) {
          if (scope === "process") assert.isAtLeast(valueIn(samples, name) ?? -1, 0, name)
        }
        const cpu = valueIn(samples, "process_cpu_seconds_total") ?? 0
        assert.approximately(cpu, process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6, 5)
        assert.approximately(
          valueIn(samples, "process_start_time_seconds") ?? 0,
          Date.now() / 1000 - process.uptime(),
          5,
        )
      }),
    ),
  )
})

describe("the work queue", () => {
  it.effect("measures from the wake-up to the pass, and the pass", () =>
    alone(
      Effect.gen(function* () {
        const queue = yield* makeWorkQueue
        queue.woken("a/one")
        queue.woken("a/one")
        queue.woken("a/two")
        yield* TestClock.adjust(Duration.seconds(3))
        const pass = yield* Effect.forkChild(
          queue.work("a/one", Effect.as(Effect.sleep("5 seconds"), "error")),
          { startImmediately: true },
        )
        yield* TestClock.adjust(Duration.seconds(2))
        const during = samplesIn(yield* scrape)
        assert.strictEqual(valueIn(during, "workqueue_adds_total"), 2)
        assert.strictEqual(valueIn(during, "workqueue_depth"), 1)
        assert.strictEqual(valueIn(during, "controller_runtime_active_workers"), 1)
        assert.strictEqual(valueIn(during, "workqueue_longest_running_processor_seconds"), 2)
        assert.strictEqual(valueIn(during, "workqueue_queue_duration_seconds_sum"), 3)
        yield* TestClock.adjust(Duration.seconds(3))
        yield* Fiber.await(pass)
        const after = samplesIn(yield* scrape)
        assert.strictEqual(valueIn(after, "controller_runtime_active_workers"), 0)
        assert.strictEqual(valueIn(after, "workqueue_unfinished_work_seconds"), 0)
        assert.strictEqual(valueIn(after, "workqueue_work_duration_seconds_sum"), 5)
        assert.strictEqual(valueIn(after, "controller_runtime_reconcile_time_seconds_sum"), 5)
        assert.strictEqual(valueIn(after, "controller_runtime_reconcile_total", { result: "error" }), 1)
        assert.strictEqual(valueIn(after, "controller_runtime_reconcile_errors_total"), 1)
        assert.strictEqual(valueIn(after, "workqueue_retries_total"), 1)
      }).pipe(Effect.scoped),
    ),
  )
})

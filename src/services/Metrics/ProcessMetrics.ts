// The operator's own process, looked at when somebody scrapes.
import { readdirSync, readFileSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Layer, Option } from "effect"
import { Collectors } from "./Collectors.ts"
import { increment, set } from "./Metrics.ts"

/** Of this process, by a look into /proc: memory files, no disk. `None` where there is none. */
const inProc = (look: () => number) =>
  Effect.sync((): Option.Option<number> => {
    try {
      // Without a limit there is no number.
      return Option.filter(Option.some(look()), Number.isFinite)
    } catch {
      return Option.none()
    }
  })

const openFds = inProc(() => readdirSync("/proc/self/fd").length)
const maxFds = inProc(() => {
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]
  return Number(limit ?? Number.NaN)
})

const startedAt = Date.now() / 1000 - process.uptime()
const nanos = 1e9

const collect = Effect.gen(function* () {
  const loop = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: 10 })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => histogram.disable()),
  )
  let counted = 0
  yield* (yield* Collectors).add(
    Effect.gen(function* () {
      const { user, system } = process.cpuUsage()
      const cpu = (user + system) / 1e6
      yield* increment("process_cpu_seconds_total", {}, cpu - counted)
      counted = cpu
      const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
      yield* set("process_resident_memory_bytes", {}, rss)
      yield* set("process_start_time_seconds", {}, startedAt)
      yield* set("nodejs_version_info", { version: process.version }, 1)
      yield* set("nodejs_heap_size_total_bytes", {}, heapTotal)
      yield* set("nodejs_heap_size_used_bytes", {}, heapUsed)
      yield* set("nodejs_external_memory_bytes", {}, external)
      const open = yield* openFds
      if (Option.isSome(open)) yield* set("process_open_fds", {}, open.value)
      const max = yield* maxFds
      if (Option.isSome(max)) yield* set("process_max_fds", {}, max.value)
      // It has nothing to tell before the first timer.
      if (loop.count > 0) {
        yield* set("nodejs_eventloop_lag_seconds", {}, loop.mean / nanos)
        yield* set("nodejs_eventloop_lag_max_seconds", {}, loop.max / nanos)
      }
      loop.reset()
    }),
  )
})

export const processMetricsLayer = Layer.effectDiscard(collect)

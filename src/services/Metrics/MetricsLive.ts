// What is measured beside what the actors and services count themselves.
import { Effect, Layer } from "effect"
import { type DiskUsageOptions, diskUsageLayer } from "./DiskUsage.ts"
import { beginCounters, set } from "./Metrics.ts"
import { watchAgesLayer } from "./WatchAges.ts"

export interface MetricsOptions extends DiskUsageOptions {
  readonly version: string
  /** Whether programs of packages run in the sandbox. */
  readonly sandboxed: boolean
}

const identityLayer = ({ version, sandboxed }: MetricsOptions) =>
  Layer.effectDiscard(
    beginCounters.pipe(
      Effect.andThen(set("platform_operator_info", { version }, 1)),
      Effect.andThen(set("platform_operator_sandbox_active", {}, sandboxed ? 1 : 0)),
    ),
  )

/** Needs the health of the watches, the state directory and the disk. The process itself is `processMetricsLayer`. */
export const measuresLayer = (options: MetricsOptions) =>
  Layer.mergeAll(identityLayer(options), watchAgesLayer, diskUsageLayer(options))

// What is measured beside what the actors and services count themselves.
import { Effect, Layer } from "effect"
import { type DiskUsageOptions, diskUsageLayer } from "./DiskUsage.ts"
import { beginCounters, set } from "./Metrics.ts"
import { watchAgesLayer } from "./WatchAges.ts"

export interface MetricsOptions extends DiskUsageOptions {
  readonly version: string
}

const identityLayer = (version: string) =>
  Layer.effectDiscard(Effect.andThen(beginCounters, set("platform_operator_info", { version }, 1)))

/** Needs the health of the watches, the state directory and the disk. The process itself is `processMetricsLayer`. */
export const measuresLayer = (options: MetricsOptions) =>
  Layer.mergeAll(identityLayer(options.version), watchAgesLayer, diskUsageLayer(options))

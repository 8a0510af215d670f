// Counts and sets the metrics of the table, in the registry of the fiber that does so.
import { Effect, Metric } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import type { MetricRow } from "./Row.ts"
import { type LabelsOf, type MetricName, metricRows, metricTable, type NameOf } from "./Table.ts"

const description = (name: MetricName) => ({ description: metricTable[name].help })

const counter = (name: NameOf<"counter">) => Metric.counter(name, { ...description(name), incremental: true })
const gauge = (name: NameOf<"gauge">) => Metric.gauge(name, description(name))
const histogram = (name: NameOf<"histogram">) =>
  Metric.histogram(name, { ...description(name), boundaries: metricTable[name].buckets })

/** One of each name: what carries labels refers to it. */
const once = <N extends MetricName, M>(make: (name: N) => M) => {
  const made = new Map<N, M>()
  return (name: N): M => {
    const known = made.get(name)
    if (known !== undefined) return known
    const fresh = make(name)
    made.set(name, fresh)
    return fresh
  }
}
const counters = once(counter)
const gauges = once(gauge)
const histograms = once(histogram)

export const increment = <N extends NameOf<"counter">>(
  name: N,
  labels: LabelsOf<N>,
  by = 1,
): Effect.Effect<void> => Metric.update(Metric.withAttributes(counters(name), labels), by)

export const set = <N extends NameOf<"gauge">>(
  name: N,
  labels: LabelsOf<N>,
  value: number,
): Effect.Effect<void> => Metric.update(Metric.withAttributes(gauges(name), labels), value)

export const observe = <N extends NameOf<"histogram">>(
  name: N,
  labels: LabelsOf<N>,
  value: number,
): Effect.Effect<void> => Metric.update(Metric.withAttributes(histograms(name), labels), value)

/** Takes one series away. */
export const unset = <N extends NameOf<"gauge">>(name: N, labels: LabelsOf<N>): Effect.Effect<void> =>
  Metric.remove(Metric.withAttributes(gauges(name), labels))

/** Takes every series of a gauge away, such as of what was there at the scrape before. */
export const unsetAll = (name: NameOf<"gauge">, of: Readonly<Record<string, string>> = {}) =>
  Effect.map(Metric.MetricRegistry, (registry) => {
    for (const [key, { id, attributes }] of registry) {
      if (id !== name) continue
      if (Object.entries(of).every(([label, value]) => attributes?.[label] === value)) registry.delete(key)
    }
  })

const instanceNames: ReadonlySet<string> = new Set(
  metricRows.filter(([, { scope }]) => scope === "instance").map(([name]) => name),
)

/** Nothing is left of an instance that is gone. */
export const forgetInstance = (instance: InstanceKey): Effect.Effect<void> =>
  Effect.map(Metric.MetricRegistry, (registry) => {
    for (const [key, { id, attributes }] of registry) {
      if (!instanceNames.has(id)) continue
      if (attributes?.namespace === instance.namespace && attributes.name === instance.name)
        registry.delete(key)
    }
  })

/** Every combination of the values of its labels; none when one of them can be anything. */
const combinations = ({ labels }: MetricRow): ReadonlyArray<Readonly<Record<string, string>>> =>
  Object.entries(labels).reduce<ReadonlyArray<Readonly<Record<string, string>>>>(
    (made, [label, values]) => made.flatMap((each) => values.map((value) => ({ ...each, [label]: value }))),
    [{}],
  )

/** A counter that appears with its first event is not seen to rise: those whose labels are known begin at 0. */
export const beginCounters: Effect.Effect<void> = Effect.forEach(
  metricRows.filter(([, { type, scope }]) => type === "counter" && scope !== "process"),
  ([name, row]) =>
    Effect.forEach(
      combinations(row),
      (labels) => Metric.update(Metric.withAttributes(counters(name as NameOf<"counter">), labels), 0),
      { discard: true },
    ),
  { discard: true },
)

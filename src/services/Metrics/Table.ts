// Every metric there is, in one table: names, types, labels, words. The documentation's tables are made from it
// (tools/docs/metrics.ts), and nothing can be measured that does not stand in it.
import { controllerRows } from "./controllerRows.ts"
import { instanceRows } from "./instanceRows.ts"
import { operatorRows } from "./operatorRows.ts"
import { processRows } from "./processRows.ts"
import type { MetricRow, MetricType } from "./Row.ts"

export const metricTable = { ...controllerRows, ...operatorRows, ...instanceRows, ...processRows } as const

export type MetricName = keyof typeof metricTable

/** Names of metrics of one type. */
export type NameOf<T extends MetricType> = {
  [N in MetricName]: (typeof metricTable)[N]["type"] extends T ? N : never
}[MetricName]

/** A value for each of its labels. */
export type LabelsOf<N extends MetricName> = {
  readonly [L in keyof (typeof metricTable)[N]["labels"]]: string
}

export const metricRows: ReadonlyArray<readonly [MetricName, MetricRow]> = Object.entries(metricTable).map(
  ([name, row]) => [name as MetricName, row],
)

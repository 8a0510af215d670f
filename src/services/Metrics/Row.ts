// What a line of the table of metrics says.

export type MetricType = "counter" | "gauge" | "histogram"

/** Whose series these are: `instance` ones carry its `namespace` and `name`, and go with it. */
export type MetricScope = "controller" | "operator" | "instance" | "process"

export interface MetricRow {
  readonly type: MetricType
  readonly scope: MetricScope
  /** Prometheus' HELP, and the documentation's words. The unit is the name's own suffix. */
  readonly help: string
  /** The values a label can have; an empty list where they are not known beforehand. */
  readonly labels: Readonly<Record<string, ReadonlyArray<string>>>
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: ReadonlyArray<number>
}

/** A label of any value. */
export const any: ReadonlyArray<string> = []

export const ofInstance = { namespace: any, name: any } as const

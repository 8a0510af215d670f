// The tables of metrics, read off the table in the code.
import type { MetricRow, MetricScope } from "../../src/services/Metrics/Row.ts"
import { metricRows } from "../../src/services/Metrics/Table.ts"
import { code, table } from "./Markdown.ts"

const labelsOf = ({ labels }: MetricRow): string =>
  Object.entries(labels)
    .map(([label, values]) =>
      values.length === 0 ? code(label) : `${code(label)} (${values.map(code).join(", ")})`,
    )
    .join(", ")

export const metricTableOf = (scope: MetricScope): string =>
  table(
    ["Metric", "Type", "Labels", "What it says"],
    metricRows
      .filter(([, row]) => row.scope === scope)
      .map(([name, row]) => [code(name), row.type, labelsOf(row), `${row.help}.`]),
  )

// The arithmetic of a benchmark's table: what a series of figures says, and whether a goal is met.

export interface Series {
  readonly name: string
  readonly unit: string
  /** One figure a round, in any order; at least one. */
  readonly figures: ReadonlyArray<number>
  /** The median must not be greater. Without one the series is told, and judged by nobody. */
  readonly goal?: number
}

export interface Summary {
  readonly minimum: number
  readonly median: number
  readonly maximum: number
  /** Whether the median is at most the goal; absent without a goal. */
  readonly met?: boolean
}

/** The middle one; of an even number the mean of the two in the middle. */
export const median = (figures: ReadonlyArray<number>): number => {
  if (figures.length === 0) throw new Error("no figures")
  const sorted = figures.toSorted((a, b) => a - b)
  const middle = sorted.slice(Math.floor((sorted.length - 1) / 2), Math.floor(sorted.length / 2) + 1)
  return middle.reduce((sum, figure) => sum + figure, 0) / middle.length
}

/** The least of them that so large a share does not exceed. */
export const percentile = (figures: ReadonlyArray<number>, share: number): number => {
  const sorted = figures.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

export const summarise = ({ figures, goal }: Series): Summary => {
  const summary = { minimum: Math.min(...figures), median: median(figures), maximum: Math.max(...figures) }
  return goal === undefined ? summary : { ...summary, met: summary.median <= goal }
}

/** Figure by figure of two series that were measured side by side. */
export const ratios = (ours: ReadonlyArray<number>, theirs: ReadonlyArray<number>): ReadonlyArray<number> => {
  if (ours.length !== theirs.length) throw new Error(`${ours.length} figures beside ${theirs.length}`)
  return ours.map((figure, index) => figure / (theirs[index] ?? Number.NaN))
}

const digits = (figure: number): string => figure.toFixed(figure < 10 ? 2 : figure < 100 ? 1 : 0)

const cells = (series: Series): ReadonlyArray<string> => {
  const { minimum, median: middle, maximum, met } = summarise(series)
  return [
    series.name,
    series.unit,
    ...[minimum, middle, maximum].map(digits),
    series.goal === undefined ? "" : `≤ ${series.goal}`,
    met === undefined ? "" : met ? "yes" : "no",
  ]
}

/** A table in Markdown, aligned for whoever reads it as it is. */
export const table = (all: ReadonlyArray<Series>): string => {
  const rows = [["what", "unit", "minimum", "median", "maximum", "goal", "met"], ...all.map(cells)]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = rows.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`)
  lines.splice(1, 0, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`)
  return lines.join("\n")
}

/** What `.bench/results.json` holds of a series. */
export const result = (series: Series) => ({
  name: series.name,
  figure: summarise(series).median,
  unit: series.unit,
  goal: series.goal ?? null,
  met: summarise(series).met ?? null,
  figures: series.figures,
})

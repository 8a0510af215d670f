// A Prometheus for a simulated operator: scrapes it every minute, and keeps what the chart's alerts look at.
import { readFileSync } from "node:fs"
import { Clock, Effect, Option } from "effect"
import { parse } from "yaml"
import type { Operator } from "../twins/world/Operators.ts"

export interface Recording {
  /** Milliseconds since the epoch: of the first scrape. */
  readonly start: number
  /** One scrape to the next. */
  readonly intervalMillis: number
  readonly scrapes: () => number
  /** By series, as the exposition writes it: a value or none for each scrape. */
  readonly series: ReadonlyMap<string, ReadonlyArray<string | undefined>>
}

export const alertFile = new URL("../../charts/platform-operator/files/alerts.yaml", import.meta.url)

interface Rule {
  readonly alert: string
  readonly expr: string
}
export const alertRules: ReadonlyArray<Rule> = parse(readFileSync(alertFile, "utf8")).groups.flatMap(
  ({ rules }: { readonly rules: ReadonlyArray<Rule> }) => rules,
)

const nameOf = (series: string): string => series.split("{")[0] ?? series

/** What occurs in an expression: names of series, and words that are none. */
const wordsOf = (text: string) => text.match(/[a-zA-Z_:][a-zA-Z0-9_:]*/g) ?? []
const looked = new Set(alertRules.flatMap(({ expr }) => wordsOf(expr)))

/** Lines of the exposition as series and value. */
const samplesOf = (text: string): ReadonlyArray<readonly [string, string]> =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const at = line.lastIndexOf(" ")
      return [line.slice(0, at), line.slice(at + 1)]
    })

/** Scrapes until its scope closes. What was there at the scrape before and is not any more has no value from then on. */
export const record = Effect.fnUntraced(function* (operators: ReadonlyArray<Operator>) {
  const intervalMillis = 60_000
  const series = new Map<string, Array<string | undefined>>()
  const start = yield* Clock.currentTimeMillis
  let scrapes = 0
  const scrapeAll = Effect.gen(function* () {
    for (const [index, { scrape }] of operators.entries()) {
      const text = Option.getOrElse(yield* scrape, () => "")
      for (const [name, value] of samplesOf(text)) {
        if (!looked.has(nameOf(name))) continue
        // As Prometheus labels what it has scraped.
        const labelled = name.includes("{")
          ? name.replace("{", `{instance="${index}",`)
          : `${name}{instance="${index}"}`
        const values = series.get(labelled) ?? []
        series.set(labelled, values)
        values[scrapes] = value
      }
    }
    scrapes += 1
  })
  yield* scrapeAll.pipe(Effect.andThen(Effect.sleep(intervalMillis)), Effect.forever, Effect.forkScoped)
  return { start, intervalMillis, scrapes: () => scrapes, series } satisfies Recording
})

// Asks the real promtool: whether an exposition is clean, whether rules can be read, and which alerts fire over series that
// were recorded.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { stringify } from "yaml"
import { alertFile, type Recording } from "../simulation/scraping.ts"

const build = fileURLToPath(new URL("../../tools/programs/build.sh", import.meta.url))
let program: string | undefined
/** Built when it is first asked for. */
const promtool = (): string => {
  if (program !== undefined) return program
  const { status, stdout } = spawnSync(build, ["promtool"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  })
  if (status !== 0) throw new Error(`${build} promtool ended with ${status}`)
  program = `${stdout.trim()}/promtool`
  return program
}

const run = (args: ReadonlyArray<string>, input = "") => {
  const { status, stdout, stderr } = spawnSync(promtool(), args, {
    encoding: "utf8",
    input,
    maxBuffer: 2 ** 28,
  })
  return { ok: status === 0, said: `${stdout}${stderr}`.trim() }
}

/** What is wrong with a text that a scrape got; empty when it is clean. */
export const checkMetrics = (exposition: string): string => run(["check", "metrics"], exposition).said

export const checkRules = (path = fileURLToPath(alertFile)) => run(["check", "rules", "--lint-fatal", path])

/** As promtool writes series: `ax3` is a and three more of it. */
const valuesOf = (values: ReadonlyArray<string | undefined>, scrapes: number): string => {
  const parts: Array<string> = []
  for (let at = 0; at < scrapes; ) {
    const value = values[at]
    let end = at + 1
    while (end < scrapes && values[end] === value) end += 1
    if (value === undefined) {
      // What is gone at a scrape is so at once, and not for as long as Prometheus looks back.
      const stale = at > 0
      if (stale) parts.push("stale")
      const left = end - at - (stale ? 1 : 0)
      if (left > 0) parts.push(`_x${left}`)
    } else parts.push(end - at === 1 ? value : `${value}x${end - at - 1}`)
    at = end
  }
  return parts.join(" ")
}

export interface Question {
  /** A scrape, counted from 0. */
  readonly at: number
  readonly expr: string
  /** The values of the answer, without labels; none for an empty answer. */
  readonly expected: ReadonlyArray<number>
}

const minutes = (scrapes: number) => `${scrapes}m`

/** What promtool says against the answers that are expected; empty when they are right. */
export const askRules = (recording: Recording, questions: ReadonlyArray<Question>): string => {
  const folder = mkdtempSync(join(tmpdir(), "alerts-"))
  try {
    const test = join(folder, "test.yaml")
    const scrapes = recording.scrapes()
    writeFileSync(
      test,
      stringify(
        {
          rule_files: [fileURLToPath(alertFile)],
          evaluation_interval: "1m",
          tests: [
            {
              interval: "1m",
              start_timestamp: Math.round(recording.start / 1000),
              input_series: [...recording.series].map(([series, values]) => ({
                series,
                values: valuesOf(values, scrapes),
              })),
              promql_expr_test: questions.map(({ at, expr, expected }) => ({
                expr,
                eval_time: minutes(at),
                exp_samples: expected.map((value) => ({ labels: "{}", value })),
              })),
            },
          ],
        },
        { lineWidth: 0 },
      ),
    )
    const { ok, said } = run(["test", "rules", test])
    return ok ? "" : said || "it failed without a word"
  } finally {
    rmSync(folder, { recursive: true })
  }
}

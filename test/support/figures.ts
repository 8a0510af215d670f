// What the simulation has played, in figures: each suite notes its own, in whichever process it runs; when all have ended they
// are added up, printed and written to `.simulation/report.json`. Set up once for all unit tests (`vitest.config.ts`).
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import path from "node:path"

interface Share {
  readonly done: number
  readonly of: number
}

/** What one test adds. */
export interface Figures {
  readonly suite: string
  /** Worlds that were played, each with something happening in it. */
  readonly plans: number
  /** Of the points at which the operator can die once. */
  readonly points?: Share
  /** Plans in which it dies twice. */
  readonly pairs?: number
  readonly states?: Share
}

export interface Report {
  readonly plans: number
  /** From the first note to the last, on the wall's clock. */
  readonly seconds: number
  readonly crashPoints: Share
  readonly crashPairs: number
  readonly badStates: Share
  readonly suites: Readonly<Record<string, number>>
  /** What the last `make mutants` on this machine came to; absent when there was none. */
  readonly mutants?: Share
}

const variable = "SIMULATION_FIGURES"
const folder = ".simulation"

/** Plans that the samples come to as they are; `PLANS` makes them greater by as much as it is greater. */
const usual = 250

/** About how many plans are asked for by `PLANS`; 0: as many as in `make test`. */
export const planned = (): number => Number(process.env.PLANS || 0)

/** How many of a sample to play. */
export const scaled = (count: number): number => Math.ceil(count * Math.max(1, planned() / usual))

/** Adds to the figures; nothing outside of the unit tests. */
export const note = (figures: Figures): void => {
  const file = process.env[variable]
  if (file === undefined || figures.plans === 0) return
  const at = performance.timeOrigin + performance.now()
  appendFileSync(file, `${JSON.stringify({ ...figures, at })}\n`)
}

type Note = Figures & { readonly at: number }

const none: Share = { done: 0, of: 0 }
const add = (left: Share, right: Share = none): Share => ({
  done: left.done + right.done,
  of: left.of + right.of,
})

/** `began`: milliseconds since the epoch. */
export const addUp = (notes: ReadonlyArray<Note>, began: number, mutants?: Share): Report => {
  const suites: Record<string, number> = {}
  for (const { suite, plans } of notes) suites[suite] = (suites[suite] ?? 0) + plans
  return {
    plans: notes.reduce((sum, { plans }) => sum + plans, 0),
    seconds: Math.round((Math.max(began, ...notes.map(({ at }) => at)) - began) / 1000),
    crashPoints: notes.reduce((sum, { points }) => add(sum, points), none),
    crashPairs: notes.reduce((sum, { pairs = 0 }) => sum + pairs, 0),
    badStates: notes.reduce((sum, { states }) => add(sum, states), none),
    suites,
    ...(mutants === undefined ? {} : { mutants }),
  }
}

/** A line a figure; what no suite has played says nothing. */
export const closingLines = (report: Report): ReadonlyArray<string> => [
  `plans: ${report.plans} in ${report.seconds} s`,
  ...(report.crashPoints.of === 0
    ? []
    : [`crash points: ${report.crashPoints.done} of ${report.crashPoints.of}`]),
  ...(report.crashPairs === 0 ? [] : [`crash pairs: ${report.crashPairs}`]),
  ...(report.badStates.of === 0 ? [] : [`bad states: ${report.badStates.done} of ${report.badStates.of}`]),
  ...(report.mutants === undefined ? [] : [`mutants: ${report.mutants.done} of ${report.mutants.of} caught`]),
]

/** Those that are listed with a reason left out. */
const lastMutants = (): Share | undefined => {
  const file = path.join(folder, "mutants.json")
  if (!existsSync(file)) return undefined
  const { all, caught, listed }: { all: number; caught: number; listed: ReadonlyArray<string> } = JSON.parse(
    readFileSync(file, "utf8"),
  )
  return { done: caught, of: all - listed.length }
}

/** Begins the figures of a run of tests, and gives what closes them. */
export default function begin(): () => void {
  const file = path.resolve(folder, `figures-${process.pid}.jsonl`)
  const began = performance.timeOrigin + performance.now()
  mkdirSync(folder, { recursive: true })
  process.env[variable] = file
  return () => {
    if (!existsSync(file)) return
    const notes = readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line): Note => JSON.parse(line))
    rmSync(file)
    const report = addUp(notes, began, lastMutants())
    writeFileSync(path.join(folder, "report.json"), `${JSON.stringify(report, undefined, 2)}\n`)
    console.info(closingLines(report).join("\n"))
  }
}

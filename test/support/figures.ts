// What the simulation has played, in figures: each suite notes its own, in whichever process it runs; when all have ended they
// are added up, printed and written to `.simulation/report.json`. Set up once for all unit tests (`vitest.config.ts`).
// `make simulate` also asks for what each world has come to, to compare two runs of a seed: `.simulation/worlds.json`.
import { createHash } from "node:crypto"
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
  /** From the beginning of all tests to the last note, on the wall's clock. */
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
const usual = 1000

/** About how many plans are asked for by `PLANS`; 0: as many as in `make test`. */
export const planned = (): number => Number(process.env.PLANS || 0)

/** How many of a sample to play. */
export const scaled = (count: number): number => Math.ceil(count * Math.max(1, planned() / usual))

/** Adds to the figures; nothing outside of the unit tests. Of points that were all left out it counts how many there are. */
export const note = (figures: Figures): void => {
  const file = process.env[variable]
  if (file === undefined || (figures.plans === 0 && figures.points === undefined)) return
  const at = performance.timeOrigin + performance.now()
  appendFileSync(file, `${JSON.stringify({ ...figures, at })}\n`)
}

type Note = Figures & { readonly at: number }

/** Where the worlds that are played are told of, when somebody asks for it. */
const worldsVariable = "SIMULATION_WORLDS"

export const areWorldsAsked = (): boolean => process.env[worldsVariable] !== undefined

/** A world that a test has played, and a digest of all that has happened in it. */
export const noteWorld = (test: string, digest: string): void => {
  const file = process.env[worldsVariable]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ test, digest })}\n`)
}

interface World {
  readonly test: string
  readonly digest: string
}

/** One digest a test, of all worlds it has played, in their order. */
export const digestTests = (worlds: ReadonlyArray<World>): Readonly<Record<string, string>> => {
  const tests = new Map<string, Array<string>>()
  for (const { test, digest } of worlds) tests.set(test, [...(tests.get(test) ?? []), digest])
  return Object.fromEntries(
    [...tests]
      .sort()
      .map(([test, digests]) => [
        test,
        `${digests.length} ${createHash("sha256").update(digests.join("\n")).digest("hex").slice(0, 16)}`,
      ]),
  )
}

/** The lines of a file that are JSON each; it is gone then. */
const takeLines = <A>(file: string): ReadonlyArray<A> => {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, "utf8").split("\n")
  rmSync(file)
  return lines.filter((line) => line !== "").map((line): A => JSON.parse(line))
}

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
  const worlds = path.resolve(folder, `worlds-${process.pid}.jsonl`)
  const began = performance.timeOrigin
  mkdirSync(folder, { recursive: true })
  process.env[variable] = file
  if (areWorldsAsked()) process.env[worldsVariable] = worlds
  return () => {
    if (areWorldsAsked()) {
      const tests = digestTests(takeLines<World>(worlds))
      writeFileSync(path.join(folder, "worlds.json"), `${JSON.stringify(tests, undefined, 2)}\n`)
    }
    const notes = takeLines<Note>(file)
    if (notes.length === 0) return
    const report = addUp(notes, began, lastMutants())
    writeFileSync(path.join(folder, "report.json"), `${JSON.stringify(report, undefined, 2)}\n`)
    console.info(closingLines(report).join("\n"))
  }
}

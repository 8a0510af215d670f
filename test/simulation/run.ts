// make simulate: the whole simulation, more of it than `make test` plays, and twice with each seed: a world of one seed that
// comes to something else the second time is flaky, and that is a defect. Before that, once, what is the same with each seed:
// quiet days, a month of a hundred instances with them.
//
//   SEED   that seed alone (default: 1 to 5)
//   PLANS  about so many pairs of deaths a run (default 400: 2,000 with five seeds); from 1,000 on, samples of all else to match
//   FULL   1: everything, none sampled, which takes hours
//   ONLY   a part of the tests' names: no others, and no quiet days
//
// It goes on after a failure, and ends with a line a run and the commands that play again what has failed.
import { spawnSync } from "node:child_process"
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import path from "node:path"
import { Schema } from "effect"
import { testResults } from "../../tools/testReport.ts"
import { cpuSeconds } from "../bench/usage.ts"
import { type Outcome, otherwise, type Run, replays, runLine } from "./runs.ts"

const { SEED: given = "", PLANS: plans = "400", ONLY: only = "" } = process.env
const seeds = given === "" ? ["1", "2", "3", "4", "5"] : [given]
const folder = ".simulation"
const results = path.join(folder, "tests.json")
const report = path.join(folder, "report.json")
const worlds = path.join(folder, "worlds.json")
const quietDays = "test/simulation/days.test.ts"
const ofSeeds = globSync("test/simulation/**/*.test.ts").filter((file) => file !== quietDays)

const Results = Schema.fromJsonString(Schema.Struct({ testResults }))
const Figures = Schema.fromJsonString(
  Schema.Struct({
    plans: Schema.Finite,
    seconds: Schema.Finite,
    crashPairs: Schema.Finite,
  }),
)
const Worlds = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

/** What a run has left in a file; undefined when it has died before. */
const left = <A, I>(schema: Schema.Codec<A, I>, file: string): A | undefined =>
  existsSync(file) ? Schema.decodeUnknownSync(schema)(readFileSync(file, "utf8")) : undefined

const run = (name: string, tests: ReadonlyArray<string>, environment: NodeJS.ProcessEnv): Run => {
  console.info(name)
  const cpu = cpuSeconds().children
  for (const file of [results, report, worlds]) rmSync(file, { force: true })
  const { status } = spawnSync(
    path.join("node_modules", ".bin", "vitest"),
    [
      ...["run", "--project", "unit", ...tests, "--reporter=default", "--reporter=json"],
      `--outputFile.json=${results}`,
    ],
    { stdio: "inherit", env: { ...process.env, SIMULATION_WORLDS: "1", ...environment } },
  )
  const outcomes = (left(Results, results)?.testResults ?? [])
    .flatMap(({ assertionResults }) => assertionResults)
    .map(
      ({ fullName, status: outcome, failureMessages }): Outcome => ({
        test: fullName,
        status: outcome,
        messages: failureMessages ?? [],
      }),
    )
  const done: Run = {
    name,
    passed: status === 0,
    outcomes,
    figures: left(Figures, report),
    cpuSeconds: cpuSeconds().children - cpu,
    worlds: new Map(Object.entries(left(Worlds, worlds) ?? {})),
  }
  console.info(runLine(done))
  return done
}

mkdirSync(folder, { recursive: true })
const runs: Array<Run> = []
const flaky: Array<string> = []
/** Pairs of deaths, each once: a second run plays the same. */
let pairs = 0
if (only === "") runs.push(run("quiet days", [quietDays], { SEED: seeds[0], HUNDRED_DAYS: "30" }))
for (const seed of seeds) {
  const ofSeed = (number: number): Run => {
    const tests = [...ofSeeds, ...(only === "" ? [] : ["-t", only])]
    const done = run(`seed ${seed}, run ${number} of 2`, tests, { SEED: seed, PLANS: plans })
    if (existsSync(report))
      writeFileSync(path.join(folder, `report-${seed}-${number}.json`), readFileSync(report))
    return done
  }
  const first = ofSeed(1)
  const second = ofSeed(2)
  runs.push(first, second)
  pairs += first.figures?.crashPairs ?? 0
  const found = otherwise(first, second)
  console.info(`seed ${seed}: ${found.length} of ${first.worlds.size} tests otherwise the second time`)
  flaky.push(...found.map((each) => `seed ${seed}: ${each}`))
}
for (const each of flaky) console.info(`flaky: ${each}`)
for (const each of runs.flatMap(replays)) console.info(each)
for (const each of runs) console.info(runLine(each))
const failed = runs.filter(({ passed }) => !passed)
console.info(`crash pairs: ${pairs}`)
console.info(`flaky: ${flaky.length}, runs: ${runs.length}, failed: ${failed.length}`)
process.exitCode = failed.length + flaky.length === 0 ? 0 : 1

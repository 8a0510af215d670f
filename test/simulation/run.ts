// make simulate: the whole simulation, more of it than `make test` plays, and twice with each seed: a run that comes out
// otherwise the second time is flaky, and that is a defect.
//
//   SEED   that seed alone (default: 1 to 5)
//   PLANS  so many pairs of deaths a run, and samples of all else to match (default 2000)
//   FULL   1: everything, none sampled, which takes hours
//   ONLY   a part of the tests' names: no others
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import path from "node:path"
import { Schema } from "effect"

const { SEED: given = "", PLANS: plans = "2000", ONLY: only = "" } = process.env
const seeds = given === "" ? ["1", "2", "3", "4", "5"] : [given]
const folder = ".simulation"
const results = path.join(folder, "tests.json")
const report = path.join(folder, "report.json")

const decodeResults = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      testResults: Schema.Array(
        Schema.Struct({
          assertionResults: Schema.Array(Schema.Struct({ fullName: Schema.String, status: Schema.String })),
        }),
      ),
    }),
  ),
)

/** How each test ended, by its name. */
const outcomes = (): ReadonlyMap<string, string> =>
  new Map(
    decodeResults(readFileSync(results, "utf8"))
      .testResults.flatMap(({ assertionResults }) => assertionResults)
      .map(({ fullName, status }): readonly [string, string] => [fullName, status]),
  )

/** One run; its tests' outcomes. */
const run = (seed: string, number: number): ReadonlyMap<string, string> => {
  console.info(`seed ${seed}, run ${number} of 2`)
  for (const file of [results, report]) rmSync(file, { force: true })
  const { status } = spawnSync(
    path.join("node_modules", ".bin", "vitest"),
    [
      ...["run", "--project", "unit", "test/simulation", "--reporter=default", "--reporter=json"],
      `--outputFile.json=${results}`,
      ...(only === "" ? [] : ["-t", only]),
    ],
    { stdio: "inherit", env: { ...process.env, SEED: seed, PLANS: plans } },
  )
  if (status !== 0) failed.push(`seed ${seed}, run ${number}`)
  if (existsSync(report))
    writeFileSync(path.join(folder, `report-${seed}-${number}.json`), readFileSync(report))
  return outcomes()
}

const failed: Array<string> = []
const flaky: Array<string> = []
mkdirSync(folder, { recursive: true })
for (const seed of seeds) {
  const first = run(seed, 1)
  const second = run(seed, 2)
  for (const name of new Set([...first.keys(), ...second.keys()]))
    if (first.get(name) !== second.get(name)) flaky.push(`seed ${seed}: ${name}`)
}
for (const each of flaky) console.info(`flaky: ${each}`)
for (const each of failed) console.info(`failed: ${each}`)
console.info(`flaky: ${flaky.length}, runs: ${2 * seeds.length}, failed: ${failed.length}`)
process.exitCode = failed.length + flaky.length === 0 ? 0 : 1

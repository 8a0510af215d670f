// Counts over several test runs: `node tools/ci-summary.ts FOLDER RUN... -- [FAILED STEP]...`. Reads what vitest reported of
// each run in FOLDER/RUN.json. The last line is `N passed, N failed`; a run without a report, without a test or with a
// file that could not be loaded counts as one failure, as does each failed step that is no test run. A test
// that passed at its second try is named, with what its first one met.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Exit, Schema } from "effect"
import { testResults } from "./testReport.ts"

const Report = Schema.Struct({
  numPassedTests: Schema.Finite,
  numFailedTests: Schema.Finite,
  numTotalTests: Schema.Finite,
  success: Schema.Boolean,
  testResults,
})
const decodeReport = Schema.decodeUnknownExit(Schema.fromJsonString(Report))

const reportOf = (path: string) => {
  try {
    const report = decodeReport(readFileSync(path, "utf8"))
    return Exit.isSuccess(report) ? report.value : undefined
  } catch {
    return undefined
  }
}

const [folder = "", ...rest] = process.argv.slice(2)
const split = rest.indexOf("--")
const runs = rest.slice(0, split)
const failedSteps = rest.slice(split + 1)

let passed = 0
let failed = 0
for (const run of runs) {
  const report = reportOf(join(folder, `${run}.json`))
  if (report === undefined) {
    console.log(`${run}: no report`)
    failed += 1
    continue
  }
  const { numPassedTests, numFailedTests, numTotalTests, success } = report
  const other = numFailedTests === 0 && (numTotalTests === 0 || !success) ? 1 : 0
  if (other > 0) console.log(`${run}: ${numTotalTests === 0 ? "no test ran" : "failed beside its tests"}`)
  console.log(`${run}: ${numPassedTests} passed, ${numFailedTests + other} failed`)
  for (const { fullName, status, failureMessages } of report.testResults.flatMap(
    (file) => file.assertionResults,
  )) {
    const [first] = status === "passed" ? (failureMessages ?? []) : []
    if (first !== undefined) console.log(`${run}: flaky: ${fullName}: ${first.split("\n", 1)}`)
  }
  passed += numPassedTests
  failed += numFailedTests + other
}
for (const step of failedSteps) {
  console.log(`${step}: failed`)
  // The failed tests of a run are counted already.
  if (!runs.includes(step)) failed += 1
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

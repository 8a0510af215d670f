// A copy of the repository in which one mutant after the other is put in and met by tests.
import { spawn } from "node:child_process"
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { Exit, Schema } from "effect"
import { applied, type Edit } from "./Mutant.ts"
import { cpuSeconds, isAsleep } from "./processes.ts"

/** What tests say of a mutant. */
export const Outcome = Schema.Union([
  Schema.TaggedStruct("Survived", {}),
  Schema.TaggedStruct("Caught", {
    /** The first test that failed, or how else it ended. */
    by: Schema.String,
    /** The file of that test. */
    test: Schema.optionalKey(Schema.String),
  }),
])
export type Outcome = typeof Outcome.Type

/** A file's tests, and how long they took in milliseconds of real time. */
export interface Timed {
  readonly file: string
  readonly millis: number
}

export interface Met {
  readonly outcome: Outcome
  readonly times: ReadonlyArray<Timed>
}

const Report = Schema.fromJsonString(
  Schema.Struct({
    success: Schema.Boolean,
    numPassedTests: Schema.Finite,
    testResults: Schema.Array(
      Schema.Struct({
        name: Schema.String,
        status: Schema.String,
        message: Schema.String,
        startTime: Schema.Finite,
        endTime: Schema.Finite,
        assertionResults: Schema.Array(Schema.Struct({ fullName: Schema.String, status: Schema.String })),
      }),
    ),
  }),
)
const decodeReport = Schema.decodeUnknownExit(Report)

/** Without one test that ends: seconds of the process's CPU time, however busy the machine is. */
const stillCpu = 60
/** Seconds of real time in which no test ends and nothing even waits for a processor: it waits for what never comes. */
const still = 60
/** What a mutant may take of the memory: MiB. */
const memory = 2048

interface Ended {
  readonly code: number | null
  readonly stillFor: string | undefined
  readonly words: string
}

const running = new Set<number>()
process.on("exit", () => {
  for (const pid of running) endGroup(pid)
})

const endGroup = (pid: number) => {
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // Gone already.
  }
}

/** Runs a program to its end, or until it stands still. */
const run = (
  folder: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  log: string,
) =>
  new Promise<Ended>((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: {
        ...process.env,
        NODE_OPTIONS: `--max-old-space-size=${memory}`,
        // A fifth less to do for each mutant.
        NODE_COMPILE_CACHE: join(folder, ".compiled"),
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    })
    const pid = child.pid ?? 0
    running.add(pid)
    let words = ""
    let stillFor: string | undefined
    let awakeAt = performance.now()
    let heardCpu = 0
    const hear = (chunk: Buffer) => {
      words = `${words}${chunk.toString()}`.slice(-4000)
      appendFileSync(log, chunk)
      awakeAt = performance.now()
      heardCpu = cpuSeconds(pid)
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    const watch = setInterval(() => {
      const used = cpuSeconds(pid) - heardCpu
      if (!isAsleep(pid)) awakeAt = performance.now()
      const slept = (performance.now() - awakeAt) / 1000
      if (used < stillCpu && slept < still) return
      stillFor = used >= stillCpu ? `${stillCpu} s of CPU time` : `${still} s asleep`
      endGroup(pid)
    }, 500)
    child.on("close", (code) => {
      clearInterval(watch)
      running.delete(pid)
      endGroup(pid)
      resolve({ code, stillFor, words })
    })
  })

const lastLine = (words: string): string => words.trimEnd().split("\n").at(-1)?.trim() ?? ""

/** What is made and not written, from the root. The fixtures have a `dist` of their own. */
const left = new Set([
  ...[".git", ".cache", ".bench", ".simulation", ".playground", "dist", "node_modules"],
  ...["headlamp-plugin/node_modules", "headlamp-plugin/dist"],
])

export interface Workbench {
  readonly folder: string
  /** Lets these tests meet the sources with this fault in them, or as they are. In the order that is given. */
  readonly meet: (edit: Edit | undefined, tests: ReadonlyArray<string>) => Promise<Met>
  /** What the compiler says of the sources with this fault, or as they are. Unused names are none: they go with a call. */
  readonly compiles: (edit: Edit | undefined) => Promise<Outcome>
  readonly remove: () => void
}

export const makeWorkbench = (root: string): Workbench => {
  const folder = mkdtempSync(join(tmpdir(), "mutants-"))
  cpSync(root, folder, {
    recursive: true,
    filter: (path) => !left.has(relative(root, path)),
  })
  for (const modules of ["node_modules", "headlamp-plugin/node_modules"]) {
    if (existsSync(join(root, modules))) symlinkSync(join(root, modules), join(folder, modules))
  }
  const report = join(folder, ".mutant.json")
  const log = join(folder, ".mutant.log")

  const mutated = async <A>(edit: Edit | undefined, use: () => Promise<A>): Promise<A> => {
    if (edit === undefined) return use()
    const file = join(folder, edit.file)
    const source = readFileSync(file, "utf8")
    writeFileSync(file, applied(edit, source))
    try {
      return await use()
    } finally {
      writeFileSync(file, source)
    }
  }

  const meet: Workbench["meet"] = (edit, tests) =>
    mutated(edit, async () => {
      rmSync(report, { force: true })
      rmSync(log, { force: true })
      const { code, stillFor, words } = await run(
        folder,
        [
          join(folder, "node_modules/vitest/vitest.mjs"),
          ...["run", "--config", "test/mutants/vitest.config.ts"],
          ...["--reporter=verbose", "--reporter=json", `--outputFile.json=${report}`],
        ],
        { MUTANT_TESTS: tests.join("\n"), MUTANT_CACHE: join(folder, ".vite") },
        log,
      )
      if (stillFor !== undefined) {
        return { outcome: { _tag: "Caught", by: `no end: nothing for ${stillFor}` }, times: [] }
      }
      const read = decodeReport(existsSync(report) ? readFileSync(report, "utf8") : "")
      if (Exit.isFailure(read)) {
        return { outcome: { _tag: "Caught", by: `an end without a report: ${lastLine(words)}` }, times: [] }
      }
      const { success, numPassedTests, testResults } = read.value
      const times = testResults.map(({ name, startTime, endTime }) => ({
        file: relative(folder, name),
        millis: endTime - startTime,
      }))
      if (success && code === 0 && numPassedTests > 0) return { outcome: { _tag: "Survived" }, times }
      for (const { name, status, message, assertionResults } of testResults) {
        const test = relative(folder, name)
        const failed = assertionResults.find((each) => each.status === "failed")
        if (failed !== undefined)
          return { outcome: { _tag: "Caught", by: `${test}: ${failed.fullName}`, test }, times }
        if (status === "failed")
          return { outcome: { _tag: "Caught", by: `${test}: ${message.split("\n", 1)}`, test }, times }
      }
      return { outcome: { _tag: "Caught", by: `a bad end: ${lastLine(words)}` }, times }
    })

  const compiles: Workbench["compiles"] = (edit) =>
    mutated(edit, async () => {
      const { code, words } = await run(
        folder,
        [
          join(folder, "node_modules/.bin/tsc"),
          ...["--noEmit", "--noUnusedLocals", "false", "--noUnusedParameters", "false"],
        ],
        {},
        log,
      )
      if (code === 0) return { _tag: "Survived" }
      const error = words.split("\n").find((line) => line.includes("error")) ?? lastLine(words)
      return { _tag: "Caught", by: `the compiler: ${error.trim()}` }
    })

  return { folder, meet, compiles, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

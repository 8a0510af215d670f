// make mutants: puts faults into copies of the repository, one at a time, and has the tests meet them. A line a mutant, and
// what it came to in .simulation/mutants.json.
//
//   SAMPLE  how many of the generated mutants (default 100, `all`)
//   SEED    which of them (default 1)
//   ONLY    `hand-made`, `generated`, or a part of a name: no others
//   JOBS    how many at once (default: one a processor)
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { basename, dirname, join } from "node:path"
import { Option, Schema } from "effect"
import { equivalent } from "./equivalent.ts"
import { mutantsOf, sampled } from "./generated.ts"
import { actors } from "./handMade/actors.ts"
import { services } from "./handMade/services.ts"
import { closingLine, judge, type Verdict } from "./judge.ts"
import { makeKnown } from "./Known.ts"
import { located, type Mutant } from "./Mutant.ts"
import { makeLoaded, testFiles } from "./related.ts"
import { makeWorkbench, type Outcome, type Workbench } from "./Workbench.ts"

const root = join(import.meta.dirname, "../..")
const read = (file: string) => readFileSync(join(root, file), "utf8")

const { SAMPLE = "", SEED = "", ONLY = "", JOBS = "" } = process.env
const seed = SEED === "" ? 1 : Number(SEED)
const sample = SAMPLE === "" ? 100 : SAMPLE === "all" ? Number.POSITIVE_INFINITY : Number(SAMPLE)
const jobs = JOBS === "" ? availableParallelism() : Number(JOBS)
if (!Number.isSafeInteger(seed) || Number.isNaN(sample) || !(jobs >= 1)) {
  throw new Error(`SEED=${SEED} SAMPLE=${SAMPLE} JOBS=${JOBS}: these are numbers`)
}

/** What meets a generated mutant of the actors, as far as it loads it: their own tests, and what of the simulation is quick. */
const ofActors = testFiles(root, [
  "test/actors",
  ...["happyPath", "target", "deletion", "metrics", "traces", "badMornings", "handover"].map(
    (name) => `test/simulation/${name}.test.ts`,
  ),
])
const loaded = makeLoaded(root)

const isWanted = ({ name, kind }: Mutant): boolean => ONLY === "" || ONLY === kind || name.includes(ONLY)

const handMade = [...actors, ...services]
  .map((each) => located(each, read(each.file)))
  .map((each): Mutant => ({ ...each, tests: testFiles(root, each.tests) }))

const generated = globSync("src/actors/**/*.ts", { cwd: root })
  .toSorted()
  .flatMap((file) => {
    const tests = ofActors.filter((test) => loaded(test).has(file))
    return mutantsOf(file, read(file)).map((each): Mutant => ({ ...each, tests }))
  })

/** A part of a name looks for it among all there are. */
const isNamed = ONLY !== "" && ONLY !== "hand-made" && ONLY !== "generated"
const mutants = [
  ...handMade,
  ...(isNamed ? generated : sampled(generated, Math.min(sample, generated.length), seed)),
].filter(isWanted)
if (mutants.length === 0) throw new Error(`ONLY=${ONLY}: there is no such mutant`)

const began = performance.now()
const seconds = () => ((performance.now() - began) / 1000).toFixed(0)
const reportFile = join(root, ".simulation/mutants.json")

/** How long each file of tests took when it was run last, the runs before this one included: milliseconds. */
const took = new Map<string, number>()
const decodeTimes = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ times: Schema.Record(Schema.String, Schema.Finite) })),
)
if (existsSync(reportFile)) {
  for (const { times } of Option.toArray(decodeTimes(readFileSync(reportFile, "utf8"))))
    for (const [file, millis] of Object.entries(times)) took.set(file, millis)
}

/** Of files that have caught something: whether they pass without any mutant. */
const passing = new Map<string, Promise<boolean>>()
/** A test that fails over the sources as they are says nothing of a mutant. */
const passes = (bench: Workbench, file: string): Promise<boolean> => {
  const known =
    passing.get(file) ?? bench.meet(undefined, [file]).then(({ outcome }) => outcome._tag === "Survived")
  passing.set(file, known)
  return known
}
/** Files that do not: they meet no further mutant. */
const failing = new Set<string>()

/** What has caught others of the same file, and others at all. */
const catches = new Map<string, number>()
const count = (key: string) => catches.set(key, (catches.get(key) ?? 0) + 1)

/** What loads much takes long: milliseconds. */
const guessed = (test: string) => 50 * loaded(test).size

/** Those of the mutant's own in their order; of a generated one the likeliest first, then the quickest. */
const inOrder = ({ kind, edit, tests }: Mutant): ReadonlyArray<string> => {
  if (kind === "hand-made") return tests
  const mirror = edit.file.replace("src/", "test/").replace(/\.ts$/, ".test.ts")
  const folder = basename(dirname(edit.file))
  const weight = (test: string) =>
    ((test === mirror ? 8 : 0) +
      (basename(test).toLowerCase().includes(folder) ? 4 : 0) +
      4 * (catches.get(`${edit.file} ${test}`) ?? 0) +
      (catches.get(test) ?? 0) +
      1) /
    (1000 + (took.get(test) ?? guessed(test)))
  return tests.toSorted((a, b) => weight(b) - weight(a))
}

const told = (outcome: Outcome, name: string): string =>
  outcome._tag === "Caught"
    ? `caught by ${outcome.by}`
    : equivalent.has(name)
      ? "survived, as listed"
      : "SURVIVED"

let compiling: Promise<Outcome> | undefined
/** What the compiler says of a mutant is believed as long as it says nothing of the sources as they are. */
const compiled = async (bench: Workbench, { edit }: Mutant): Promise<Outcome> => {
  const outcome = await bench.compiles(edit)
  if (outcome._tag === "Survived") return outcome
  compiling ??= bench.compiles(undefined)
  const before = await compiling
  if (before._tag === "Caught") throw new Error(`the sources do not compile: ${before.by}`)
  return outcome
}

/** Lets the tests meet it that can be believed, and then the compiler. */
const outcomeOf = async (bench: Workbench, mutant: Mutant): Promise<Outcome> => {
  const tests = inOrder(mutant).filter((test) => !failing.has(test))
  if (tests.length === 0) return compiled(bench, mutant)
  const { outcome, times } = await bench.meet(mutant.edit, tests)
  for (const { file, millis } of times) if (millis > 0) took.set(file, millis)
  if (outcome._tag === "Survived") return compiled(bench, mutant)
  if (outcome.test === undefined || (await passes(bench, outcome.test))) return outcome
  failing.add(outcome.test)
  return outcomeOf(bench, mutant)
}

const verdicts: Array<Verdict> = []
const tell = ({ name, kind, edit }: Mutant, outcome: Outcome) => {
  if (outcome._tag === "Caught" && outcome.test !== undefined) {
    count(outcome.test)
    count(`${edit.file} ${outcome.test}`)
  }
  verdicts.push({ name, kind, outcome })
  console.log(`[${verdicts.length}/${mutants.length}, ${seconds()} s] ${name}: ${told(outcome, name)}`)
}

const known = makeKnown(root, join(root, ".simulation/mutants-known.json"), loaded)
const unknown = mutants.filter((mutant) => {
  const outcome = known.of(mutant)
  if (outcome !== undefined) tell(mutant, outcome)
  return outcome === undefined
})

const benches = Array.from({ length: Math.min(jobs, unknown.length) }, () => makeWorkbench(root))
process.on("exit", () => {
  for (const bench of benches) bench.remove()
})
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130))

const waiting = unknown.values()
const work = async (bench: Workbench): Promise<void> => {
  for (const mutant of waiting) {
    const outcome = await outcomeOf(bench, mutant)
    tell(mutant, outcome)
    known.learn(mutant, outcome)
  }
}
// Where not even this is seen to pass, whatever ends badly would count as caught.
await Promise.all(
  benches.map((bench) =>
    bench.meet(undefined, ["test/actors/kit/Backoff.test.ts"]).then(({ outcome }) => {
      if (outcome._tag === "Caught") throw new Error(`the tests do not run: ${outcome.by}`)
    }),
  ),
)
await Promise.all(benches.map(work))

const judgement = judge(verdicts, equivalent)
mkdirSync(join(root, ".simulation"), { recursive: true })
writeFileSync(
  reportFile,
  `${JSON.stringify({ seed, ...judgement, verdicts, times: Object.fromEntries(took) }, undefined, 2)}\n`,
)
for (const kind of ["hand-made", "generated"] as const) {
  const of = judge(
    verdicts.filter((each) => each.kind === kind),
    equivalent,
  )
  if (of.all > 0) console.log(closingLine(of).replace("mutants", `${kind} mutants`))
}
for (const name of judgement.survived) console.log(`survived: ${name}`)
const problems = [...judgement.problems, ...[...failing].map((file) => `${file} fails without any mutant`)]
for (const problem of problems) console.error(problem)
console.log(closingLine(judgement))
process.exit(problems.length === 0 ? 0 : 1)

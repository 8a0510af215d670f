// The mutants themselves: each is a fault that can be put into the sources as they are.
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { parseAst } from "vitest/node"
import { equivalent } from "./equivalent.ts"
import { mutantsOf, sampled } from "./generated.ts"
import { actors } from "./handMade/actors.ts"
import { services } from "./handMade/services.ts"
import { closingLine, judge, type Verdict } from "./judge.ts"
import { makeKnown } from "./Known.ts"
import { applied, type HandMade, located, type Mutant } from "./Mutant.ts"
import { makeLoaded, testFiles } from "./related.ts"
import type { Outcome } from "./Workbench.ts"

const root = join(import.meta.dirname, "../..")
const read = (file: string) => readFileSync(join(root, file), "utf8")
const handMade: ReadonlyArray<HandMade> = [...actors, ...services]

const loaded = makeLoaded(root)

const generated = () =>
  globSync("src/actors/**/*.ts", { cwd: root }).flatMap((file) => mutantsOf(file, read(file)))

/** As it would be in a file of its own: what was there, and what is there instead. */
const changes = (source: string): ReadonlyArray<string> =>
  mutantsOf("a.ts", source).map(({ edit }) => applied(edit, source))

describe("a hand-made mutant", () => {
  it.each(handMade)("has one place in the sources: $name", (mutant) => {
    const source = read(mutant.file)
    const faulty = applied(located(mutant, source).edit, source)
    expect(faulty).not.toBe(source)
    expect(() => parseAst(faulty, { lang: "ts" })).not.toThrow()
    const tests = testFiles(root, mutant.tests)
    expect(tests.filter((test) => !existsSync(join(root, test)))).toEqual([])
    expect(tests.filter((test) => loaded(test).has(mutant.file))).not.toEqual([])
  })

  it("is one of at least 30, each another one", () => {
    expect(new Set(handMade.map(({ name }) => name)).size).toBe(handMade.length)
    expect(handMade.length).toBeGreaterThanOrEqual(30)
  })

  it("is refused when its text is not there, or there twice", () => {
    const mutant: HandMade = { name: "a fault", file: "a.ts", find: "one", put: "two", tests: [] }
    expect(() => located(mutant, "none")).not.toThrow()
    expect(() => located(mutant, "two")).toThrow("a fault: its text is not in a.ts")
    expect(() => located(mutant, "one one")).toThrow("more than once")
  })
})

describe("the generated mutants", () => {
  it("are one token away from the sources, and parse", () => {
    const broken = globSync("src/actors/**/*.ts", { cwd: root }).flatMap((file) => {
      const source = read(file)
      return mutantsOf(file, source).filter(({ edit }) => {
        try {
          parseAst(applied(edit, source), { lang: "ts" })
          return false
        } catch {
          return true
        }
      })
    })
    expect(broken).toEqual([])
    const names = generated().map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.length).toBeGreaterThan(1000)
  })

  it("are every place where an operator fits", () => {
    expect(changes("const a = b === c && d")).toEqual(["const a = b !== c && d", "const a = b === c || d"])
    expect(changes("const a = b <= c")).toEqual(["const a = b < c"])
    expect(changes("const a = 1_000 - b")).toEqual([
      "const a = 1001 - b",
      "const a = 999 - b",
      "const a = 1_000 + b",
    ])
    expect(changes("f(0, true)")).toEqual(["f((-1), true)", "f(1, true)", "f(0, false)"])
    expect(changes("f(!a)")).toEqual(["f(a)"])
    expect(changes("function* f() {\n  yield* g()\n}")).toEqual(["function* f() {\n  ;\n}"])
  })

  it("leave alone types, texts and what is only logged", () => {
    expect(changes("type A = 1 | true")).toEqual([])
    expect(changes(`const a: 1 = b as 1`)).toEqual([])
    expect(changes(`f("a" + b)`)).toEqual([])
    expect(changes(`function* f() {\n  yield* Effect.logInfo("a")\n}`)).toEqual([])
  })

  it("are taken by the seed, whatever others there are", () => {
    const all = Array.from({ length: 100 }, (_, index) => ({ name: `mutant ${index}` }))
    const names = (of: typeof all, count: number, seed: number) =>
      sampled(of, count, seed).map(({ name }) => name)
    expect(names(all, 10, 1)).not.toEqual(names(all, 10, 2))
    expect(names(all, 20, 1).slice(0, 10)).toEqual(names(all, 10, 1))
    expect(names(all, 1000, 1).toSorted()).toEqual(all.map(({ name }) => name).toSorted())
    const first = names(all, 1, 1)
    expect(names(all.toReversed(), 10, 1)).toEqual(names(all, 10, 1))
    const fewer = all.filter(({ name }) => !first.includes(name))
    expect(names(fewer, 9, 1)).toEqual(names(all, 10, 1).slice(1))
  })

  it("meet the tests that load their file", () => {
    expect(loaded("test/actors/kit/Backoff.test.ts").has("src/actors/kit/Backoff.ts")).toBe(true)
    expect(loaded("test/actors/instance/InstanceActor.test.ts").has("src/actors/kit/Backoff.ts")).toBe(true)
    expect(loaded("test/actors/kit/Backoff.test.ts").has("src/actors/instance/plan.ts")).toBe(false)
  })
})

describe("a mutant that is listed as without effect", () => {
  it("is there", () => {
    const names = new Set([...handMade, ...generated()].map(({ name }) => name))
    expect([...equivalent.keys()].filter((name) => !names.has(name))).toEqual([])
  })
})

describe("what an earlier run has found out", () => {
  const files: ReadonlyArray<readonly [string, string]> = [
    ["src/a.ts", "1"],
    ["src/b.ts", "1"],
    ["test/a.test.ts", "1"],
    ["charts/chart.yaml", "1"],
  ]
  const edit = { file: "src/a.ts", start: 0, end: 1, text: "2" }
  const mutant: Mutant = { name: "a fault", edit, kind: "generated", tests: ["test/a.test.ts"] }
  const caught: Outcome = { _tag: "Caught", by: "test/a.test.ts: says 1", test: "test/a.test.ts" }
  const survived: Outcome = { _tag: "Survived" }

  /** What is still known of the mutant after a file was changed. */
  const stillKnown = (outcome: Outcome, changed?: string) => {
    const folder = mkdtempSync(join(tmpdir(), "known-"))
    try {
      for (const [file, text] of files) {
        mkdirSync(dirname(join(folder, file)), { recursive: true })
        writeFileSync(join(folder, file), text)
      }
      const known = () => makeKnown(folder, join(folder, "known.json"), () => ["test/a.test.ts", "src/a.ts"])
      known().learn(mutant, outcome)
      if (changed !== undefined) writeFileSync(join(folder, changed), "2")
      return known().of(mutant)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  it("holds for a mutant that a test has caught while that test and what it loads are as they were", () => {
    expect(stillKnown(caught)).toEqual(caught)
    expect(stillKnown(caught, "src/b.ts")).toEqual(caught)
    for (const changed of ["src/a.ts", "test/a.test.ts", "charts/chart.yaml"])
      expect(stillKnown(caught, changed)).toBeUndefined()
  })

  it("holds for one that no test has caught while nothing has changed", () => {
    expect(stillKnown(survived)).toEqual(survived)
    expect(stillKnown(survived, "src/b.ts")).toBeUndefined()
  })
})

describe("a run over mutants", () => {
  const verdicts = (kind: Verdict["kind"], caught: number, survived: number): ReadonlyArray<Verdict> =>
    Array.from({ length: caught + survived }, (_, index) => ({
      name: `${kind} ${index + 1}`,
      kind,
      outcome: index < caught ? { _tag: "Caught", by: "a test" } : { _tag: "Survived" },
    }))

  it("is well with 28 of 30 that people have made, and nine of ten that are generated", () => {
    const well = judge([...verdicts("hand-made", 28, 2), ...verdicts("generated", 9, 1)], new Map())
    expect(well.problems).toEqual([])
    expect(well.survived).toEqual(["hand-made 29", "hand-made 30", "generated 10"])
    expect(closingLine(well)).toBe("mutants: 37 of 40 caught")
  })

  it("fails with fewer", () => {
    expect(judge(verdicts("hand-made", 27, 3), new Map()).problems).toEqual([
      "90 % of the hand-made mutants are caught, and 93.3 % is the least",
    ])
    expect(judge(verdicts("generated", 89, 11), new Map()).problems).toEqual([
      "89 % of the generated mutants are caught, and 90 % is the least",
    ])
    expect(judge([], new Map()).problems).toEqual(["no mutant met a test"])
  })

  it("does not count what is listed, and fails when that is caught", () => {
    const listed = new Map([["generated 10", "changes nothing"]])
    expect(judge(verdicts("generated", 9, 1), listed)).toEqual({
      all: 10,
      caught: 9,
      listed: ["generated 10"],
      survived: [],
      problems: [],
    })
    expect(judge(verdicts("generated", 10, 0), listed).problems).toEqual([
      "listed as one that no test can catch, and caught: generated 10",
    ])
  })
})

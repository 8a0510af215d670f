import { assert, describe, it } from "@effect/vitest"
import { otherwise, type Run, replays, runLine } from "./runs.ts"

const run = (change: Partial<Run> = {}): Run => ({
  name: "seed 1, run 1 of 2",
  passed: true,
  outcomes: [
    { test: "an install", status: "passed", messages: [] },
    { test: "not this one", status: "skipped", messages: [] },
  ],
  figures: { plans: 7, seconds: 3, crashPairs: 2 },
  cpuSeconds: 4.7,
  worlds: new Map([["a.test.ts > an install", "7 abc"]]),
  ...change,
})

const broken = run({
  passed: false,
  outcomes: [
    {
      test: "an install",
      status: "failed",
      messages: [
        "AssertionError: expected [ 'dies\\n  to replay it: SEED=1 npx vitest a\\n  + x' ] to deeply equal []",
        "late\n  to replay it: SEED=1 npx vitest b\nmore",
      ],
    },
    { test: "another", status: "failed", messages: ["it is not so"] },
  ],
})

describe("runs of the simulation", () => {
  it("are told in a line each", () => {
    assert.strictEqual(
      runLine(run()),
      "seed 1, run 1 of 2: 7 plans, 2 crash pairs, 3 s, 5 s of CPU, 1 tests, 0 failures",
    )
    assert.strictEqual(
      runLine(run({ passed: false, outcomes: [], figures: undefined })),
      "seed 1, run 1 of 2: 5 s of CPU, 0 tests, 0 failures, the run itself failed",
    )
  })

  it("say how what has failed is played again", () => {
    assert.deepStrictEqual(replays(run()), [])
    assert.deepStrictEqual(replays(broken), [
      "failed: seed 1, run 1 of 2: an install: SEED=1 npx vitest a",
      "failed: seed 1, run 1 of 2: an install: SEED=1 npx vitest b",
      "failed: seed 1, run 1 of 2: another: it prints no command",
    ])
  })

  it("are the same when each test has ended, and each of its worlds has come, to the same", () => {
    assert.deepStrictEqual(otherwise(run(), run()), [])
    assert.deepStrictEqual(
      otherwise(run(), run({ worlds: new Map([["a.test.ts > an install", "7 abd"]]) })),
      ["a.test.ts > an install: 7 abc and 7 abd"],
    )
    assert.deepStrictEqual(otherwise(run(), run({ worlds: new Map() })), [
      "a.test.ts > an install: 7 abc and undefined",
    ])
    assert.deepStrictEqual(otherwise(run({ outcomes: [] }), run({ outcomes: broken.outcomes.slice(1) })), [
      "another: undefined and failed",
    ])
  })
})

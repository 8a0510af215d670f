import { assert, describe, it } from "@effect/vitest"
import { addUp, closingLines, digestTests } from "./figures.ts"

describe("the figures of the simulation", () => {
  const notes = [
    { suite: "crash points", plans: 3, points: { done: 3, of: 10 }, at: 2_000 },
    { suite: "crash points", plans: 2, pairs: 2, at: 9_400 },
    { suite: "bad states", plans: 4, states: { done: 4, of: 5 }, at: 5_000 },
  ]

  it("add up over all suites, from the beginning to the last of them", () => {
    assert.deepStrictEqual(addUp(notes, 1_000), {
      plans: 9,
      seconds: 8,
      crashPoints: { done: 3, of: 10 },
      crashPairs: 2,
      badStates: { done: 4, of: 5 },
      suites: { "crash points": 5, "bad states": 4 },
    })
  })

  it("are told a line each, and not of what was not played", () => {
    assert.deepStrictEqual(closingLines(addUp(notes, 1_000, { done: 70, of: 71 })), [
      "plans: 9 in 8 s",
      "crash points: 3 of 10",
      "crash pairs: 2",
      "bad states: 4 of 5",
      "mutants: 70 of 71 caught",
    ])
    assert.deepStrictEqual(closingLines(addUp(notes.slice(1, 2), 1_000)), [
      "plans: 2 in 8 s",
      "crash pairs: 2",
    ])
  })

  it("have one digest of all worlds of a test, in their order", () => {
    const [first, second] = [
      { test: "a", digest: "1" },
      { test: "a", digest: "2" },
    ]
    const other = { test: "b", digest: "1" }
    const both = digestTests([first, other, second])
    assert.deepStrictEqual(Object.keys(both), ["a", "b"])
    assert.match(both.a ?? "", /^2 [0-9a-f]{16}$/)
    assert.deepStrictEqual(digestTests([other, first, second]), both)
    assert.notDeepEqual(digestTests([second, first, other]).a, both.a)
    assert.notDeepEqual(digestTests([first]).a, both.a)
  })
})

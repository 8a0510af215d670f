import { describe, expect, it } from "vitest"
import {
  emptyHistory,
  type History,
  interrupted,
  MAX_HISTORY_BYTES,
  MAX_OPERATIONS,
  withBegun,
  withEnded,
} from "../../src/schema/History.ts"
import { utf8Bytes } from "../../src/schema/Text.ts"

const begun = (second: number, why = "RepairDue") => ({
  what: "repair",
  why,
  startedAt: new Date(second * 1000).toISOString(),
})
const ended = { outcome: "succeeded", endedAt: "2026-01-01T00:00:00.000Z", changed: [] } as const
const many = (count: number, one: (history: History, index: number) => History): History =>
  Array.from({ length: count }).reduce<History>((history, _, index) => one(history, index), emptyHistory)

describe("the history of an instance", () => {
  it("has the newest operations, oldest first", () => {
    const { operations } = many(MAX_OPERATIONS + 7, (history, index) =>
      withEnded(withBegun(history, begun(index)), ended),
    )
    expect(operations.map(({ startedAt }) => Date.parse(startedAt) / 1000)).toEqual(
      Array.from({ length: MAX_OPERATIONS }, (_, index) => index + 7),
    )
  })

  it("has 256 KiB at most, though every operation fills its part to the brim", () => {
    const long = "größer ".repeat(400)
    const history = many(MAX_OPERATIONS, (before, index) =>
      withEnded(withBegun(before, begun(index, long)), {
        ...ended,
        outcome: "failed",
        reason: "InstallFailed",
        message: long,
        changed: Array.from({ length: 500 }, (_, each) => `${each} ${"ü".repeat(300)}`),
      }),
    )
    expect(utf8Bytes(JSON.stringify(history))).toBeLessThanOrEqual(MAX_HISTORY_BYTES)
    expect(history.operations.length).toBeGreaterThan(25)
    expect(history.operations.at(-1)?.startedAt).toBe(begun(MAX_OPERATIONS - 1).startedAt)
    expect(history.operations.at(-1)).toMatchObject({ more: 480 })
  })

  it("says of an operation that another one follows without its end that nobody has seen it", () => {
    const { operations } = withBegun(withBegun(emptyHistory, begun(1)), begun(2))
    expect(operations.map(({ outcome }) => outcome)).toEqual(["interrupted", "running"])
    expect(interrupted({ format: 1, operations }).operations.map(({ outcome }) => outcome)).toEqual([
      "interrupted",
      "interrupted",
    ])
  })

  it("is not changed by an end without a beginning", () => {
    expect(withEnded(emptyHistory, ended)).toEqual(emptyHistory)
  })

  it("names what changed once", () => {
    const { operations } = withEnded(withBegun(emptyHistory, begun(1)), {
      ...ended,
      changed: ["a", "b", "a"],
    })
    expect(operations[0]?.changed).toEqual(["a", "b"])
  })

  it("holds no secret by its shape", () => {
    const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"
    const history = withEnded(withBegun(emptyHistory, begun(1, `token: ${token}`)), {
      ...ended,
      outcome: "failed",
      message: `Authorization: Bearer ${token}`,
      changed: [`https://user:hunter22@registry.example`],
    })
    expect(JSON.stringify(history)).not.toMatch(/eyJ|hunter22/)
  })
})

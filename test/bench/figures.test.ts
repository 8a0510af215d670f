import { describe, expect, it } from "vitest"
import { median, percentile, ratios, result, summarise, table } from "./figures.ts"

describe("the figures of a benchmark", () => {
  it("are told by the one in the middle, whatever their order", () => {
    expect(median([30, 10, 20])).toBe(20)
    expect(median([9, 10, 100, 1])).toBe(9.5)
    expect(median([7])).toBe(7)
    expect(() => median([])).toThrow("no figures")
  })

  it("meet a goal when the one in the middle is not greater", () => {
    const series = { name: "install", unit: "ratio", figures: [1, 1.15, 3] }
    expect(summarise({ ...series, goal: 1.15 })).toEqual({ minimum: 1, median: 1.15, maximum: 3, met: true })
    expect(summarise({ ...series, goal: 1.14 }).met).toBe(false)
    expect(summarise(series)).toEqual({ minimum: 1, median: 1.15, maximum: 3 })
  })

  it("are compared round by round, and not when a round lacks one", () => {
    expect(ratios([3, 10], [2, 5])).toEqual([1.5, 2])
    expect(() => ratios([1, 2], [1])).toThrow("2 figures beside 1")
  })

  it("become a table and a result each", () => {
    const judged = { name: "peak", unit: "MiB", figures: [460, 400], goal: 450 }
    const told = { name: "install", unit: "s", figures: [12.34] }
    expect(table([judged, told])).toBe(
      [
        "| what    | unit | minimum | median | maximum | goal  | met |",
        "| ------- | ---- | ------- | ------ | ------- | ----- | --- |",
        "| peak    | MiB  | 400     | 430    | 460     | ≤ 450 | yes |",
        "| install | s    | 12.3    | 12.3   | 12.3    |       |     |",
      ].join("\n"),
    )
    expect(result(judged)).toEqual({
      name: "peak",
      figure: 430,
      unit: "MiB",
      goal: 450,
      met: true,
      figures: [460, 400],
    })
    expect(result(told)).toMatchObject({ goal: null, met: null })
  })
})

describe("a percentile", () => {
  it("is one of the figures, the least that so large a share does not exceed", () => {
    const figures = Array.from({ length: 100 }, (_, index) => 100 - index)
    expect(percentile(figures, 0.5)).toBe(50)
    expect(percentile(figures, 0.99)).toBe(99)
    expect(percentile([7], 0.99)).toBe(7)
  })
})

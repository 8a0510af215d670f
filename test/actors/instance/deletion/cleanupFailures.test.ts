import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import {
  cleanupFailures,
  cleanupPauseEnds,
  countFailure,
} from "../../../../src/actors/instance/deletion/cleanupFailures.ts"

const of = (annotations: Readonly<Record<string, string>>) => ({
  metadata: { annotations },
})
const noon = Date.parse("2026-11-03T12:00:00Z")

describe("the count of failed cleanups", () => {
  it("counts a Job once, however often it is counted", () => {
    const first = countFailure(of({}), "job-1", noon)
    const again = countFailure(of(first.annotations), "job-1", noon + 1_000)
    const next = countFailure(of(again.annotations), "job-2", noon + 20_000)
    assert.deepStrictEqual([first.failures, again.failures, next.failures], [1, 1, 2])
    assert.strictEqual(cleanupFailures(of(next.annotations)), 2)
  })

  it.each(["", "-1", "1.5", "many", "9".repeat(30)])("is 0 when a person has written %j", (count) => {
    assert.strictEqual(
      cleanupFailures(of({ "platform.di-framework.dev/storage-cleanup-failures": count })),
      0,
    )
  })
})

describe("the pause after a failed cleanup", () => {
  const pauseAfter = (failures: number, now: number) => {
    let annotations: Readonly<Record<string, string>> = {}
    for (let n = 1; n <= failures; n++)
      annotations = countFailure(of(annotations), `job-${n}`, noon).annotations
    return Option.map(cleanupPauseEnds(of(annotations), now), (at) => (at - noon) / 1_000)
  }

  it("doubles from 10 seconds to five minutes", () => {
    const pauses = [0, 1, 2, 3, 4, 5, 6, 7, 50].map((failures) =>
      Option.getOrUndefined(pauseAfter(failures, noon)),
    )
    assert.deepStrictEqual(pauses, [undefined, 10, 20, 40, 80, 160, 300, 300, 300])
  })

  it("counts from now where the clock of the one before was ahead", () => {
    assert.deepStrictEqual(pauseAfter(1, noon - 3_600_000), Option.some(-3_600 + 10))
  })

  it("is none where nobody knows when it began", () => {
    const annotations = { "platform.di-framework.dev/storage-cleanup-failures": "3" }
    assert.deepStrictEqual(cleanupPauseEnds(of(annotations), noon), Option.none())
  })
})

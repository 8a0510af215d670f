import { assert, describe, it } from "@effect/vitest"
import { DateTime, Option } from "effect"
import { formatTime, parseTime } from "../../src/schema/Time.ts"

describe("times of the API", () => {
  it("are written in UTC with whole seconds", () => {
    assert.strictEqual(
      formatTime(DateTime.makeUnsafe("2026-11-03T12:00:00.987+02:00")),
      "2026-11-03T10:00:00Z",
    )
  })

  it("are read from any RFC 3339 form", () => {
    const read = Option.map(parseTime("2026-11-03T12:00:00.5+02:00"), DateTime.formatIso)
    assert.deepStrictEqual(read, Option.some("2026-11-03T10:00:00.500Z"))
  })

  it("are nothing where a status carries something else", () =>
    assert.isTrue(Option.isNone(parseTime("yesterday"))))
})

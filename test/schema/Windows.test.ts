import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { opensAt, parseWindows } from "../../src/schema/Windows.ts"

const windows = (text: string) => Result.getOrThrowWith(parseWindows(text), (message) => new Error(message))
const millis = (time: string) => Date.parse(time)
/** The next opening, `now` for one that is open. */
const next = (text: string, now: string) => {
  const at = opensAt(windows(text), millis(now))
  return at === millis(now) ? "now" : new Date(at).toISOString().slice(0, 16)
}

describe("a maintenance window", () => {
  // 2026-11-03 is a Tuesday.
  it.each([
    ["Sat 02:00-04:00 Europe/Berlin", "2026-11-03T12:00:00Z", "2026-11-07T01:00"],
    ["Sat 02:00-04:00 Europe/Berlin", "2026-11-07T00:59:59Z", "2026-11-07T01:00"],
    ["Sat 02:00-04:00 Europe/Berlin", "2026-11-07T01:00:00Z", "now"],
    ["Sat 02:00-04:00 Europe/Berlin", "2026-11-07T02:59:59Z", "now"],
    // It closes with its last moment, and is a week away again.
    ["Sat 02:00-04:00 Europe/Berlin", "2026-11-07T03:00:00Z", "2026-11-14T01:00"],
    ["sat 02:00-04:00", "2026-11-03T12:00:00Z", "2026-11-07T02:00"],
    ["02:00-04:00", "2026-11-03T12:00:00Z", "2026-11-04T02:00"],
    ["00:00-24:00 Asia/Kolkata", "2026-11-03T12:00:00Z", "now"],
    ["Tue 00:00-24:00 UTC", "2026-11-03T23:59:59Z", "now"],
    ["Mon-Fri 22:00-23:30 UTC", "2026-11-07T12:00:00Z", "2026-11-09T22:00"],
    // A range may go over the end of the week.
    ["Fri-Mon 03:00-04:00 UTC", "2026-11-03T12:00:00Z", "2026-11-06T03:00"],
    ["Fri-Mon 03:00-04:00 UTC", "2026-11-07T12:00:00Z", "2026-11-08T03:00"],
    // Over midnight it belongs to the day on which it opens.
    ["Mon 22:00-04:00 UTC", "2026-11-03T03:59:00Z", "now"],
    ["Mon 22:00-04:00 UTC", "2026-11-03T04:00:00Z", "2026-11-09T22:00"],
    ["Mon 22:00-04:00 UTC", "2026-11-02T03:00:00Z", "2026-11-02T22:00"],
    // West of Greenwich it is still the day before.
    ["Mon 20:00-23:00 America/Los_Angeles", "2026-11-03T05:00:00Z", "now"],
    ["Sat 02:00-04:00 UTC; Wed 01:00-02:00 UTC", "2026-11-03T12:00:00Z", "2026-11-04T01:00"],
    ["Sat 02:00-04:00,Wed 01:00-02:00", "2026-11-05T12:00:00Z", "2026-11-07T02:00"],
    // Over the end of a month and of a year.
    ["Fri 23:00-01:00 UTC", "2026-12-28T12:00:00Z", "2027-01-01T23:00"],
  ])("%s at %s opens %s", (text, now, expected) => {
    assert.strictEqual(next(text, now), expected)
  })

  it.each([
    // Berlin, 29 March 2026: 02:00 is 03:00.
    [
      "an hour that is skipped is the one after it",
      "Sun 02:00-03:00",
      "2026-03-29T00:59:59Z",
      "2026-03-29T01:00",
    ],
    ["and as long as it would be", "Sun 02:00-03:00", "2026-03-29T01:59:59Z", "now"],
    ["and no longer", "Sun 02:00-03:00", "2026-03-29T02:00:00Z", "2026-04-05T00:00"],
    ["a part of it too", "Sun 02:15-02:45", "2026-03-29T01:14:00Z", "2026-03-29T01:15"],
    ["one that only begins in it is shorter", "Sun 02:30-04:00", "2026-03-29T02:00:00Z", "2026-04-05T00:30"],
    ["one around it closes by the wall", "Sun 01:00-04:00", "2026-03-29T02:00:00Z", "2026-04-04T23:00"],
    // 25 October 2026: 03:00 is 02:00.
    [
      "an hour that comes twice opens with the first",
      "Sun 02:00-03:00",
      "2026-10-24T23:59:00Z",
      "2026-10-25T00:00",
    ],
    ["and closes with the second", "Sun 02:00-03:00", "2026-10-25T01:59:59Z", "now"],
    ["and not later", "Sun 02:00-03:00", "2026-10-25T02:00:00Z", "2026-11-01T01:00"],
    ["one that ends in it ends in the second", "Sun 01:00-02:30", "2026-10-25T01:29:00Z", "now"],
  ])("where clocks are changed, %s", (_, text, now, expected) => {
    assert.strictEqual(next(`${text} Europe/Berlin`, now), expected)
  })

  it.each([
    ["", "is no window"],
    ["Sat", "is no window"],
    ["Sat 2:00-4:00", '"2:00-4:00" is no span of a day'],
    ["Sat 02:00", "is no span of a day"],
    ["Sat 02:00-25:00", "is no span of a day"],
    ["Sat 24:00-01:00", "is no span of a day"],
    ["Sat 02:60-03:00", "is no span of a day"],
    ["Sat 02:00-03:00-04:00", "is no span of a day"],
    ["Sat 02:00-02:00", "is empty; a whole day is 00:00-24:00"],
    ["Samstag 02:00-04:00", '"Samstag" is no day: they are Sun, Mon'],
    ["Mon-Wed-Fri 02:00-04:00", "is no range of days"],
    ["Mon,Wed 02:00-04:00", '"Mon" is no window'],
    ["Sat 02:00-04:00 Europe/Berlinn", '"Europe/Berlinn" is no time zone'],
    ["Sat 02:00-04:00 Europe/Berlin please", "is no window"],
    [
      "Sat 02:00-04:00; Sun 02:00-04:00 Europe/Berlin",
      '"Sat 02:00-04:00" names no time zone, and another window does',
    ],
    ["Sat 02:00-04:00;", "is no window"],
    ["x".repeat(501), "longer than 500 characters"],
    [Array.from({ length: 21 }, () => "02:00-04:00").join(";"), "more than 20 windows"],
  ])("%j is refused, and it is said why", (text, why) => {
    const parsed = parseWindows(text)
    assert.include(Result.isFailure(parsed) ? parsed.failure : "", why)
  })
})

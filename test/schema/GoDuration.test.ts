import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Option, Schema } from "effect"
import { formatGoDuration, GoDuration, parseGoDuration } from "../../src/schema/GoDuration.ts"

describe("parseGoDuration", () => {
  it.each([
    ["30m", "30 minutes"],
    ["1h30m", "90 minutes"],
    ["10s", "10 seconds"],
    ["1.5h", "90 minutes"],
    ["300ms", "300 millis"],
    [".5s", "500 millis"],
    ["1.s", "1 second"],
    ["1h0m0s", "1 hour"],
    ["30s1m", "90 seconds"],
    ["1m1m", "2 minutes"],
    ["0", "0 millis"],
    ["0s", "0 millis"],
    ["2us", "2 micros"],
    ["2µs", "2 micros"],
    ["2μs", "2 micros"],
    ["7ns", "7 nanos"],
    ["0.0000000001s", "0 nanos"],
  ] as const)("reads %s as %s", (text, expected) => {
    const parsed = parseGoDuration(text)
    assert.isTrue(Option.isSome(parsed))
    assert.isTrue(Duration.equals(Option.getOrThrow(parsed), Duration.fromInputUnsafe(expected)))
  })

  it.each([
    "",
    "30",
    "m",
    "30 m",
    "30M",
    "1d",
    "-1s",
    "+1s",
    "1e3s",
    "1h30",
    "30m ",
    ".s",
    "1..5s",
    "½h",
    "9999999h",
  ])("refuses %j", (text) => assert.isTrue(Option.isNone(parseGoDuration(text))))
})

describe("formatGoDuration", () => {
  it.each([
    ["30 minutes", "30m"],
    ["90 minutes", "1h30m"],
    ["10 seconds", "10s"],
    ["24 hours", "24h"],
    ["3601 seconds", "1h1s"],
    ["1500 millis", "1.5s"],
    ["300 millis", "300ms"],
    ["1500 micros", "1500us"],
    ["7 nanos", "7ns"],
    ["0 millis", "0s"],
  ] as const)("writes %s as %s", (duration, text) =>
    assert.strictEqual(formatGoDuration(Duration.fromInputUnsafe(duration)), text),
  )

  it.prop(
    "is read back to the same duration",
    { nanos: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)) },
    ({ nanos }) => {
      const duration = Duration.nanos(BigInt(nanos))
      const again = Option.getOrThrow(parseGoDuration(formatGoDuration(duration)))
      assert.isTrue(Duration.equals(duration, again))
    },
    { arbitrary: { runs: 500, seed: 4 } },
  )
})

describe("GoDuration", () => {
  it.effect("decodes and encodes", () =>
    Effect.gen(function* () {
      const duration = yield* Schema.decodeEffect(GoDuration)("1h30m")
      assert.strictEqual(Duration.toMinutes(duration), 90)
      assert.strictEqual(yield* Schema.encodeEffect(GoDuration)(duration), "1h30m")
    }),
  )

  it.effect("names the value it refuses", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Schema.decodeEffect(GoDuration)("half an hour"))
      assert.include(error.message, '"half an hour" is not a duration such as 30m, 1h30m or 10s')
    }),
  )
})

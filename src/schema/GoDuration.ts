// Durations as Go writes them (`30m`, `1h30m`, `1.5h`, `300ms`): the form of the operator's flags and chart values.
// The grammar is that of Go's time.ParseDuration, without signs: a flag is never negative.
import { Duration, Effect, Option, Schema, SchemaGetter, SchemaIssue } from "effect"

const nanosPerUnit: ReadonlyMap<string, bigint> = new Map([
  ["h", 3_600_000_000_000n],
  ["m", 60_000_000_000n],
  ["s", 1_000_000_000n],
  ["ms", 1_000_000n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["μs", 1_000n],
  ["ns", 1n],
])

/** Go keeps nanoseconds in an int64: about 292 years. */
const MAX_NANOS = 2n ** 63n - 1n

// µ is written as U+00B5 (micro sign) or U+03BC (Greek mu).
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gu
const whole = new RegExp(`^(?:${part.source})+$`, "u")

/** Go cuts what is finer than a nanosecond. */
const toNanos = (value: string, unit: bigint): bigint => {
  const [integer = "", fraction = ""] = value.split(".")
  const scaled = fraction === "" ? 0n : (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length)
  return BigInt(integer === "" ? "0" : integer) * unit + scaled
}

/** `None` when the text is no duration. */
export const parseGoDuration = (text: string): Option.Option<Duration.Duration> => {
  if (text === "0") return Option.some(Duration.zero)
  if (!whole.test(text)) return Option.none()
  let nanos = 0n
  for (const [, value = "", unit = ""] of text.matchAll(part))
    nanos += toNanos(value, nanosPerUnit.get(unit) ?? 0n)
  return nanos > MAX_NANOS ? Option.none() : Option.some(Duration.nanos(nanos))
}

/** The shortest exact form: `30m`, `1h30m`, `1.5s`, `300ms`, `0s`. Go reads it back to the same duration. */
export const formatGoDuration = (duration: Duration.Duration): string => {
  const nanos = Option.getOrElse(Duration.toNanos(duration), () => MAX_NANOS)
  if (nanos === 0n) return "0s"
  for (const unit of ["ms", "us", "ns"]) {
    const size = nanosPerUnit.get(unit) ?? 1n
    if (nanos < 1_000_000_000n && nanos % size === 0n) return `${nanos / size}${unit}`
  }
  const hours = nanos / 3_600_000_000_000n
  const minutes = (nanos / 60_000_000_000n) % 60n
  const rest = nanos % 60_000_000_000n
  const fraction = (rest % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "")
  const seconds = `${rest / 1_000_000_000n}${fraction === "" ? "" : `.${fraction}`}`
  return `${hours > 0n ? `${hours}h` : ""}${minutes > 0n ? `${minutes}m` : ""}${rest > 0n ? `${seconds}s` : ""}`
}

/** A Go duration string and the Duration it is. */
export const GoDuration = Schema.String.annotate({
  description: "A duration such as 30m, 1h30m or 10s",
}).pipe(
  Schema.decodeTo(Schema.Duration, {
    decode: SchemaGetter.transformEffect((text: string) =>
      Effect.fromOption(parseGoDuration(text)).pipe(
        Effect.mapError(
          () =>
            new SchemaIssue.InvalidValue({
              message: `${JSON.stringify(text)} is not a duration such as 30m, 1h30m or 10s`,
            }),
        ),
      ),
    ),
    encode: SchemaGetter.transform(formatGoDuration),
  }),
)

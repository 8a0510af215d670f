// The building blocks of the API's fields: each carries its check for the decoder and the same rule for the CRD, so
// that the two cannot drift apart.
import { DateTime, Option, Schema } from "effect"

/** An exact version of a package, such as `6.0.22`. */
export const VERSION_PATTERN = "^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$"

/** A rule of the Common Expression Language in the CRD, with the same rule for the decoder. */
export interface CelRule<T> {
  readonly rule: string
  /** What the API server and the decoder say, word for word. */
  readonly message: string
  /** Left out for a transition rule (one that names `oldSelf`): those are `checkUpdate`'s. */
  readonly holds?: (value: T) => boolean
}

export const celRule = <T>(rule: CelRule<T>) =>
  Schema.makeFilter<T>((value) => rule.holds?.(value) ?? true, {
    message: rule.message,
    toJsonSchema: () => ({ "x-kubernetes-validations": [{ rule: rule.rule, message: rule.message }] }),
  })

/**
 * A pattern as the CRD carries it. The API server matches with Go's RE2, whose `\s` is ASCII only; JavaScript's also
 * takes Unicode's spaces, so the decoder spells the class out.
 */
export const matches = (pattern: string, expected: string) =>
  Schema.isPattern(new RegExp(pattern.replaceAll("\\s", "\\t\\n\\f\\r "), "u"), {
    expected,
    toJsonSchema: () => ({ pattern }),
  })

/** At most so many characters, counted in code points as the API server does. */
export const upTo = (max: number) => Schema.String.check(Schema.isMaxCodePoints(max))
export const between = (min: number, max: number) =>
  Schema.String.check(Schema.isMinCodePoints(min), Schema.isMaxCodePoints(max))

// The API server keeps integers in 64 bits whatever the format says. Beyond 2^53 a JavaScript number is rounded; such
// a value is accepted all the same.
const integer = (format: "int32" | "int64") =>
  Schema.Finite.check(
    Schema.makeFilter<number>((n) => Number.isInteger(n) && Math.abs(n) <= 2 ** 63, {
      expected: "an integer",
      toJsonSchema: () => ({ type: "integer", format }),
    }),
  )

export const Int32 = integer("int32")
export const Int64 = integer("int64")

export const int32Between = (minimum: number, maximum: number) =>
  Int32.check(Schema.isBetween({ minimum, maximum }))
export const int64AtLeast = (minimum: number) => Int64.check(Schema.isGreaterThanOrEqualTo(minimum))

// The API server's own reading of `date-time` (k8s.io/kube-openapi, strfmt.IsDateTime): no leap seconds, either case.
const dateTime =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})t([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/u

const isDate = (text: string): boolean => {
  const date = DateTime.make(`${text}T00:00:00Z`)
  return Option.isSome(date) && DateTime.formatIsoDateUtc(date.value) === text
}

const isDateTime = (text: string): boolean => {
  const [, date = "", hour = "", minute = "", second = ""] = dateTime.exec(text.toLowerCase()) ?? []
  return hour <= "23" && minute <= "59" && second <= "59" && isDate(date)
}

/** An RFC 3339 time, kept as the text it is. */
export const DateTimeText = Schema.String.check(
  Schema.makeFilter(isDateTime, {
    expected: "an RFC 3339 time such as 2026-01-02T03:04:05Z",
    toJsonSchema: () => ({ format: "date-time" }),
  }),
)

/** A list that the API server merges by key and in which a key comes once. */
export const mapList = <
  S extends Schema.Constraint & { readonly Type: Readonly<Record<K, string>> },
  K extends string,
>(
  item: S,
  key: K,
  max?: number,
) => {
  const list = Schema.Array(item)
  const unique = Schema.makeFilter<ReadonlyArray<S["Type"]>>(
    (items) => {
      const seen = new Set<string>()
      const issues: Array<Schema.FilterIssue> = []
      items.forEach((entry, index) => {
        const value = entry[key]
        if (seen.has(value)) issues.push({ path: [index, key], issue: `duplicate ${key} "${value}"` })
        seen.add(value)
      })
      return issues
    },
    {
      toJsonSchema: () => ({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] }),
    },
  )
  return max === undefined ? list.check(unique) : list.check(Schema.isMaxLength(max), unique)
}

/** `http://` or `https://` and whatever follows (`{tenant}` included). */
export const isHttpUrl = matches("^https?://", "a URL that begins with http:// or https://")

/** A reference by digest. */
export const isPinnedImage = matches(
  "^[^@\\s]+@sha256:[0-9a-f]{64}$",
  "an image reference pinned by digest (name@sha256:…)",
)

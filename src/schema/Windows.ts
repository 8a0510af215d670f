// Maintenance windows, as an annotation has them: `Sat 02:00-04:00 Europe/Berlin`. Days, a span of a day by the clock on the
// wall, and a time zone; several are separated by `;` or `,`. Pure.
import { DateTime, Option, Result } from "effect"

const dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const
const MAX_TEXT = 500
const MAX_WINDOWS = 20
const dayMinutes = 24 * 60
const minuteMillis = 60_000

export interface Window {
  /** On which it opens, 0 is Sunday. */
  readonly days: ReadonlySet<number>
  /** Minutes since midnight, on the wall. */
  readonly from: number
  /** The same; one that is not later than `from` is of the next day. */
  readonly to: number
  readonly zone: DateTime.TimeZone
}
export type Windows = ReadonlyArray<Window>

const fail = (message: string) => Result.fail(message)

const dayOf = (text: string): Result.Result<number, string> => {
  const day = dayNames.findIndex((name) => name.toLowerCase() === text.toLowerCase())
  return day < 0 ? fail(`"${text}" is no day: they are ${dayNames.join(", ")}`) : Result.succeed(day)
}

/** `Sat`, `Mon-Fri`, `Fri-Mon`; none: every day. */
const daysOf = (text: string | undefined): Result.Result<ReadonlySet<number>, string> => {
  if (text === undefined) return Result.succeed(new Set(dayNames.keys()))
  const [first = "", last = first, ...more] = text.split("-")
  if (more.length > 0) return fail(`"${text}" is no range of days such as Mon-Fri`)
  return Result.map(Result.all([dayOf(first), dayOf(last)]), ([from, to]) => {
    const count = ((to - from + 7) % 7) + 1
    return new Set(Array.from({ length: count }, (_, index) => (from + index) % 7))
  })
}

const minutesOf = (text: string): number | undefined => {
  const [, hour = "", minute = ""] = /^(\d\d):(\d\d)$/.exec(text) ?? []
  const minutes = Number(hour) * 60 + Number(minute)
  return hour === "" || Number(minute) > 59 || minutes > dayMinutes ? undefined : minutes
}

const spanOf = (text: string): Result.Result<Pick<Window, "from" | "to">, string> => {
  const [first = "", last = "", ...more] = text.split("-")
  const [from, to] = [minutesOf(first), minutesOf(last)]
  if (from === undefined || from === dayMinutes || to === undefined || more.length > 0) {
    return fail(`"${text}" is no span of a day such as 02:00-04:00`)
  }
  return from === to ? fail(`"${text}" is empty; a whole day is 00:00-24:00`) : Result.succeed({ from, to })
}

interface Written extends Omit<Window, "zone"> {
  readonly zone: DateTime.TimeZone | undefined
}

const windowOf = (text: string): Result.Result<Written, string> => {
  const parts = text.trim().split(/\s+/)
  const at = parts.findIndex((part) => part.includes(":"))
  if (at < 0 || at > 1 || parts.length > at + 2) {
    return fail(`"${text.trim()}" is no window such as "Sat 02:00-04:00 Europe/Berlin"`)
  }
  const [span = "", name] = parts.slice(at)
  const zone = name === undefined ? undefined : Option.getOrUndefined(DateTime.zoneMakeNamed(name))
  if (name !== undefined && zone === undefined) return fail(`"${name}" is no time zone such as Europe/Berlin`)
  return Result.map(
    Result.all([daysOf(at === 1 ? parts[0] : undefined), spanOf(span)]),
    ([days, { from, to }]) => ({
      days,
      from,
      to,
      zone,
    }),
  )
}

/** Without a time zone it is UTC, unless another window of the same text names one: that would be meant for all. */
export const parseWindows = (text: string): Result.Result<Windows, string> => {
  if (text.length > MAX_TEXT) return fail(`it is longer than ${MAX_TEXT} characters`)
  const texts = text.split(/[;,]/)
  if (texts.length > MAX_WINDOWS) return fail(`it has more than ${MAX_WINDOWS} windows`)
  return Result.flatMap(Result.all(texts.map(windowOf)), (windows) => {
    const unzoned = windows.findIndex(({ zone }) => zone === undefined)
    if (unzoned >= 0 && windows.some(({ zone }) => zone !== undefined)) {
      return fail(`"${(texts[unzoned] ?? "").trim()}" names no time zone, and another window does`)
    }
    const utc = DateTime.zoneMakeNamedUnsafe("UTC")
    return Result.succeed(windows.map((window) => ({ ...window, zone: window.zone ?? utc })))
  })
}

interface Opening {
  /** Milliseconds since the epoch. */
  readonly opens: number
  readonly closes: number
}

/**
 * An hour that the clocks skip is the one after it, and of one that comes twice a window has both: it opens with the first
 * and closes with the second.
 */
const openingOn = (
  { from, to, zone }: Window,
  { year, month, day }: { readonly year: number; readonly month: number; readonly day: number },
): ReadonlyArray<Opening> => {
  const at = (date: number, minutes: number, disambiguation: "compatible" | "later") =>
    DateTime.makeZoned(
      {
        year,
        month,
        day: date,
        hour: Math.floor(minutes / 60),
        minute: minutes % 60,
        second: 0,
        millisecond: 0,
      },
      { timeZone: zone, adjustForTimeZone: true, disambiguation },
    )
  const length = to > from ? to - from : to + dayMinutes - from
  const closing = at(to > from ? day : day + 1, to, "later")
  return Option.match(Option.all([at(day, from, "compatible"), closing]), {
    onNone: () => [],
    onSome: ([first, last]) => {
      const [opens, closes] = [DateTime.toEpochMillis(first), DateTime.toEpochMillis(last)]
      // All of it was skipped.
      return [{ opens, closes: closes > opens ? closes : opens + length * minuteMillis }]
    },
  })
}

/** From the day before, whose window may still be open, to the same day of the next week. */
const daysAhead = [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8]

const openingsOf = (window: Window, now: number): ReadonlyArray<Opening> => {
  const { year, month, day } = DateTime.toParts(DateTime.setZone(DateTime.makeUnsafe(now), window.zone))
  return daysAhead.flatMap((ahead) => {
    const weekday = new Date(Date.UTC(year, month - 1, day + ahead)).getUTCDay()
    return window.days.has(weekday) ? openingOn(window, { year, month, day: day + ahead }) : []
  })
}

/** When what waits for a window may begin: `now` inside of one, else the next opening. Milliseconds since the epoch. */
export const opensAt = (windows: Windows, now: number): number =>
  Math.min(
    ...windows
      .flatMap((window) => openingsOf(window, now))
      .filter(({ closes }) => closes > now)
      .map(({ opens }) => Math.max(opens, now)),
  )

// How kubectl and the server write how long ago something was: `45s`, `3m20s`, `2d4h`.

const SECOND = 1000

const two = (big: number, unit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${big}${unit}` : `${big}${unit}${small}${smallUnit}`

/** A time that passed, of milliseconds: the larger it is, the less precise. One in the future is invalid. */
export const humanDuration = (millis: number): string => {
  const seconds = Math.trunc(millis / SECOND)
  if (seconds < -1) return "<invalid>"
  if (seconds < 0) return "0s"
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.trunc(seconds / 60)
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s")
  if (minutes < 180) return `${minutes}m`
  const hours = Math.trunc(minutes / 60)
  if (hours < 8) return two(hours, "h", minutes % 60, "m")
  if (hours < 48) return `${hours}h`
  const days = Math.trunc(hours / 24)
  if (days < 8) return two(days, "d", hours % 24, "h")
  if (days < 730) return `${days}d`
  const years = Math.trunc(days / 365)
  return years < 8 ? two(years, "y", days % 365, "d") : `${years}y`
}

/** Since a time of the API; `<unknown>` for one that is not there. */
export const age = (timestamp: unknown, now: number): string => {
  const then = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then)
}

// Which events are the same one again: the API keeps one object with a count for them, not an object each. And how many
// objects a failure may fill that says something else each time.
import { Duration } from "effect"
import type { KubeObject } from "../Kubernetes/Kubernetes.ts"
import type { OperatorEvent } from "./Events.ts"

/**
 * An event that comes again within this time of its last occurrence continues the series, unless the API server has dropped
 * its object meanwhile: it keeps one that nobody writes to for an hour (`--event-ttl`).
 */
export const WINDOW = Duration.days(1)

/** The first pause before a Warning of a known reason gets an object for its new words; each pause is twice the last. */
export const FIRST_PAUSE = Duration.minutes(30)

export interface Series {
  /** Name of the Event object; undefined while there is none. */
  name: string | undefined
  /** How often it occurred. */
  count: number
  /** Monotonic nanoseconds of the last occurrence. */
  last: bigint
}

interface Pause {
  readonly generation: number | undefined
  readonly length: Duration.Duration
  readonly endsAt: bigint
}

const nanos = (duration: Duration.Duration): bigint => Duration.toNanosUnsafe(duration)

const identify = (regarding: KubeObject, { type, reason, action }: OperatorEvent): string =>
  JSON.stringify([regarding.metadata.uid, type, reason, action])

/** The series of the last day. */
export const makeSeriesMemory = () => {
  /** By what is told, then by the words; the newest is last. */
  const memory = new Map<string, Map<string, Series>>()
  /** By the UID of the object. */
  const pauses = new Map<string, Pause>()

  const forget = (now: bigint): void => {
    for (const [key, notes] of memory) {
      for (const [note, { last }] of notes) if (now - last > nanos(WINDOW)) notes.delete(note)
      if (notes.size === 0) memory.delete(key)
    }
    for (const [uid, { endsAt }] of pauses) if (now - endsAt > nanos(WINDOW)) pauses.delete(uid)
  }

  /** Whether new words of a known reason may have an object of their own now. Whoever edits the object hears at once. */
  const mayTell = ({ metadata: { uid, generation } }: KubeObject, now: bigint): boolean => {
    const known = pauses.get(uid)
    const before = known?.generation === generation ? known : undefined
    if (before !== undefined && now < before.endsAt) return false
    const length = before === undefined ? FIRST_PAUSE : Duration.times(before.length, 2)
    pauses.set(uid, { generation, length, endsAt: now + nanos(length) })
    return true
  }

  const seriesFor = (regarding: KubeObject, event: OperatorEvent, now: bigint): Series => {
    const key = identify(regarding, event)
    const notes = memory.get(key) ?? new Map<string, Series>()
    memory.set(key, notes)
    const same = notes.get(event.note)
    if (same !== undefined) return same
    const newest = [...notes.values()].at(-1)
    // What went well, or was found, is told each time: it is no failure that goes on.
    const paced = event.type === "Warning" && event.paced !== false
    if (newest !== undefined && paced && !mayTell(regarding, now)) return newest
    const series = { name: undefined, count: 0, last: now }
    notes.set(event.note, series)
    return series
  }

  return {
    /** Counts an occurrence in. */
    occurred: (regarding: KubeObject, event: OperatorEvent, now: bigint): Series => {
      forget(now)
      const series = seriesFor(regarding, event, now)
      series.count += 1
      series.last = now
      return series
    },
  }
}

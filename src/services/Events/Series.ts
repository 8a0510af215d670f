// Which events are the same one again: the API keeps one object with a count for them, not an object each.
import { Duration } from "effect"
import type { KubeObject } from "../Kubernetes/Kubernetes.ts"
import type { OperatorEvent } from "./Events.ts"

/** An event that comes again within this time of its last occurrence continues the series. */
export const WINDOW = Duration.minutes(10)

export interface Series {
  /** Name of the Event object; undefined while there is none. */
  name: string | undefined
  /** How often it occurred. */
  count: number
  /** Monotonic nanoseconds of the last occurrence. */
  last: bigint
}

const identify = (regarding: KubeObject, { type, reason, action, note }: OperatorEvent): string =>
  JSON.stringify([regarding.metadata.uid, type, reason, action, note])

/** The series of the last ten minutes. */
export const makeSeriesMemory = () => {
  const memory = new Map<string, Series>()
  const expired = (series: Series, now: bigint) => now - series.last > Duration.toNanosUnsafe(WINDOW)

  return {
    /** Counts an occurrence in. */
    occurred: (regarding: KubeObject, event: OperatorEvent, now: bigint): Series => {
      for (const [key, series] of memory) if (expired(series, now)) memory.delete(key)
      const key = identify(regarding, event)
      const series = memory.get(key) ?? { name: undefined, count: 0, last: now }
      series.count += 1
      series.last = now
      memory.set(key, series)
      return series
    },
  }
}

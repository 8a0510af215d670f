// Times as the API carries them (metav1.Time: RFC 3339, UTC, whole seconds).
import { DateTime, Option } from "effect"

/** `2026-01-02T03:04:05Z`: what `lastTransitionTime`, `lastRepair` and `resyncStarted` are written as. */
export const formatTime = (time: DateTime.DateTime): string =>
  DateTime.formatIso(time).replace(/\.\d+Z$/, "Z")

/** `None` when a status carries something that is no time. */
export const parseTime = (text: string): Option.Option<DateTime.Utc> =>
  Option.map(DateTime.make(text), DateTime.toUtc)

/** Milliseconds since the epoch; 0, which counts as long ago, for what is no time. */
export const epochMillis = (text: string): number =>
  Option.match(parseTime(text), { onNone: () => 0, onSome: DateTime.toEpochMillis })

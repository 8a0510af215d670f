// How often the cleanup of an instance has failed, and when last: kept in annotations, so that neither the count nor the
// pause after a failure ends with the process.
import { DateTime, Duration, Option } from "effect"
import type { DeletionView } from "../../../schema/DeletionView.ts"
import {
  ANNOTATION_STORAGE_CLEANUP_COUNTED,
  ANNOTATION_STORAGE_CLEANUP_FAILURES,
} from "../../../schema/Names.ts"
import { formatTime, parseTime } from "../../../schema/Time.ts"
import { cleanupBackoff, nominalDelay } from "../../kit/Backoff.ts"

interface Subject {
  readonly metadata: Pick<DeletionView["metadata"], "annotations">
}

export const cleanupFailures = ({ metadata }: Subject): number => {
  const count = Number(metadata.annotations?.[ANNOTATION_STORAGE_CLEANUP_FAILURES] ?? "0")
  return Number.isSafeInteger(count) ? Math.max(count, 0) : 0
}

/** The UID of the Job that was counted last, and when. */
const lastCounted = ({ metadata }: Subject): readonly [job: string, at: string] => {
  const [job = "", at = ""] = (metadata.annotations?.[ANNOTATION_STORAGE_CLEANUP_COUNTED] ?? "").split(" ")
  return [job, at]
}

/** With this Job, which stays for a moment after it was counted: whoever died in between had counted it already. */
export const countFailure = (subject: Subject, job: string, now: number) => {
  const failures = cleanupFailures(subject) + (lastCounted(subject)[0] === job ? 0 : 1)
  return {
    failures,
    annotations: {
      [ANNOTATION_STORAGE_CLEANUP_FAILURES]: String(failures),
      [ANNOTATION_STORAGE_CLEANUP_COUNTED]: `${job} ${formatTime(DateTime.makeUnsafe(now))}`,
    },
  }
}

/** As a merge patch has it. */
export const noFailures = {
  [ANNOTATION_STORAGE_CLEANUP_FAILURES]: null,
  [ANNOTATION_STORAGE_CLEANUP_COUNTED]: null,
} as const

/** When the pause after the last failure ends. A failure in the future, of another clock, counts from now. */
export const cleanupPauseEnds = (subject: Subject, now: number): Option.Option<number> => {
  const failures = cleanupFailures(subject)
  if (failures === 0) return Option.none()
  const delay = Duration.toMillis(nominalDelay(cleanupBackoff, failures))
  return Option.map(
    parseTime(lastCounted(subject)[1]),
    (at) => Math.min(DateTime.toEpochMillis(at), now) + delay,
  )
}

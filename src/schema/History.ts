// What has been done for an instance, and what came of it: its last operations, oldest first. Pure. The state directory
// keeps them; `<name>-history` beside the instance shows them.
import { Schema } from "effect"
import { withoutSecrets } from "./Secrets.ts"
import { truncateAtWord, utf8Bytes } from "./Text.ts"

/** So many operations are kept of an instance, and so many bytes of JSON, whichever is less. */
export const MAX_OPERATIONS = 50
export const MAX_HISTORY_BYTES = 256 * 1024

/** So many names of what changed are kept of one operation, each of so many bytes. */
const MAX_CHANGED = 20
const MAX_NAME_BYTES = 160
/** Of why it ran, and of what it failed with. */
const MAX_WORDS = 1024

/** What a look at what an install would do is called. */
export const LOOK = "plan"
/** And one that is taken in place of a repair. */
export const DRIFT = "drift report"

export const outcomes = ["running", "succeeded", "failed", "cancelled", "interrupted"] as const

export const PastOperation = Schema.Struct({
  /** `install`, `repair`, `uninstall vCluster`… */
  what: Schema.String,
  /** A reason of `Installed`, or what was seen that it is to mend. */
  why: Schema.String,
  version: Schema.optionalKey(Schema.String),
  generation: Schema.optionalKey(Schema.Finite),
  /** RFC 3339, with milliseconds. */
  startedAt: Schema.String,
  /** Absent while it runs, and of one whose end nobody has seen. */
  endedAt: Schema.optionalKey(Schema.String),
  /** `interrupted`: the operator's process ended before it. */
  outcome: Schema.Literals(outcomes),
  /** Of a failure, as its condition has them. */
  reason: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String),
  /** What was made, changed, removed or put back. */
  changed: Schema.Array(Schema.String),
  /** How many more than those named. */
  more: Schema.optionalKey(Schema.Finite),
  /** The trace it is part of, where there are traces. */
  traceId: Schema.optionalKey(Schema.String),
})
export type PastOperation = typeof PastOperation.Type

export const History = Schema.Struct({ format: Schema.Literal(1), operations: Schema.Array(PastOperation) })
export type History = typeof History.Type

export const HistoryText = Schema.fromJsonString(History)
export const emptyHistory: History = { format: 1, operations: [] }

export type Begun = Pick<PastOperation, "what" | "why" | "version" | "generation" | "startedAt" | "traceId">

export interface Ending {
  readonly outcome: Exclude<PastOperation["outcome"], "running">
  readonly endedAt: string
  readonly reason?: string
  readonly message?: string
  readonly changed: Iterable<string>
}

/** Programs' words were redacted where they were heard, by what was known there; this is the net below. */
const words = (text: string, limit = MAX_WORDS): string =>
  truncateAtWord(withoutSecrets(text), limit, utf8Bytes)

/** The oldest go first; the newest always stays. */
const bounded = (operations: ReadonlyArray<PastOperation>): History => {
  let kept = operations.slice(-MAX_OPERATIONS)
  while (kept.length > 1 && utf8Bytes(JSON.stringify({ format: 1, operations: kept })) > MAX_HISTORY_BYTES) {
    kept = kept.slice(1)
  }
  return { format: 1, operations: kept }
}

/** What still counts as running was begun by a process that is gone. */
export const interrupted = ({ operations }: History): History => ({
  format: 1,
  operations: operations.map((operation) =>
    operation.outcome === "running" ? { ...operation, outcome: "interrupted" } : operation,
  ),
})

export const isRunning = ({ operations }: History): boolean =>
  operations.some(({ outcome }) => outcome === "running")

/** A look that is taken again is no other one: it takes the place of the one before. */
const isSameLook = (past: PastOperation, { what, version, generation }: Begun): boolean =>
  (what === LOOK || what === DRIFT) &&
  past.what === what &&
  past.version === version &&
  past.generation === generation

/** An instance has one operation at a time. */
export const withBegun = (history: History, begun: Begun): History =>
  bounded([
    ...interrupted(history).operations.filter((past) => !isSameLook(past, begun)),
    { ...begun, why: words(begun.why), outcome: "running", changed: [] },
  ])

/** Ends the one that runs; without one, nothing. */
export const withEnded = (history: History, { changed, message, ...ending }: Ending): History => {
  const names = [...new Set(changed)]
  const more = names.length - MAX_CHANGED
  return bounded(
    history.operations.map((operation) =>
      operation.outcome === "running"
        ? {
            ...operation,
            ...ending,
            ...(message === undefined ? {} : { message: words(message) }),
            changed: names.slice(0, MAX_CHANGED).map((name) => words(name, MAX_NAME_BYTES)),
            ...(more > 0 ? { more } : {}),
          }
        : operation,
    ),
  )
}

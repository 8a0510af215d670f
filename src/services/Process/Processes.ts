// The processes of this machine, as far as they are not ours as children: who is in a session, when one started, and
// signals to one.
import { Context, type Effect } from "effect"

export interface ProcessStat {
  readonly pid: number
  /** `Z` and `X` have ended and only wait for their parent to notice. */
  readonly state: string
  readonly session: number
  /** Clock ticks since boot: with the pid, it names one process and no later one. */
  readonly startTime: string
  /** Bytes of memory it has for itself and shares: what is shared counts for each. */
  readonly residentBytes: number
}

export class Processes extends Context.Service<
  Processes,
  {
    /** Undefined when there is no such process. */
    readonly stat: (pid: number) => Effect.Effect<ProcessStat | undefined>
    readonly all: Effect.Effect<ReadonlyArray<ProcessStat>>
    /** Its environment as `NAME=value`; empty when there is none to be seen. */
    readonly environment: (pid: number) => Effect.Effect<ReadonlyArray<string>>
    /** When this machine started, in milliseconds since the epoch; to the second. */
    readonly bootTimeMillis: Effect.Effect<number>
    /** To one process. One that is gone already has what it needs. */
    readonly signal: (pid: number, signal: NodeJS.Signals) => Effect.Effect<void>
  }
>()("platform-operator/Processes") {}

// Who held a state before, and whether it can still be at work. Nothing is taken over from a holder that may
// be alive. A pod's name and a pid prove nothing, because a restarted container has the same name and the
// same small pids; what proves something is the pod's UID, the incarnation of the operator, and the start
// time of a process.
import { Effect, Option, Schema } from "effect"
import { type IsPodAlive, mayBeAtWork } from "../Kubernetes/PodLiveness.ts"
import { Processes } from "../Process/Processes.ts"
import { processStartTime, sessionProcesses } from "../Process/Session.ts"
import type { OperationMarker } from "../StateStore/StateStore.ts"
import { incarnationVariable } from "./Environment.ts"

/** Who this operator is. */
export interface Identity {
  readonly podUID: string
  readonly podName: string
  /** Random, one a start of the operator. */
  readonly incarnation: string
  /** As the kernel says it: what the pulumi CLI writes into its locks. A long pod name is cut in it. */
  readonly hostname: string
}

/** What the pulumi CLI writes into a lock file (read in its source, 3.274.1). `pid` is the CLI's. */
export const LockContent = Schema.Struct({
  pid: Schema.Finite,
  username: Schema.String,
  hostname: Schema.String,
  timestamp: Schema.String,
})
export type LockContent = typeof LockContent.Type

export type Verdict =
  /** `orphans`: a session that is proven to be the holder's, lives on, and must be ended first. */
  | {
      readonly _tag: "Dead"
      readonly orphans: Option.Option<number>
    }
  | { readonly _tag: "Alive"; readonly holder: string }

const dead: Verdict = { _tag: "Dead", orphans: Option.none() }
const orphaned = (session: number): Verdict => ({ _tag: "Dead", orphans: Option.some(session) })

/** Whether a process was started by this incarnation of the operator, by the environment it was given. */
const hasIncarnation = Effect.fnUntraced(function* (pid: number, incarnation: string) {
  const { environment } = yield* Processes
  return (yield* environment(pid)).includes(`${incarnationVariable}=${incarnation}`)
})

/** Judges the writer of an `operation.json`. The caller knows that this incarnation runs nothing for the instance. */
export const judgeMarker = Effect.fn("Evidence.judgeMarker")(function* (
  marker: OperationMarker,
  identity: Identity,
  isPodAlive: IsPodAlive,
) {
  const { holder } = marker
  const { podName, podUID } = holder
  if (podUID !== identity.podUID) {
    const alive = yield* mayBeAtWork({ podName, podUID, since: marker.startedAt }, identity, isPodAlive)
    const name = `pod ${holder.podName} (${marker.kind} of ${marker.version}, since ${marker.startedAt})`
    return alive ? ({ _tag: "Alive", holder: name } satisfies Verdict) : dead
  }
  // An earlier incarnation in our own pod, or an operation of ours that ended without tidying up. A container
  // that restarted took its processes with it; a plain process that restarted did not.
  if (holder.pid === undefined || holder.startTime === undefined) return dead
  const { pid, startTime } = holder
  const found = yield* processStartTime(pid)
  if (found !== undefined) return found === startTime ? orphaned(pid) : dead
  // The runner is gone, what it started may not be; it carries the incarnation in its environment.
  const rest = yield* sessionProcesses(pid)
  const proven = yield* Effect.forEach(rest, (one) => hasIncarnation(one, holder.incarnation))
  return proven.includes(true) ? orphaned(pid) : dead
})

/** When a process started, in milliseconds since the epoch, given when the machine did. Precise to 10 ms. */
const startedAt = (startTime: string, bootTimeMillis: number): number =>
  bootTimeMillis + Number(startTime) * 10

/** The boot time is known in whole seconds; a lock is written some time after its process started. */
const clockSlackMillis = 2_000

/**
 * Judges the writer of a lock file of the file backend. `bootTimeMillis` is when this machine started.
 * A lock of our own host name is the one place where a pid says something: if no such process is there, or
 * one that started after the lock was written, its writer has ended.
 */
export const judgeLock = Effect.fn("Evidence.judgeLock")(function* (
  lock: LockContent,
  marker: Option.Option<OperationMarker>,
  identity: Identity,
  bootTimeMillis: number,
  isPodAlive: IsPodAlive,
) {
  const alive: Verdict = {
    _tag: "Alive",
    holder: `${lock.username}@${lock.hostname} (pid ${lock.pid}, since ${lock.timestamp})`,
  }
  if (lock.hostname === identity.hostname) {
    const started = yield* processStartTime(lock.pid)
    if (started === undefined) return dead
    const written = Date.parse(lock.timestamp)
    return Number.isNaN(written) || startedAt(started, bootTimeMillis) <= written + clockSlackMillis
      ? alive
      : dead
  }
  // The kernel cuts a host name at 64 characters; the marker knows the pod's whole name, and its UID.
  const pod = marker.pipe(
    Option.map(({ holder }) => holder),
    Option.filter(({ podName }) => podName.startsWith(lock.hostname)),
  )
  const { podName, podUID } = Option.getOrElse(pod, () => ({ podName: lock.hostname, podUID: undefined }))
  const podAlive = yield* mayBeAtWork({ podName, podUID, since: lock.timestamp }, identity, isPodAlive)
  return podAlive ? alive : dead
})

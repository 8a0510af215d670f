// The processes of a Unix session, read from /proc. A child that leads a session of its own is only over when
// no process of that session is left: an orphaned grandchild goes on working, and its parent is gone.
import { readdir, readFile } from "node:fs/promises"
import { Effect } from "effect"

interface ProcessStat {
  readonly pid: number
  /** `Z` and `X` have ended and only wait for their parent to notice. */
  readonly state: string
  readonly session: number
  /** Clock ticks since boot: with the pid, it names one process and no later one. */
  readonly startTime: string
}

/** `/proc/<pid>/stat`, see proc_pid_stat(5). The command in parentheses may hold any character, `)` included. */
const parseStat = (text: string): ProcessStat | undefined => {
  const pid = Number.parseInt(text, 10)
  // Fields from the third on: state ppid pgrp session … starttime (the 22nd).
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  const [state, , , session] = fields
  const startTime = fields[19]
  return state === undefined || session === undefined || startTime === undefined
    ? undefined
    : { pid, state, session: Number(session), startTime }
}

/** A process that ends while it is looked at is no failure: it is gone. */
const readStat = (pid: number) =>
  Effect.promise(() => readFile(`/proc/${pid}/stat`, "utf8").then(parseStat, () => undefined))

/** Field 22 of `/proc/<pid>/stat`; undefined when there is no such process. */
export const processStartTime = (pid: number): Effect.Effect<string | undefined> =>
  Effect.map(readStat(pid), (stat) => stat?.startTime)

/** The living processes of a session. */
export const sessionProcesses = Effect.fn("Process.sessionProcesses")(function* (session: number) {
  const names = yield* Effect.promise(() => readdir("/proc"))
  const stats = yield* Effect.forEach(
    names.filter((name) => /^\d+$/.test(name)),
    (name) => readStat(Number(name)),
    { concurrency: 16 },
  )
  return stats.flatMap((stat) =>
    stat === undefined || stat.session !== session || stat.state === "Z" || stat.state === "X"
      ? []
      : [stat.pid],
  )
})

/** Sends a signal to one process. One that is gone already has what it needs. */
export const signalProcess = (pid: number, signal: NodeJS.Signals): Effect.Effect<void> =>
  Effect.sync(() => {
    try {
      process.kill(pid, signal)
    } catch {
      // ESRCH: it ended in between.
    }
  })

/**
 * SIGKILL to every process of a session, again and again until `/proc` shows none: one that was just being
 * forked is not in the first listing. The session's id is its leader's pid; the kernel gives that number to no
 * other process as long as the session has a member.
 */
export const killSession = Effect.fn("Process.killSession")(function* (session: number) {
  let pids = yield* sessionProcesses(session)
  while (pids.length > 0) {
    yield* Effect.forEach(pids, (pid) => signalProcess(pid, "SIGKILL"), { discard: true })
    yield* Effect.sleep("10 millis")
    pids = yield* sessionProcesses(session)
  }
})

// The processes of a Unix session. A child that leads a session of its own is only over when no process of that
// session is left: an orphaned grandchild goes on working, and its parent is gone.
import { Effect } from "effect"
import { Processes } from "./Processes.ts"

/** Field 22 of `/proc/<pid>/stat`; undefined when there is no such process. */
export const processStartTime = Effect.fn("Process.processStartTime")(function* (pid: number) {
  const { stat } = yield* Processes
  return (yield* stat(pid))?.startTime
})

/** The living processes of a session. */
export const sessionProcesses = Effect.fn("Process.sessionProcesses")(function* (session: number) {
  const { all } = yield* Processes
  return (yield* all).flatMap((stat) =>
    stat.session !== session || stat.state === "Z" || stat.state === "X" ? [] : [stat.pid],
  )
})

/** Bytes of memory that the processes of a session have together; what they share counts for each. */
export const sessionMemory = Effect.fnUntraced(function* (session: number) {
  const { all } = yield* Processes
  return (yield* all).reduce((sum, stat) => (stat.session === session ? sum + stat.residentBytes : sum), 0)
})

/**
 * SIGKILL to every process of a session, again and again until none is left: one that was just being forked is not in
 * the first listing. The session's id is its leader's pid; the kernel gives that number to no other process as long as
 * the session has a member.
 */
export const killSession = Effect.fn("Process.killSession")(function* (session: number) {
  const { signal } = yield* Processes
  let pids = yield* sessionProcesses(session)
  while (pids.length > 0) {
    yield* Effect.forEach(pids, (pid) => signal(pid, "SIGKILL"), { discard: true })
    yield* Effect.sleep("10 millis")
    pids = yield* sessionProcesses(session)
  }
})

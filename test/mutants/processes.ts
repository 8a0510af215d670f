// What a process does, with all that it has started (proc_pid_stat(5)).
import { readdirSync, readFileSync } from "node:fs"
import { statOf } from "../bench/usage.ts"

/** Empty when the process or thread has ended. */
const orNothing = (read: () => ReadonlyArray<string>): ReadonlyArray<string> => {
  try {
    return read()
  } catch {
    return []
  }
}

/** As paths below `/proc`. */
const threads = (pid: number): ReadonlyArray<string> =>
  orNothing(() => readdirSync(`/proc/${pid}/task`).map((thread) => `${pid}/task/${thread}`))

/** A process and all that it has started, and so on: process ids. */
const family = (pid: number): ReadonlyArray<number> => [
  pid,
  ...threads(pid)
    .flatMap((thread) => orNothing(() => readFileSync(`/proc/${thread}/children`, "utf8").split(" ")))
    .filter((child) => child !== "")
    .flatMap((child) => family(Number(child))),
]

/** Seconds of CPU time that a process and its living children have used (100 ticks a second). */
export const cpuSeconds = (pid: number): number =>
  family(pid)
    .map((each) => orNothing(() => statOf(String(each))))
    .reduce((sum, found) => sum + (Number(found[11] ?? 0) + Number(found[12] ?? 0)) / 100, 0)

/** Whether all their threads sleep: one that only waits for its turn does not. */
export const isAsleep = (pid: number): boolean =>
  family(pid)
    .flatMap(threads)
    .every((thread) => ["S", "Z"].includes(orNothing(() => statOf(thread))[0] ?? ""))

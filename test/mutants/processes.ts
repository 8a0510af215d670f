// What a process does, with all that it has started (proc_pid_stat(5)).
import { readdirSync, readFileSync } from "node:fs"

/** Empty when it is gone, as of a process that has ended. */
const read = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

const threads = (pid: number): ReadonlyArray<string> => {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`)
  } catch {
    return []
  }
}

/** A process and all that it has started, and so on: process ids. */
const family = (pid: number): ReadonlyArray<number> => [
  pid,
  ...threads(pid)
    .flatMap((thread) => read(`${thread}/children`).split(" "))
    .filter((child) => child !== "")
    .flatMap((child) => family(Number(child))),
]

/** The fields of a process or a thread, from its state on. */
const fields = (folder: string): ReadonlyArray<string> => {
  const stat = read(`${folder}/stat`)
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

/** Seconds of CPU time that a process and its living children have used (100 ticks a second). */
export const cpuSeconds = (pid: number): number =>
  family(pid)
    .map((each) => fields(`/proc/${each}`))
    .reduce((sum, found) => sum + (Number(found[11] ?? 0) + Number(found[12] ?? 0)) / 100, 0)

/** Whether all their threads sleep: one that only waits for its turn does not. */
export const isAsleep = (pid: number): boolean =>
  family(pid)
    .flatMap(threads)
    .every((thread) => ["S", "Z"].includes(fields(thread)[0] ?? ""))

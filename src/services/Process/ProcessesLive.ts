// The processes of this machine, from /proc.
import { readdir, readFile } from "node:fs/promises"
import { Effect, Layer } from "effect"
import { Processes, type ProcessStat } from "./Processes.ts"

/** Of every machine this runs on: x86-64, and arm64 as Kubernetes nodes have it. */
const pageBytes = 4096

/** `/proc/<pid>/stat`, see proc_pid_stat(5). The command in parentheses may hold any character, `)` included. */
const parseStat = (text: string): ProcessStat | undefined => {
  const pid = Number.parseInt(text, 10)
  // Fields from the third on: state ppid pgrp session … starttime (the 22nd) vsize rss.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  const [state, , , session] = fields
  const startTime = fields[19]
  const residentPages = Number(fields[21] ?? 0)
  return state === undefined || session === undefined || startTime === undefined
    ? undefined
    : { pid, state, session: Number(session), startTime, residentBytes: residentPages * pageBytes }
}

/** A process that ends while it is looked at is no failure: it is gone. */
const stat = (pid: number) =>
  Effect.promise(() => readFile(`/proc/${pid}/stat`, "utf8").then(parseStat, () => undefined))

const live = Processes.of({
  stat,
  all: Effect.gen(function* () {
    const names = yield* Effect.promise(() => readdir("/proc"))
    const stats = yield* Effect.forEach(
      names.filter((name) => /^\d+$/.test(name)),
      (name) => stat(Number(name)),
      { concurrency: 16 },
    )
    return stats.filter((one) => one !== undefined)
  }),
  environment: (pid) =>
    Effect.promise(() =>
      readFile(`/proc/${pid}/environ`, "utf8").then(
        (text) => text.split("\0").filter((entry) => entry !== ""),
        () => [],
      ),
    ),
  // `btime` of proc_stat(5), seconds since the epoch.
  bootTimeMillis: Effect.promise(() => readFile("/proc/stat", "utf8")).pipe(
    Effect.map((text) => Number(/^btime ([0-9]+)$/m.exec(text)?.[1] ?? 0) * 1000),
  ),
  signal: (pid, signal) =>
    Effect.sync(() => {
      try {
        process.kill(pid, signal)
      } catch {
        // ESRCH: it ended in between.
      }
    }),
})

export const ProcessesLive = { layer: Layer.succeed(Processes, live) }

// What processes use, read from /proc: CPU time of this one and of the children it has waited for, and the memory of
// the sessions it has started.
import { readdirSync, readFileSync } from "node:fs"
import { Effect, Schedule } from "effect"

/** The fields of a stat file after the command's name; field 3 of proc(5) is the first. Of a process, or of `pid/task/tid`. */
export const statOf = (of: string): ReadonlyArray<string> => {
  const stat = readFileSync(`/proc/${of}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

/** Of a process, and of its children that it has waited for: seconds; the kernel tells them in hundredths. */
export const cpuSeconds = (pid = "self"): { readonly own: number; readonly children: number } => {
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = statOf(pid).slice(11, 15).map(Number)
  return { own: (user + system) / 100, children: (childrenUser + childrenSystem) / 100 }
}

export interface Cost {
  readonly seconds: number
  /** Of this process and of all that was started and has ended meanwhile, children of children included. */
  readonly cpuSeconds: number
}

/** `counted`: a bare script is a child alone; ours works in this process, too. */
export const measure = Effect.fnUntraced(function* <E, R>(
  effect: Effect.Effect<unknown, E, R>,
  counted: "children" | "children and own",
) {
  const before = cpuSeconds()
  const started = performance.now()
  yield* effect
  const seconds = (performance.now() - started) / 1000
  const after = cpuSeconds()
  const own = counted === "children" ? 0 : after.own - before.own
  return { seconds, cpuSeconds: after.children - before.children + own } satisfies Cost
})

export interface Memory {
  /** MiB, each process's pages counted in full: what is shared counts several times. */
  readonly rss: number
  /** MiB, a shared page divided among those who share it. */
  readonly pss: number
  /** The command of each process at the peak of `rss`, with its share and how much of it is no file's, in MiB. */
  readonly processes: ReadonlyArray<string>
}

const memoryOf = (pid: string) => {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")
  const mebibytes = (field: string) =>
    Number(new RegExp(`^${field}: +(\\d+)`, "m").exec(text)?.[1] ?? 0) / 1024
  return {
    rss: mebibytes("Rss"),
    pss: mebibytes("Pss"),
    anonymous: mebibytes("Anonymous"),
    command: readFileSync(`/proc/${pid}/comm`, "utf8").trim(),
  }
}

/** Whatever lives in one of these sessions; a session that a child of this process leads is added to them. */
const sample = (sessions: Set<string>): Memory => {
  let [rss, pss] = [0, 0]
  const processes: Array<string> = []
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const [, parent, , session = ""] = statOf(pid)
      if (parent === String(process.pid) && session === pid) sessions.add(session)
      if (!sessions.has(session)) continue
      const memory = memoryOf(pid)
      rss += memory.rss
      pss += memory.pss
      processes.push(`${memory.command} ${memory.rss.toFixed(0)}/${memory.anonymous.toFixed(0)}`)
    } catch {
      // It has ended since it was listed.
    }
  }
  return { rss, pss, processes }
}

/** The peak of what an effect's sessions hold, looked at every 25 ms. */
export const peakMemory = Effect.fnUntraced(function* <E, R>(effect: Effect.Effect<unknown, E, R>) {
  const sessions = new Set<string>()
  let peak: Memory = { rss: 0, pss: 0, processes: [] }
  const look = Effect.sync(() => {
    const now = sample(sessions)
    const { processes } = now.rss > peak.rss ? now : peak
    peak = { rss: Math.max(peak.rss, now.rss), pss: Math.max(peak.pss, now.pss), processes }
  })
  const looking = look.pipe(Effect.repeat(Schedule.spaced("25 millis")))
  yield* Effect.raceFirst(effect, looking)
  return peak
})

// Has deaths of workloads played by a process of their own (player.ts), one for all of this process.
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import { areWorldsAsked, noteWorld } from "../support/figures.ts"
import type { Told } from "../twins/crash/Copies.ts"
import type { Workload } from "../twins/crash/Crash.ts"
import type { EndState } from "../twins/crash/EndState.ts"
import { type CrashPoint, formatPoint } from "../twins/crash/Point.ts"
import { nameOfTest } from "../twins/simulation/seeds.ts"
import { workloads } from "./workloads.ts"

/** The name by which another process finds it. */
export type Name = keyof typeof workloads

/** Of a workload of that list; undefined of any other. */
export const nameOf = (workload: Workload): Name | undefined =>
  Object.keys(workloads).find((name): name is Name => workloads[name as Name] === workload)

type Entries<A> = ReadonlyArray<readonly [string, A]>

export interface Order {
  readonly workload: Name
  readonly seed: number
  readonly points: ReadonlyArray<string>
  /** What the world comes to without a death. */
  readonly end: {
    readonly objects: Entries<string>
    readonly made: Entries<number>
    readonly files: Entries<string>
  }
  /** Whether each world gives its digest. */
  readonly digested: boolean
  /** So many are played from the beginning first (`EachOptions`); as is usual when not set. */
  readonly warm?: number
}

export interface Line {
  readonly point: string
  readonly answer: Told<ReadonlyArray<string>>
  readonly digest?: string
}

/**
 * Whether there is time for one more: until `SIMULATION_UNTIL`, in seconds since the epoch. `.ci/run` has 90 minutes for all, and
 * prints how many were played of how many; whoever names no time has as much as it takes.
 */
export const isTime = (): boolean =>
  Date.now() < Number(process.env.SIMULATION_UNTIL || Number.POSITIVE_INFINITY) * 1000

export interface PlayInCopies {
  readonly workload: Name
  readonly seed: number
  readonly points: ReadonlyArray<CrashPoint>
  readonly end: EndState
  readonly digested?: boolean
  readonly warm?: number
}

const program = fileURLToPath(new URL("player.ts", import.meta.url))

interface Player {
  readonly process: ChildProcessByStdio<Writable, Readable, null>
  readonly lines: NodeJS.AsyncIterator<string>
}

/** It is there as long as this process is, and ends when nobody can give it an order any more. */
let player: Player | undefined

const startPlayer = (): Player => {
  // What it plays is noted here: it does not know for which test.
  const { SIMULATION_WORLDS: _, ...env } = process.env
  const child = spawn(process.execPath, ["--single-threaded", "--max-semi-space-size=32", program], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  })
  // Of one that has ended the lines end, too, and that is what tells of it.
  child.on("error", () => undefined)
  child.stdin.on("error", () => undefined)
  child.unref()
  return { process: child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

/** Plays each of the points, and gives what is known of it, in the order in which it was played. Fails when the process does. */
export const playInCopies = async (options: PlayInCopies): Promise<ReadonlyArray<Line>> => {
  const { workload, seed, points, end, digested = areWorldsAsked(), warm } = options
  const order: Order = {
    workload,
    seed,
    points: points.map(formatPoint),
    end: { objects: [...end.objects], made: [...end.made], files: [...end.files] },
    digested,
    ...(warm === undefined ? {} : { warm }),
  }
  player ??= startPlayer()
  const { process: child, lines: said } = player
  child.stdin.write(`${JSON.stringify(order)}\n`)
  const lines: Array<Line> = []
  for (let next = await said.next(); next.value !== ""; next = await said.next()) {
    if (next.done === true) {
      player = undefined
      throw new Error(`${program} has ended with ${child.signalCode ?? child.exitCode ?? "an error"}`)
    }
    lines.push(JSON.parse(next.value))
  }
  const told = Map.groupBy(lines, ({ point }) => point)
  for (const point of points)
    for (const { digest } of told.get(formatPoint(point)) ?? [])
      if (digest !== undefined) noteWorld(nameOfTest(), digest)
  return lines
}

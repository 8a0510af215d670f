// The same world beside a clock of its own: virtual time goes along with real time, times a speed, and what comes from
// outside (a request over a socket) enters it between two steps. In here all is as in a simulation, and nothing real
// exists; but when something comes in is for the outside to say, so that a run cannot be played again.
import { Cause, Effect, Exit, type Scope } from "effect"
import { prepare, type SimulateOptions, type Simulation, stuck } from "./Simulation.ts"

/** The real clock: milliseconds that only go up, and a call after so many of them. */
export interface Timers {
  readonly now: () => number
  readonly after: (millis: number, call: () => void) => () => void
}

export interface LiveOptions extends SimulateOptions {
  /** Milliseconds of virtual time for one of real time. Default: 1. */
  readonly speed?: number
  /** Default: the machine's. */
  readonly timers?: Timers
  /** Told when the world cannot go on, or its program has failed or ended. After that nothing runs any more. */
  readonly onEnd: (error: Error | undefined) => void
}

export interface Live {
  /** What comes from outside: it sees the world at the present moment, and what it changes is acted upon at once. */
  readonly enter: <A>(call: () => A) => A
  /** So many milliseconds of virtual time the world is behind: it has more to do than the machine can. */
  readonly lag: () => number
  /** Milliseconds of virtual time since the beginning. */
  readonly elapsed: () => number
  /** Nothing runs any more, at once, as when the power fails. */
  readonly stop: () => void
}

/** So long the world runs before whoever waits outside has a turn, in real milliseconds. */
const SLICE = 12
/** Even while nobody sleeps the clock goes on, in real milliseconds. */
const LONGEST_NAP = 250

const machineTimers: Timers = {
  now: () => performance.now(),
  after: (millis, call) => {
    if (millis <= 0) {
      const soon = setImmediate(call)
      return () => clearImmediate(soon)
    }
    const timer = setTimeout(call, millis)
    return () => clearTimeout(timer)
  },
}

/** Begins at once, and runs on beside whatever else this process does, until it is stopped. */
export const runLive = <A, E>(
  effect: Effect.Effect<A, E, Simulation | Scope.Scope>,
  options: LiveOptions,
): Live => {
  const { kernel, begin } = prepare(options)
  const { speed = 1, timers = machineTimers } = options
  const began = timers.now()
  let over = false
  let cancel = () => {}
  const due = () => Math.floor((timers.now() - began) * speed)

  const end = (error: Error | undefined) => {
    if (over) return
    over = true
    cancel()
    options.onEnd(error)
  }

  const plan = (millis: number) => {
    cancel()
    if (!over) cancel = timers.after(millis, go)
  }

  /** A slice; true when the present is reached. */
  const slice = (): boolean => {
    if (over) return true
    const until = timers.now() + SLICE
    try {
      const how = kernel.runTo(due(), () => !over && timers.now() < until)
      if (how === "livelock") end(stuck("livelock", kernel))
      return how === "there"
    } catch (thrown) {
      end(thrown instanceof Error ? thrown : new Error(String(thrown)))
      return true
    }
  }

  const go = () => {
    const there = slice()
    if (over) return
    if (!there) return plan(0)
    const next = kernel.nextWake
    const nap = next === undefined ? LONGEST_NAP : Math.min(LONGEST_NAP, (next - due()) / speed)
    plan(Math.max(0, Math.ceil(nap)))
  }

  // Not before whoever begins it has it in hand.
  begin(Effect.andThen(Effect.yieldNow, effect)).addObserver((exit) => {
    if (Exit.isSuccess(exit)) return end(undefined)
    const thrown = Cause.squash(exit.cause)
    end(thrown instanceof Error ? thrown : new Error(String(thrown)))
  })
  plan(0)

  return {
    enter: (call) => {
      slice()
      const result = call()
      plan(0)
      return result
    },
    lag: () => Math.max(0, due() - kernel.elapsed),
    elapsed: () => kernel.elapsed,
    stop: () => {
      over = true
      cancel()
    },
  }
}

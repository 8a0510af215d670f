// The edge of one operator process: every call it makes to the world outside of it, numbered. A call takes a moment on
// its way there and on its way back; the process may die at any of them, before the call has its effect or after it.
import { Effect } from "effect"
import type { Lifetime } from "../simulation/Lifetime.ts"

export interface EdgeCall {
  /** From 1, in the order in which they were made. */
  readonly number: number
  /** `PATCH /api/v1/…`, `rename <from> <to>`, `spawn helm install …`. */
  readonly what: string
  /** Whether it changes anything out there. */
  readonly writes: boolean
}

export type Moment = "before" | "after"

/** Decides whether the operator dies at a call. */
export type CrashPlan = (call: EdgeCall) => Moment | undefined

export interface EdgeOptions {
  readonly life: Lifetime
  readonly plan?: CrashPlan
  /** Ends the life, and whatever ends with it. */
  readonly kill: () => void
  /** Told of each call before it has its effect, and after that, when its answer is on its way. */
  readonly onCall?: (call: EdgeCall) => void
  readonly onAnswer?: (call: EdgeCall, failure?: unknown) => void
}

export interface CallOptions {
  readonly what: () => string
  readonly writes: boolean
  /** A system call is not given up half-way; a request is. */
  readonly interruptible: boolean
}

export interface Edge {
  /** Of a dead operator nothing goes out, and nothing comes back to it. */
  readonly through: <A, E, R>(options: CallOptions, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const makeEdge = ({ life, plan, kill, onCall, onAnswer }: EdgeOptions): Edge => {
  let made = 0
  const observed = plan !== undefined || onCall !== undefined || onAnswer !== undefined

  const dies = Effect.suspend(() => {
    kill()
    return Effect.never
  })

  /** The answer on its way back: it reaches nobody when the operator has died meanwhile. */
  const answer = (call: EdgeCall, moment: Moment | undefined, failure?: unknown) => {
    onAnswer?.(call, failure)
    return moment === "after"
      ? dies
      : Effect.andThen(Effect.yieldNow, life.isAlive() ? Effect.void : Effect.never)
  }

  const send = <A, E, R>(options: CallOptions, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      if (!life.isAlive()) return Effect.never
      if (!observed) return Effect.andThen(Effect.yieldNow, effect)
      made += 1
      const call = { number: made, what: options.what(), writes: options.writes }
      onCall?.(call)
      const moment = plan?.(call)
      if (moment === "before") return dies
      const sent = Effect.suspend(() => (life.isAlive() ? effect : Effect.never))
      return Effect.yieldNow.pipe(
        Effect.andThen(sent),
        Effect.tap(() => answer(call, moment)),
        Effect.tapError((failure) => answer(call, moment, failure)),
      )
    })

  return {
    through: (options, effect) => {
      const call = send(options, effect)
      return options.interruptible ? call : Effect.uninterruptible(call)
    },
  }
}

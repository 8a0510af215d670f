// The edge of one operator process: every call it makes to the world outside of it, numbered. A call takes a moment on
// its way there and on its way back; the process may die at any of them, before the call has its effect or after it.
import { Duration, Effect } from "effect"
import type { FileErrorCode } from "../files/FileError.ts"
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

/** What goes wrong with a call of a disk or a start of a child: it fails with this code, or takes so long. */
export type EdgeFault =
  | { readonly _tag: "Fails"; readonly code: FileErrorCode }
  | { readonly _tag: "Late"; readonly millis: number }

export interface EdgeOptions {
  readonly life: Lifetime
  readonly plan?: CrashPlan
  readonly fault?: (call: EdgeCall) => EdgeFault | undefined
  /** Ends the life, and whatever ends with it. */
  readonly kill: () => void
  /** Told of each call before it has its effect, and after that, when its answer is on its way. */
  readonly onCall?: (call: EdgeCall) => void
  readonly onAnswer?: (call: EdgeCall, failure?: unknown) => void
}

export interface CallOptions<E = never> {
  readonly what: () => string
  readonly writes: boolean
  /** A system call is not given up half-way; a request is. */
  readonly interruptible: boolean
  /** What the call fails with by this code; it cannot fail so when absent. */
  readonly failure?: (code: FileErrorCode) => E
}

export interface Edge {
  /** Of a dead operator nothing goes out, and nothing comes back to it. */
  readonly through: <A, E, R>(
    options: CallOptions<E>,
    effect: Effect.Effect<A, E, R>,
  ) => Effect.Effect<A, E, R>
}

export const makeEdge = ({ life, plan, fault, kill, onCall, onAnswer }: EdgeOptions): Edge => {
  let made = 0
  const observed = [plan, fault, onCall, onAnswer].some((each) => each !== undefined)

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

  const disturbed = <A, E, R>(
    { failure }: CallOptions<E>,
    found: EdgeFault | undefined,
    effect: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E, R> => {
    if (found?._tag === "Late") return Effect.delay(effect, Duration.millis(found.millis))
    return found === undefined || failure === undefined ? effect : Effect.fail(failure(found.code))
  }

  const send = <A, E, R>(options: CallOptions<E>, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      if (!life.isAlive()) return Effect.never
      if (!observed) return Effect.andThen(Effect.yieldNow, effect)
      made += 1
      const call = { number: made, what: options.what(), writes: options.writes }
      onCall?.(call)
      const moment = plan?.(call)
      if (moment === "before") return dies
      const meets = disturbed(options, fault?.(call), effect)
      const sent = Effect.suspend(() => (life.isAlive() ? meets : Effect.never))
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

// A mailbox that coalesces: however often it is woken while its reader is busy, the reader runs once more and
// then reads the newest state of the world. A message therefore carries no state, only why it was sent.
import { Effect, Queue } from "effect"

export interface Mailbox {
  /** Never waits and never fails; safe from any fiber and from callbacks (`wakeUnsafe`). */
  readonly wake: (reason: string) => Effect.Effect<void>
  readonly wakeUnsafe: (reason: string) => void
  /** Waits until it was woken since the last `take`, and returns every reason given meanwhile. */
  readonly take: Effect.Effect<ReadonlySet<string>>
  /** Whether a `take` would return at once. */
  readonly isPending: () => boolean
}

export const makeMailbox: Effect.Effect<Mailbox> = Effect.gen(function* () {
  const signal = yield* Queue.sliding<void>(1)
  let reasons = new Set<string>()
  const wakeUnsafe = (reason: string) => {
    reasons.add(reason)
    Queue.offerUnsafe(signal, undefined)
  }
  const take = Queue.take(signal).pipe(
    Effect.map(() => {
      const taken = reasons
      reasons = new Set()
      return taken
    }),
  )
  return {
    wake: (reason) => Effect.sync(() => wakeUnsafe(reason)),
    wakeUnsafe,
    take,
    isPending: () => reasons.size > 0,
  }
})

// Holds one actor a key: starts it on first sight, restarts it with backoff when it dies of a defect, lets it go
// when it has returned. It owns each key's mailbox and slot, which outlive a restart of the actor.
import { Cause, Effect, Exit, FiberMap, type Scope } from "effect"
import { type BackoffPolicy, delayAfter } from "./Backoff.ts"
import { type Mailbox, makeMailbox } from "./Mailbox.ts"
import { makeSlot, type Slot } from "./Slot.ts"

export interface ActorContext<Op, A, E> {
  readonly key: string
  readonly mailbox: Mailbox
  readonly slot: Slot<Op, A, E>
  /** Says that something was carried through: deaths in a row are counted from here. */
  readonly thrived: Effect.Effect<void>
}

export interface Supervisor {
  /** Wakes the actor of this key; starts it if there is none. */
  readonly notify: (key: string, reason: string) => Effect.Effect<void>
  /** The keys whose actor lives. */
  readonly keys: () => ReadonlyArray<string>
}

export interface SupervisorOptions<Op, A, E, R> {
  /** Runs until the key needs no actor any more. Typed errors do not exist here: what fails is a defect. */
  readonly actor: (context: ActorContext<Op, A, E>) => Effect.Effect<void, never, R | Scope.Scope>
  readonly restart: BackoffPolicy
  /** Told of each defect; `deaths` counts those in a row, since the actor has thrived or was started. */
  readonly onDefect: (key: string, cause: Cause.Cause<never>, deaths: number) => Effect.Effect<void, never, R>
  /** Told of each wake-up, before it arrives. */
  readonly onWake?: (key: string) => void
}

/** The same mailbox; somebody is told when it is woken. */
const watched = (mailbox: Mailbox, onWake: () => void): Mailbox => {
  const wakeUnsafe = (reason: string) => {
    onWake()
    mailbox.wakeUnsafe(reason)
  }
  return { ...mailbox, wakeUnsafe, wake: (reason) => Effect.sync(() => wakeUnsafe(reason)) }
}

export const makeSupervisor = <Op, A, E, R>(
  options: SupervisorOptions<Op, A, E, R>,
): Effect.Effect<Supervisor, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const fibers = yield* FiberMap.make<string>()
    const run = yield* FiberMap.runtime(fibers)<R>()
    interface Actor extends ActorContext<Op, A, E> {
      /** In a row. */
      deaths: number
    }
    const actors = new Map<string, Actor>()

    const live = (actor: Actor): Effect.Effect<void, never, R> =>
      Effect.scoped(options.actor(actor)).pipe(
        Effect.exit,
        Effect.flatMap((exit): Effect.Effect<void, never, R> => {
          if (Exit.isFailure(exit)) {
            if (Cause.hasInterruptsOnly(exit.cause)) return Effect.interrupt
            actor.deaths += 1
            return options.onDefect(actor.key, exit.cause, actor.deaths).pipe(
              // Telling of a death must not be one: the key would have no actor ever after.
              Effect.catchDefect((defect) => Effect.logError("telling of a defect failed", defect)),
              Effect.andThen(delayAfter(options.restart, actor.deaths)),
              Effect.flatMap(Effect.sleep),
              Effect.andThen(actor.mailbox.wake("restart")),
              Effect.andThen(Effect.suspend(() => live(actor))),
            )
          }
          // One synchronous step: a wake-up cannot fall between the look and the removal.
          return Effect.suspend(() => {
            actor.deaths = 0
            if (actor.mailbox.isPending()) return live(actor)
            actors.delete(actor.key)
            return Effect.void
          })
        }),
      )

    const notify = Effect.fnUntraced(function* (key: string, reason: string) {
      const known = actors.get(key)
      if (known !== undefined) return known.mailbox.wakeUnsafe(reason)
      const mailbox = watched(yield* makeMailbox, () => options.onWake?.(key))
      // Another fiber may have been first while this one made its mailbox.
      const other = actors.get(key)
      if (other !== undefined) return other.mailbox.wakeUnsafe(reason)
      const actor: Actor = {
        key,
        mailbox,
        slot: makeSlot<Op, A, E>(scope, mailbox),
        deaths: 0,
        thrived: Effect.sync(() => {
          actor.deaths = 0
        }),
      }
      actors.set(key, actor)
      mailbox.wakeUnsafe(reason)
      run(key, live(actor).pipe(Effect.annotateLogs({ instance: key })))
    })
    return { notify, keys: () => [...actors.keys()] }
  })

// Permits for a few things at a time, handed out fairly. Who is urgent goes before who is not, and of equals who
// asked first. A key that gave up waiting and asks again has the place it had. Holders that keep failing have half
// of the permits at most, so that those that never end cannot stop the others.
import { Deferred, Effect } from "effect"

export interface Claim {
  readonly key: string
  readonly urgent: boolean
  readonly failing: boolean
}

export interface FairPermits {
  /**
   * Runs it with a permit. `onWait` runs first when there is none free. The permit is given back however it ends;
   * a wait that is interrupted takes none.
   */
  readonly withPermit: <A, E, R>(
    claim: Claim,
    onWait: Effect.Effect<void>,
    effect: Effect.Effect<A, E, R>,
  ) => Effect.Effect<A, E, R>
  /** A key that will not ask again gives up its place. */
  readonly forget: (key: string) => Effect.Effect<void>
  readonly state: () => { readonly holding: number; readonly waiting: number }
}

interface Ticket extends Claim {
  readonly place: number
  readonly granted: Deferred.Deferred<void>
}

/** With `first` fewer at first: each that comes back brings one more, until there are all. */
export const makeFairPermits = (permits: number, first = permits): FairPermits => {
  let open = Math.min(first, permits)
  // A single permit has no half: there they go last.
  const forFailing = Math.max(1, Math.floor(permits / 2))
  const rank = (ticket: Ticket) => (permits === 1 && ticket.failing ? 2 : ticket.urgent ? 0 : 1)
  const before = (a: Ticket, b: Ticket) => rank(a) - rank(b) || a.place - b.place
  /** Each key's place, from when it first asks until it runs. */
  const places = new Map<string, number>()
  const waiting = new Set<Ticket>()
  const holding = new Set<Ticket>()
  let asked = 0

  const mayHold = (ticket: Ticket) =>
    !ticket.failing || [...holding].filter(({ failing }) => failing).length < forFailing
  const handOut = () => {
    while (holding.size < open) {
      const [first] = [...waiting].filter(mayHold).sort(before)
      if (first === undefined) return
      waiting.delete(first)
      holding.add(first)
      Deferred.doneUnsafe(first.granted, Effect.void)
    }
  }
  const ask = (claim: Claim): Ticket => {
    const place = places.get(claim.key) ?? ++asked
    places.set(claim.key, place)
    const ticket = { ...claim, place, granted: Deferred.makeUnsafe<void>() }
    waiting.add(ticket)
    handOut()
    return ticket
  }
  const giveBack = (ticket: Ticket) =>
    Effect.sync(() => {
      waiting.delete(ticket)
      if (holding.delete(ticket)) open = Math.min(open + 1, permits)
      handOut()
    })

  return {
    withPermit: (claim, onWait, effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => ask(claim)),
        (ticket) =>
          Effect.suspend(() =>
            waiting.has(ticket) ? Effect.andThen(onWait, Deferred.await(ticket.granted)) : Effect.void,
          ).pipe(Effect.andThen(Effect.sync(() => places.delete(claim.key))), Effect.andThen(effect)),
        giveBack,
      ),
    forget: (key) => Effect.sync(() => void places.delete(key)),
    state: () => ({ holding: holding.size, waiting: waiting.size }),
  }
}

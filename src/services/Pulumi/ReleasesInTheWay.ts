// Helm releases that are inside the target and that the state does not know: the engine makes them anew, and Helm refuses a
// name that is in use, for good. What is done about one follows from what was lost and from what is there:
//
//                                   the release was in use                it never was
//   the state is older, or lost     taken over                            makes way
//   nothing says so                 taken over if an engine has made it   makes way if an engine has made it
//
// In use is what Helm's own records call deployed or superseded, and not uninstalling: no such release is ever uninstalled. Without a loss, and
// without a sign of an engine, it may be somebody else's: the operation is refused.
import { Effect } from "effect"
import type { ReleaseUse, UnmadeRelease } from "./Adoption.ts"
import type { Ending } from "./Follow.ts"
import type { InnerRelease } from "./StateFile.ts"

export type Way = "take over" | "make way" | "refuse"

/** `older`: the state is known not to be what was last written. */
export const wayOf = (older: boolean, { inUse, byEngine }: ReleaseUse): Way => {
  if (!older && !byEngine) return "refuse"
  return inUse === undefined ? "make way" : "take over"
}

/** `R1`…`R4`: what each of them needs. */
export interface Hands<E, R1, R2, R3, R4> {
  /** Grows with each run of the engine. */
  readonly unmade: ReadonlyArray<UnmadeRelease>
  /** The state is known not to be what was last written: it was put back, or nothing is left of it. */
  readonly older: boolean
  /** The instance's folder: what a backup would be put back to. */
  readonly directory: string
  readonly lookAtUse: (release: UnmadeRelease) => Effect.Effect<ReleaseUse, E, R1>
  /** Sets records right: uninstalls what is not `recorded`, brings the others back to what was in use. */
  readonly restore: (releases: ReadonlyArray<InnerRelease>) => Effect.Effect<void, E, R2>
  readonly adopt: (releases: ReadonlyArray<UnmadeRelease>, names: string) => Effect.Effect<void, E, R3>
  readonly tell: (notice: string) => Effect.Effect<void>
  readonly refuse: (message: string) => E
  /** Another run of the engine, with a refresh. */
  readonly again: Effect.Effect<Ending, E, R4>
}

const namesOf = (releases: ReadonlyArray<UnmadeRelease>): string =>
  releases.map(({ namespace, name }) => `${namespace}/${name}`).join(", ")

/** Takes how a run has ended; clears the way of releases that stand in it, and runs again, each release once. */
export const releasesInTheWay = <E, R1, R2, R3, R4>(hands: Hands<E, R1, R2, R3, R4>) =>
  Effect.fn("Pulumi.clearWay")(function* (first: Ending): Effect.fn.Return<Ending, E, R1 | R2 | R3 | R4> {
    const tried = new Set<string>()
    let ending = first
    while (ending._tag === "Failed" && /cannot re-use a name/i.test(ending.words)) {
      const fresh = hands.unmade.filter(({ urn }) => !tried.has(urn))
      if (fresh.length === 0) break
      for (const { urn } of fresh) tried.add(urn)
      const judged = yield* Effect.forEach(fresh, (release) =>
        Effect.map(hands.lookAtUse(release), (use) => ({ release, way: wayOf(hands.older, use) })),
      )
      const those = (way: Way) => judged.filter((one) => one.way === way).map(({ release }) => release)
      const foreign = those("refuse")
      if (foreign.length > 0) {
        return yield* Effect.fail(
          hands.refuse(
            `Helm release ${namesOf(foreign)} is inside the instance, but no state here knows it, and nothing shows that this instance's engine has made it; it was left alone. If the state directory comes from a backup, put a newer one back to ${hands.directory}; if the release is somebody else's, uninstall it inside the instance`,
          ),
        )
      }
      const [making, taking] = [those("make way"), those("take over")]
      yield* hands.restore([
        ...making.map((release) => ({ ...release, recorded: false })),
        ...taking.map((release) => ({ ...release, recorded: true })),
      ])
      if (taking.length > 0) {
        const names = namesOf(taking)
        yield* hands.adopt(taking, names)
        yield* hands.tell(
          `The state did not know Helm release ${names} inside the instance, which is in use: it was taken over as it is.`,
        )
      }
      ending = yield* hands.again
    }
    return ending
  })

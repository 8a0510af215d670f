// Room on a volume: what is begun leaves some, so that what runs can always write.
import { Data, Effect } from "effect"
import { Disk } from "./Disk.ts"

/** Below the floor. */
export class NoRoom extends Data.TaggedError("NoRoom")<{ readonly message: string }> {}

const mebibytes = (bytes: number): string => `${Math.floor(bytes / 2 ** 20)} MiB`

/** What there is, where it can be seen. A volume that does not say how full it is refuses nothing. */
const spaceOf = Effect.fnUntraced(function* (path: string) {
  const disk = yield* Disk
  return yield* Effect.option(disk.space(path))
})

/** Fails below the floor (bytes). Gives a sentence when that is near: below twice as much. */
export const requireRoom = Effect.fn("Disk.requireRoom")(function* (path: string, floor: number) {
  const found = yield* spaceOf(path)
  if (floor === 0 || found._tag === "None") return undefined
  const { free, size } = found.value
  const left = `${mebibytes(free)} of ${mebibytes(size)} are free on the volume of the state directory`
  if (free < floor) {
    return yield* new NoRoom({
      message: `The disk is nearly full: ${left}, less than --min-free-space (${mebibytes(floor)}). Nothing is begun, so that what runs can still write its state; make room in the operator's state claim, or enlarge it`,
    })
  }
  return free < 2 * floor
    ? `${left}; below ${mebibytes(floor)} (--min-free-space) no install or repair starts: make room in the operator's state claim, or enlarge it`
    : undefined
})

/** How often the room is looked at while something fills it. */
const often = "250 millis"

/** Interrupts what would take the last of it. */
export const leavingRoom =
  (path: string, floor: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | NoRoom, R | Disk> =>
    floor === 0
      ? effect
      : Effect.raceFirst(
          effect,
          Effect.andThen(requireRoom(path, floor), Effect.sleep(often)).pipe(Effect.forever),
        )

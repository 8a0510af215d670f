// Which look is taken next at what an install would do, and when. Pure.
import { Array as Arr, Option } from "effect"
import { plannedMark } from "../../schema/DayTwo.ts"
import type { PlanSlot } from "../../schema/Plan.ts"
import type { PlatformInstance } from "../../schema/PlatformInstance.ts"
import type { Change } from "./approval.ts"
import type { Planning } from "./Decision.ts"
import type { Look, Memory } from "./Memory.ts"
import type { Pass } from "./Pass.ts"

const nobodyLooks: Look = { of: "", failures: 0, outdated: 0, at: 0, told: "" }

/** What is remembered of looks at this version with the spec of this generation: those at others are over. */
export const lookOf = ({ looks }: Memory, slot: PlanSlot, { version, generation }: Change): Look => {
  const of = `${version} ${generation}`
  const known = looks[slot]
  return known?.of === of ? known : { ...nobodyLooks, of }
}

/** What the annotation's text asks a plan of. */
const versionOf = (text: string, { spec }: Pick<PlatformInstance, "spec">): string =>
  text === "spec" ? spec.version : text

/** Of what is due, the change's own comes first; else what is due soonest. */
const soonest = (plannings: ReadonlyArray<Planning>, now: number): Option.Option<Planning> =>
  Option.orElse(
    Arr.findFirst(plannings, ({ at }) => at <= now),
    () => Arr.head(plannings.toSorted((one, other) => one.at - other.at)),
  )

/** Which plan is to be made, and from when on; none when all that anybody waits for is there. */
export const planningOf = (
  { memory, wanted, standing }: Pass,
  asked: Option.Option<string>,
  now: number,
): Option.Option<Planning> => {
  const { generation } = wanted.metadata
  const change: Change = { version: wanted.spec.version, generation }
  const planned = Option.getOrUndefined(memory.dayTwo)?.planned
  const plannings: Array<Planning> = []
  const open = Option.filter(asked, (text) => planned !== plannedMark(text, generation))
  const isOfSpec = (text: string) => versionOf(text, wanted) === change.version
  const ofSpec = Option.filter(open, isOfSpec)
  if (Option.isSome(ofSpec) || (standing._tag === "Waits" && standing.again)) {
    const { at } = lookOf(memory, "spec", change)
    plannings.push({ ...change, at, ...(Option.isSome(ofSpec) ? { asked: ofSpec.value } : {}) })
  }
  if (Option.isSome(open) && !isOfSpec(open.value)) {
    const other: Change = { version: open.value, generation }
    plannings.push({ ...other, at: lookOf(memory, "version", other).at, asked: open.value })
  }
  return soonest(plannings, now)
}

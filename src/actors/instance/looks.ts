// Which look is taken next at what an install would do, and when. Pure.
import { Array as Arr, Option } from "effect"
import { detectsIn, plannedMark } from "../../schema/DayTwo.ts"
import { type PlanSlot, slotOf } from "../../schema/Plan.ts"
import type { PlatformInstance } from "../../schema/PlatformInstance.ts"
import { epochMillis } from "../../schema/Time.ts"
import type { Change } from "./approval.ts"
import type { Detecting, Planning } from "./Decision.ts"
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
    plannings.push({ ...change, slot: "spec", at, ...(Option.isSome(ofSpec) ? { asked: ofSpec.value } : {}) })
  }
  if (Option.isSome(open) && !isOfSpec(open.value)) {
    const other: Change = { version: open.value, generation }
    const slot = slotOf(open.value, change.version)
    plannings.push({ ...other, slot, at: lookOf(memory, slot, other).at, asked: open.value })
  }
  return soonest(plannings, now)
}

/**
 * That repairs look and do nothing; none where they repair. Nobody can look past what an operation has left half-way, nor over a
 * record that was lost, or is older than what there is: there a repair repairs.
 */
export const detectingOf = ({
  memory,
  instance,
}: Pick<Pass, "memory" | "instance">): Option.Option<Detecting> => {
  const record = Option.getOrUndefined(memory.record)
  const isKnown = record?.installed !== undefined && record.kubeSystemUID !== undefined && !record.behind
  // An operation that was asked to end leaves no marker, and what it has begun half-way all the same.
  const isHalfway = memory.halfway || record?.unfinished === true
  if (!isKnown || isHalfway || !Option.exists(memory.dayTwo, detectsIn)) return Option.none()
  const report = Option.getOrUndefined(memory.plans)?.drift
  const { generation } = instance.metadata
  return Option.some({
    lookedAt: report === undefined ? Number.NEGATIVE_INFINITY : epochMillis(report.madeAt),
    at: lookOf(memory, "drift", { version: instance.spec.version, generation }).at,
  })
}

// A point to die at, as the text by which it is played again: `355:after:container`, `355:after:power:all`.

import type { Lost } from "../world/OperatorPod.ts"
import type { Death } from "../world/Operators.ts"
import type { Moment } from "./Edge.ts"

export interface CrashPoint {
  /** The number of the call, counted from the beginning of the workload. */
  readonly call: number
  readonly moment: Moment
  readonly death: Death
  /** Of what nobody has synced, when the power fails. Default: some of it, by chance. */
  readonly lost?: Lost
}

export const formatPoint = ({ call, moment, death, lost }: CrashPoint): string =>
  [call, moment, death, ...(lost === undefined ? [] : [lost])].join(":")

const moments: ReadonlyArray<Moment> = ["before", "after"]
export const deaths: ReadonlyArray<Death> = ["container", "process", "pod", "power"]
const losses: ReadonlyArray<Lost> = ["all", "some"]

const oneOf = <A extends string>(all: ReadonlyArray<A>, text: string | undefined): A | undefined =>
  all.find((each) => each === text)

/** Throws when the text is none of a point. */
export const parsePoint = (text: string): CrashPoint => {
  const [number, when, how, what, ...more] = text.split(":")
  const call = Number(number)
  const moment = oneOf(moments, when)
  const death = oneOf(deaths, how)
  const lost = oneOf(losses, what)
  const isPoint = Number.isSafeInteger(call) && call > 0 && more.length === 0
  if (!isPoint || moment === undefined || death === undefined || (what !== undefined && lost === undefined))
    throw new Error(`not a point like 355:after:container or 355:after:power:all: ${text}`)
  return { call, moment, death, ...(lost === undefined ? {} : { lost }) }
}

// A point to die at, as the text by which it is played again: `355:after:container`, `355:after:power:all`; and with a
// second death in the recovery from the first, `355:after:container+12:before:pod`.

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
  /** Once more, at this call of the recovery. */
  readonly again?: Again
}

/** A second death: the number of the call counted from the first death. */
export interface Again {
  readonly call: number
  readonly moment: Moment
  readonly death: Death
}

/** So many of them, spread over all. */
export const spread = <A>(all: ReadonlyArray<A>, count: number): ReadonlyArray<A> =>
  Array.from({ length: Math.min(count, all.length) }, (_, index) =>
    all.slice(Math.floor(((index + 0.5) * all.length) / Math.min(count, all.length))).slice(0, 1),
  ).flat()

export const formatPoint = ({ call, moment, death, lost, again }: CrashPoint): string => {
  const first = [call, moment, death, ...(lost === undefined ? [] : [lost])].join(":")
  return again === undefined ? first : `${first}+${again.call}:${again.moment}:${again.death}`
}

const moments: ReadonlyArray<Moment> = ["before", "after"]
export const deaths: ReadonlyArray<Death> = ["container", "process", "pod", "power"]
const losses: ReadonlyArray<Lost> = ["all", "some"]

const oneOf = <A extends string>(all: ReadonlyArray<A>, text: string | undefined): A | undefined =>
  all.find((each) => each === text)

const isNumber = (call: number) => Number.isSafeInteger(call) && call > 0

const parseAgain = (text: string): Again | undefined => {
  const [number, when, how, ...more] = text.split(":")
  const call = Number(number)
  const moment = oneOf(moments, when)
  const death = oneOf(deaths, how)
  const isAgain = isNumber(call) && more.length === 0
  return isAgain && moment !== undefined && death !== undefined ? { call, moment, death } : undefined
}

/** Throws when the text is none of a point. */
export const parsePoint = (text: string): CrashPoint => {
  const [first = "", second, ...rest] = text.split("+")
  const point = parseFirst(first, text)
  if (second === undefined) return point
  const again = parseAgain(second)
  if (again === undefined || rest.length > 0)
    throw new Error(`not a second death like 12:before:pod: ${text}`)
  return { ...point, again }
}

const parseFirst = (first: string, text: string): CrashPoint => {
  const [number, when, how, what, ...more] = first.split(":")
  const call = Number(number)
  const moment = oneOf(moments, when)
  const death = oneOf(deaths, how)
  const lost = oneOf(losses, what)
  const isPoint = isNumber(call) && more.length === 0
  if (!isPoint || moment === undefined || death === undefined || (what !== undefined && lost === undefined))
    throw new Error(`not a point like 355:after:container or 355:after:power:all: ${text}`)
  return { call, moment, death, ...(lost === undefined ? {} : { lost }) }
}

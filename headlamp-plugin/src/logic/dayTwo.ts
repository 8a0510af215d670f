// What the annotations of people make of an instance, as the operator has written it down in one of its own.
import { crd } from "../generated/crd.ts"
import { isObject, type Json, valueAt } from "./schema.ts"

export interface DayTwoView {
  /** RFC 3339; nothing while it is not paused. */
  readonly pausedSince: string | undefined
  /** The operator has not seen yet that it is to be paused. */
  readonly pauseUnseen: boolean
  /** The maintenance windows that count, as their annotation has them. */
  readonly window: string | undefined
}

const text = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined)

/** Nothing where it cannot be read, or is of another life of the instance: copies have it, too. */
const memoOf = (object: unknown): Json | undefined => {
  try {
    const memo: Json = JSON.parse(text(valueAt(object, ["metadata", "annotations", crd.dayTwo])) ?? "null")
    const uid = valueAt(object, ["metadata", "uid"])
    return isObject(memo) && memo.uid === uid ? memo : undefined
  } catch {
    return undefined
  }
}

export const dayTwoOf = (object: unknown): DayTwoView => {
  const memo = memoOf(object)
  const pausedSince = text(valueAt(memo, ["pausedSince"]))
  const asked = valueAt(object, ["metadata", "annotations", crd.paused]) === "true"
  const window = text(valueAt(memo, ["kept", crd.window]))
  return { pausedSince, pauseUnseen: asked && pausedSince === undefined, window }
}

// What is told of an instance whose actor keeps dying of a defect. Pure.
import { setConditions } from "../../schema/Conditions.ts"
import type { PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"

/** After so many deaths in a row, without a pass in between that was carried through, the status says it, too. */
export const deathsToTell = 3

export const internalError =
  "internal error: the operator met a defect over this instance and tries again; its log has the details"

/** The next pass that is carried through says again what there is to say; the rest is left as it was. */
export const internalErrorStatus = (
  previous: PlatformInstanceStatus,
  instance: { readonly generation: number; readonly deleting: boolean },
  now: string,
): PlatformInstanceStatus => {
  const types = instance.deleting ? (["Ready"] as const) : (["TargetReady", "Ready"] as const)
  return {
    ...previous,
    phase: instance.deleting ? "Deleting" : "Failed",
    conditions: setConditions(
      previous.conditions,
      types.map((type) => ({
        type,
        status: "False",
        reason: "TargetError",
        message: internalError,
        observedGeneration: instance.generation,
      })),
      now,
    ),
  }
}

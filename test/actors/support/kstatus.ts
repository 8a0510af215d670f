// The status a generic client computes of an object, as kstatus (sigs.k8s.io/cli-utils, pkg/kstatus, "The status
// computation" of its README) specifies it for kinds it does not know: deletion, then the generations, then the
// standard conditions Reconciling and Stalled, then Ready; an object without any of them counts as Current.
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"

export type ComputedStatus = "Current" | "InProgress" | "Failed" | "Terminating"

export const kstatus = (object: {
  readonly generation: number
  readonly deleting: boolean
  readonly status: PlatformInstanceStatus
}): ComputedStatus => {
  const { generation, deleting, status } = object
  if (deleting) return "Terminating"
  if (status.observedGeneration !== undefined && status.observedGeneration !== generation) return "InProgress"
  const is = (type: string, value: string) =>
    (status.conditions ?? []).some((each) => each.type === type && each.status === value)
  if (is("Reconciling", "True")) return "InProgress"
  if (is("Stalled", "True")) return "Failed"
  if (is("Ready", "True")) return "Current"
  return is("Ready", "False") || is("Ready", "Unknown") ? "InProgress" : "Current"
}

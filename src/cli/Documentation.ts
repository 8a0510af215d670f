// Where the documentation of this release says what to do about a reason. The Headlamp plugin links to the same places.
import release from "../../release.json" with { type: "json" }
import { eventOnlyReasons, reasons } from "../schema/Conditions.ts"

const pages = `https://github.com/di-framework/platform/blob/v${release.platformVersion}/docs`

const known: ReadonlySet<string> = new Set([
  ...eventOnlyReasons,
  ...Object.values(reasons).flatMap((of): ReadonlyArray<string> => [...of.True, ...of.False]),
])

/** What an upgrade waits for that may not begin yet: no reason of a condition. */
export const MAINTENANCE_WINDOW = "MaintenanceWindow"

/** What a change waits for that somebody has to approve: no reason of a condition. */
export const APPROVAL = "Approval"

/** The URL of what is said about a reason; nothing for one that this release does not know. */
export const reasonUrl = (reason: string): string | undefined => {
  if (reason === MAINTENANCE_WINDOW) return `${pages}/day-two.md#maintenance-windows`
  if (reason === APPROVAL) return `${pages}/day-two.md#approval`
  return known.has(reason) ? `${pages}/reasons.md#${reason.toLowerCase()}` : undefined
}

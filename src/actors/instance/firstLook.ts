// What is told once, when an operator first looks at an instance: that its status says something else than its record,
// which stands, and that its storage root stays where it is although the operator's base has moved.
import { Effect, Option } from "effect"
import type { EventReason } from "../../schema/Conditions.ts"
import type { PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import { normalisePath } from "../../schema/StorageRoot.ts"
import { Events } from "../../services/Events/Events.ts"
import type { InstanceRecord } from "../../services/StateStore/StateStore.ts"
import type { Pass } from "./Pass.ts"
import { Settings } from "./Settings.ts"

/** Where a status says something else than the record. What it does not say is written again without a word. */
export const disagreements = (
  status: PlatformInstanceStatus,
  record: InstanceRecord,
): ReadonlyArray<string> => {
  const { installed, serviceUID, tenantHostImage } = record
  const compared: ReadonlyArray<readonly [string, string | number | undefined, string | number | undefined]> =
    [
      ["installedVersion", status.installedVersion, installed?.version],
      ["applied.generation", status.applied?.generation, installed?.generation],
      ["applied.tenantHostImage", status.applied?.tenantHostImage, tenantHostImage],
      ["target.serviceUID", status.target?.serviceUID, serviceUID],
    ]
  return compared.flatMap(([field, said, recorded]) =>
    said === undefined || recorded === undefined || said === recorded
      ? []
      : [`${field} was ${said} and is ${recorded}`],
  )
}

/** The base a default storage root was made under, when the operator has another one now. */
const movedFrom = (record: InstanceRecord, base: string): string | undefined => {
  const recorded = record.storageRoot?.base
  return recorded === undefined || normalisePath(recorded) === normalisePath(base) ? undefined : recorded
}

export const tellFirstLook = Effect.fnUntraced(function* ({ memory, object }: Pass) {
  if (memory.looked) return
  memory.looked = true
  const record = Option.getOrUndefined(memory.record)
  if (record === undefined) return
  const events = yield* Events
  const { storageRootBase } = yield* Settings
  const warn = (reason: EventReason, note: string) =>
    events.emit(object, { type: "Warning", reason, action: "Read", note })
  const differences = disagreements(memory.status, record)
  if (differences.length > 0) {
    yield* warn("StatusCorrected", `the record stands where the status differed: ${differences.join(", ")}`)
  }
  const base = movedFrom(record, storageRootBase)
  if (base !== undefined) {
    yield* warn(
      "StorageRootKept",
      `the storage root stays ${record.storageRoot?.path}, under the --storage-root-base ${base} of its first install; ${storageRootBase} is for new instances`,
    )
  }
})

// What an instance finds in the state directory when it begins: what a retained predecessor of its namespace and name has
// left, or what a restore has brought back that is older than what it has shown.
import { Effect, Option } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import type { PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import { Events } from "../../services/Events/Events.ts"
import type { KubeObject } from "../../services/Kubernetes/Kubernetes.ts"
import { type InstanceRecord, StateStore } from "../../services/StateStore/StateStore.ts"
import { isBehind } from "./install/stateEvidence.ts"

/**
 * What a retained predecessor has left is this instance's from now on, and an Event says so, once. What it had
 * installed is no generation of this life, whatever its number. One that is half deleted is left to be finished.
 */
export const adopt = Effect.fn("Instance.adopt")(function* (
  object: KubeObject,
  key: InstanceKey,
  record: Option.Option<InstanceRecord>,
) {
  const { uid } = object.metadata
  const left = Option.getOrUndefined(record)
  if (left === undefined || left.uid === uid || left.deleting !== undefined) return record
  const store = yield* StateStore
  const events = yield* Events
  const { installed } = left
  const adopted: InstanceRecord = {
    ...left,
    uid,
    ...(installed === undefined ? {} : { installed: { ...installed, generation: 0 } }),
  }
  yield* store.writeRecord(key, adopted)
  yield* events.emit(object, {
    type: "Normal",
    reason: "Adopted",
    action: "Adopt",
    note:
      installed === undefined
        ? "picked up what a retained instance of this name has left"
        : `picked up the retained instance of this name, with version ${installed.version} installed: its vCluster, state and storage root`,
  })
  return Option.some(adopted)
})

/** Written down before the status is set back to the record: afterwards nobody could tell. */
export const noteBehind = Effect.fn("Instance.noteBehind")(function* (
  object: KubeObject,
  key: InstanceKey,
  status: PlatformInstanceStatus,
  record: Option.Option<InstanceRecord>,
) {
  const found = Option.getOrUndefined(record)
  if (found === undefined || found.behind === true || found.anew !== undefined) return record
  if (found.uid !== object.metadata.uid || !isBehind(status, found)) return record
  const store = yield* StateStore
  const events = yield* Events
  const noted: InstanceRecord = { ...found, behind: true }
  yield* store.writeRecord(key, noted)
  yield* events.emit(object, {
    type: "Warning",
    reason: "StateOlder",
    action: "Read",
    note: "the state directory is older than what this instance has shown, as after a restore: the next operation looks at what is there before it changes anything",
  })
  return Option.some(noted)
})

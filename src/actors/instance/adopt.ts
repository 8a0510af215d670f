// What an instance finds in the state directory when it begins: what a retained predecessor of its namespace and name has
// left, or what a restore has brought back that is older than what it has shown.
import { Effect, Option } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { instanceKey, type PlatformInstance } from "../../schema/PlatformInstance.ts"
import type { PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import { Events } from "../../services/Events/Events.ts"
import type { KubeObject } from "../../services/Kubernetes/Kubernetes.ts"
import { type InstanceRecord, StateStore } from "../../services/StateStore/StateStore.ts"
import { agreedRecord } from "./approval.ts"
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
  const { installed, restoring } = left
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
      restoring !== undefined
        ? `the state of this instance is that of backup ${restoring}: nothing is installed until its data is back`
        : installed === undefined
          ? "picked up what a retained instance of this name has left"
          : `picked up the retained instance of this name, with version ${installed.version} installed: its vCluster, state and storage root`,
  })
  return Option.some(adopted)
})

/** The spec as it is, where the status has shown that it is applied. */
const shownSpec = (instance: PlatformInstance, { applied, installedVersion }: PlatformInstanceStatus) =>
  applied?.generation === instance.metadata.generation && installedVersion === instance.spec.version
    ? { agreed: agreedRecord(instance) }
    : {}

/**
 * What an operator has installed that did not write down yet what it has installed: it is agreed on as it is, and what comes
 * after it can wait.
 */
export const noteAgreed = Effect.fn("Instance.noteAgreed")(function* (
  instance: PlatformInstance,
  record: Option.Option<InstanceRecord>,
) {
  const { uid, generation } = instance.metadata
  const found = Option.getOrUndefined(record)
  if (found?.installed === undefined || found.uid !== uid || found.agreed?.uid === uid) return record
  if (found.behind === true || found.deleting !== undefined) return record
  const { installed } = found
  if (installed.generation !== generation || installed.version !== instance.spec.version) return record
  const store = yield* StateStore
  const noted: InstanceRecord = { ...found, agreed: agreedRecord(instance) }
  yield* store.writeRecord(instanceKey(instance), noted)
  return Option.some(noted)
})

/** Written down before the status is set back to the record: afterwards nobody could tell. */
export const noteBehind = Effect.fn("Instance.noteBehind")(function* (
  object: KubeObject,
  instance: PlatformInstance,
  record: Option.Option<InstanceRecord>,
) {
  const { status = {} } = instance
  const found = Option.getOrUndefined(record)
  if (found === undefined || found.behind === true || found.anew !== undefined) return record
  if (found.uid !== instance.metadata.uid || !isBehind(status, found)) return record
  const store = yield* StateStore
  const events = yield* Events
  const { agreed: _, ...rest } = found
  // Agreed on before what has been shown, a spec counts no more; what has been shown last does, where it is known.
  const isOlder = (status.applied?.generation ?? 0) > (found.installed?.generation ?? 0)
  const noted: InstanceRecord = {
    ...(isOlder ? { ...rest, ...shownSpec(instance, status) } : found),
    behind: true,
  }
  yield* store.writeRecord(instanceKey(instance), noted)
  yield* events.emit(object, {
    type: "Warning",
    reason: "StateOlder",
    action: "Read",
    note: "the state directory is older than what this instance has shown, as after a restore: the next operation looks at what is there before it changes anything",
  })
  return Option.some(noted)
})

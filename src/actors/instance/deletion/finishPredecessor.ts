// What an earlier instance of the same namespace and name has begun to remove and did not finish, because somebody took
// its finalizer: removed to its end before anything of the new one is made. Runs in the slot.
import { Effect, Option } from "effect"
import type { DeletionView } from "../../../schema/DeletionView.ts"
import { ANNOTATION_SKIP_STORAGE_CLEANUP } from "../../../schema/Names.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { type InstanceRecord, StateStore } from "../../../services/StateStore/StateStore.ts"
import { OperationError, type OperationResult } from "../Operation.ts"
import { Settings } from "../Settings.ts"
import { deleteJob, runDeletionStep, runUninstall } from "./deleteInstance.ts"
import { deletionStep } from "./deletionStep.ts"
import { observeDeletion } from "./observeDeletion.ts"

/** Between two looks at what only others can end: a namespace, a Job, a pod. */
const lookAgain = "1 second"

const failed = (message: string) =>
  new OperationError({
    reason: "TargetError",
    message: `finish the deletion before: ${message}`,
    cancelled: false,
  })
const failing = (error: { readonly message: string }) => failed(error.message)

/**
 * The instance before, as far as its record tells of it. Without a record only its cleanup Jobs can be left, and what
 * they are for is nobody's business any more.
 */
const predecessor = (instance: PlatformInstance, record: Option.Option<InstanceRecord>): DeletionView => {
  const { metadata } = instance
  const uid = Option.getOrUndefined(record)?.deleting
  const skip = metadata.annotations?.[ANNOTATION_SKIP_STORAGE_CLEANUP]
  return {
    metadata: {
      ...metadata,
      uid: uid ?? "",
      // The way out that a person has set on the new instance is one for what is left of the old one, too.
      annotations: skip === undefined ? {} : { [ANNOTATION_SKIP_STORAGE_CLEANUP]: skip },
    },
    deletionPolicy: uid === undefined ? "Retain" : "Delete",
    // A deletion that has begun has the default root in its record until that is removed.
    customStorageRoot: true,
  }
}

const isDue = ({ deleting }: InstanceRecord, uid: string): boolean =>
  deleting !== undefined && deleting !== uid

export const finishPredecessor = Effect.fn("Deletion.finishPredecessor")(function* (
  instance: PlatformInstance,
) {
  const store = yield* StateStore
  const settings = yield* Settings
  const key = instanceKey(instance)
  const done: OperationResult = { _tag: "TargetStepDone" }
  while (true) {
    const record = Option.filter(yield* Effect.mapError(store.readRecord(key), failing), (found) =>
      isDue(found, instance.metadata.uid),
    )
    const subject = predecessor(instance, record)
    const seen = yield* Effect.mapError(observeDeletion(subject, Option.none()), failing)
    const step = deletionStep(seen)
    switch (step._tag) {
      case "RemoveFinalizer":
        return done
      case "UninstallRelease":
        yield* Effect.mapError(runUninstall(subject), failing)
        break
      case "CountFailure": {
        yield* Effect.mapError(deleteJob(step.job, settings.cleanupNamespace), failing)
        const why = Option.getOrElse(step.job.problem, () => "the cleanup Job failed")
        return yield* failed(`remove storage root ${step.path}: ${why}`)
      }
      case "MarkCleaned": {
        const { uid } = subject.metadata
        yield* Effect.mapError(store.writeRecord(key, { format: 1, uid, deleting: uid }), failing)
        break
      }
      default: {
        const { progressed } = yield* Effect.mapError(runDeletionStep(subject, step, seen.storage), failing)
        if (!progressed) yield* Effect.sleep(lookAgain)
      }
    }
  }
})

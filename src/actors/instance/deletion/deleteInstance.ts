// Carries out one deletion step. Steps that are quick run in the pass; the uninstall runs in the slot.
import { Clock, Duration, Effect, Option } from "effect"
import type { DeletionView } from "../../../schema/DeletionView.ts"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import {
  ANNOTATION_STORAGE_CLEANED,
  ANNOTATION_STORAGE_CLEANUP_FAILURES,
  FINALIZER,
  hostNamespace,
} from "../../../schema/Names.ts"
import { instanceKey } from "../../../schema/PlatformInstance.ts"
import { cleanupJob } from "../../../services/Cleanup/CleanupJob.ts"
import { Helm } from "../../../services/Helm/Helm.ts"
import { PlatformInstance as Instances, Job, Namespace } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeObject, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { StateStore } from "../../../services/StateStore/StateStore.ts"
import { cleanupBackoff, nominalDelay } from "../../kit/Backoff.ts"
import type { DeletionReport } from "../Facts.ts"
import { OperationError, type OperationResult } from "../Operation.ts"
import { Settings } from "../Settings.ts"
import { namespaceState } from "../target/HostNamespace.ts"
import { releaseRef } from "../target/observeTarget.ts"
import { Views } from "../Views.ts"
import type { CleanupJob, DeletionStep, Storage } from "./deletionStep.ts"

type Failing = Extract<DeletionReport, { readonly _tag: "Failed" }>["reason"]

export const deletionError =
  (reason: Failing, step: string) =>
  (error: { readonly message: string }): OperationError =>
    new OperationError({ reason, message: `${step}: ${error.message}`, cancelled: false })

/** How many cleanup Jobs of this instance have failed: the count outlives the process. */
export const cleanupFailures = (subject: DeletionView): number => {
  const count = Number(subject.metadata.annotations?.[ANNOTATION_STORAGE_CLEANUP_FAILURES] ?? "0")
  return Number.isSafeInteger(count) && count >= 0 ? count : 0
}

const annotate = Effect.fnUntraced(function* (
  subject: DeletionView,
  annotations: Readonly<Record<string, string>>,
) {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const { uid } = subject.metadata
  const written = yield* kubernetes.patch(Instances, instanceKey(subject), {
    type: "merge",
    // The UID is a precondition: a successor of that name is never written to.
    patch: { metadata: { uid, annotations } },
  })
  yield* views.awaitWrite(Instances, written)
})

/** The very namespace that is seen to be ours: another one that takes its name in this moment is left alone. */
const deleteNamespace = Effect.fnUntraced(function* (key: InstanceKey) {
  const kubernetes = yield* Kubernetes
  const name = hostNamespace(key)
  const found = yield* kubernetes.get(Namespace, { name })
  if (Option.isNone(found) || namespaceState(key, found)._tag !== "Ours") return
  yield* kubernetes.delete(Namespace, { name }, { uid: found.value.metadata.uid })
})

/** With a propagation policy: without one the API server orphans the Job's pod, which would run on. */
const deleteJob = Effect.fnUntraced(function* (job: CleanupJob, namespace: string) {
  const kubernetes = yield* Kubernetes
  yield* kubernetes.delete(Job, { namespace, name: job.name }, { uid: job.uid, propagation: "Background" })
})

/** The finalizer goes last, only from the very object that was looked at. */
const removeFinalizer = Effect.fnUntraced(function* (subject: DeletionView) {
  const kubernetes = yield* Kubernetes
  const { uid, resourceVersion, finalizers } = subject.metadata
  yield* kubernetes
    .patch(Instances, instanceKey(subject), {
      type: "merge",
      patch: {
        metadata: {
          uid,
          resourceVersion,
          finalizers: (finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER),
        },
      },
    })
    .pipe(
      // Gone already, or changed since it was looked at: the event that says so starts the next pass.
      Effect.catchIf(
        (error) => error.reason === "NotFound" || error.reason === "Conflict",
        () => Effect.void,
      ),
    )
})

/** Runs in the slot. */
export const runUninstall = Effect.fn("Deletion.uninstall")(function* (
  subject: DeletionView,
): Effect.fn.Return<OperationResult, OperationError, Helm> {
  const helm = yield* Helm
  yield* helm
    .uninstall(releaseRef(instanceKey(subject)))
    .pipe(Effect.mapError(deletionError("TargetDeleteFailed", "uninstall vcluster")))
  return { _tag: "Uninstalled" }
})

export interface DeletionOutcome {
  readonly report: DeletionReport
  /** The world was changed: look again at once. */
  readonly progressed: boolean
  /** Milliseconds from now after which to look again at the latest. */
  readonly retryAfter: Option.Option<number>
}

const progressed = (message: string): DeletionOutcome => ({
  report: { _tag: "Working", message },
  progressed: true,
  retryAfter: Option.none(),
})
const waiting = (report: DeletionReport, retryAfter = Option.none<number>()): DeletionOutcome => ({
  report,
  progressed: false,
  retryAfter,
})

const cleanupFailed = (path: string, failures: number): DeletionReport => ({
  _tag: "Failed",
  reason: "StorageCleanupFailed",
  message: `remove storage root ${path}: the cleanup Job failed (${failures} so far). See the Job's pod in the cleanup namespace; to leave the directory, annotate the instance with platform.di-framework.dev/skip-storage-cleanup=true or switch it to Retain`,
})

/** Every step but `UninstallRelease`, which is the slot's. */
export const runDeletionStep = Effect.fn("Deletion.step")(function* (
  subject: DeletionView,
  object: KubeObject,
  step: Exclude<DeletionStep, { readonly _tag: "UninstallRelease" }>,
  storage: Storage,
): Effect.fn.Return<DeletionOutcome, OperationError, Kubernetes | StateStore | Settings | Views> {
  const kubernetes = yield* Kubernetes
  const store = yield* StateStore
  const settings = yield* Settings
  const key = instanceKey(subject)
  const { uid } = object.metadata
  yield* Effect.annotateCurrentSpan({ step: step._tag })
  switch (step._tag) {
    case "MarkBegun":
      // Of the record only what the cleanup needs is left: it proves no installation any more.
      yield* store
        .writeRecord(key, {
          format: 1,
          uid,
          deleting: uid,
          ...(storage._tag === "Default" ? { storageRoot: { path: storage.path, base: storage.base } } : {}),
        })
        .pipe(Effect.mapError(deletionError("UninstallFailed", "record the deletion")))
      return progressed("the deletion has begun")
    case "DeleteNamespace":
      yield* Effect.mapError(
        deleteNamespace(key),
        deletionError("TargetDeleteFailed", "delete host namespace"),
      )
      return progressed("deleting the host namespace")
    case "WaitForNamespace":
      return waiting({
        _tag: "Working",
        message: `waiting for host namespace ${hostNamespace(key)} to be gone`,
      })
    case "DropState":
      yield* Effect.mapError(store.dropState(key), deletionError("UninstallFailed", "drop install state"))
      return progressed("the install state is dropped")
    case "RecordUnreadable":
      return yield* deletionError(
        "StorageCleanupFailed",
        "find the storage root",
      )({
        message: `${step.problem}; without the record nobody knows where it lies. Put instance.json back, or leave the directory: annotate the instance with platform.di-framework.dev/skip-storage-cleanup=true or switch it to Retain`,
      })
    case "StartCleanup":
      yield* kubernetes
        .create(
          Job,
          cleanupJob({
            image: settings.operatorImage,
            cleanupNamespace: settings.cleanupNamespace,
            base: step.base,
            key,
            uid,
          }),
        )
        .pipe(
          Effect.catchIf(
            (error) => error.reason === "AlreadyExists",
            () => Effect.void,
          ),
          Effect.mapError(deletionError("StorageCleanupFailed", `remove storage root ${step.path}`)),
        )
      return progressed("removing the storage root")
    case "WaitForCleanup":
      return waiting({ _tag: "Working", message: `waiting for cleanup Job ${step.job}` })
    case "CountFailure": {
      const failures = cleanupFailures(subject) + 1
      yield* annotate(subject, { [ANNOTATION_STORAGE_CLEANUP_FAILURES]: String(failures) }).pipe(
        Effect.andThen(deleteJob(step.job, settings.cleanupNamespace)),
        Effect.mapError(deletionError("StorageCleanupFailed", `remove storage root ${step.path}`)),
      )
      const delay = nominalDelay(cleanupBackoff, failures)
      return waiting(cleanupFailed(step.path, failures), Option.some(Duration.toMillis(delay)))
    }
    case "WaitForRetry":
      return waiting(
        cleanupFailed(step.path, cleanupFailures(subject)),
        Option.some(Math.max(0, step.at - (yield* Clock.currentTimeMillis))),
      )
    case "MarkCleaned":
      yield* Effect.mapError(
        annotate(subject, { [ANNOTATION_STORAGE_CLEANED]: uid }),
        deletionError("StorageCleanupFailed", "record the cleanup"),
      )
      return progressed("the storage root is removed")
    case "RemoveJob":
      yield* Effect.mapError(
        deleteJob(step.job, settings.cleanupNamespace),
        deletionError("StorageCleanupFailed", `remove cleanup Job ${step.job.name}`),
      )
      return progressed(`removing cleanup Job ${step.job.name}`)
    case "WaitForPods":
      return waiting({
        _tag: "WaitingForCleanup",
        message: `waiting for ${step.pods.join(", ")} in namespace ${settings.cleanupNamespace} to be gone`,
      })
    case "ForgetRecord":
      yield* Effect.mapError(store.drop(key), deletionError("UninstallFailed", "drop install record"))
      return progressed("the install record is dropped")
    case "RemoveFinalizer":
      yield* Effect.mapError(
        removeFinalizer(subject),
        deletionError("UninstallFailed", "release the finalizer"),
      )
      return waiting({ _tag: "Working", message: "the finalizer is released" })
  }
})

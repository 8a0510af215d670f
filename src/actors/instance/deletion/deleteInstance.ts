// Carries out one deletion step. Steps that are quick run in the pass; the uninstall runs in the slot.
import { Clock, Duration, Effect, Option } from "effect"
import type { DeletionView } from "../../../schema/DeletionView.ts"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import {
  ANNOTATION_SKIP_STORAGE_CLEANUP,
  ANNOTATION_STORAGE_CLEANED,
  FINALIZER,
  hostNamespace,
  kubeconfigSecretName,
} from "../../../schema/Names.ts"
import { instanceKey } from "../../../schema/PlatformInstance.ts"
import { cleanupJob } from "../../../services/Cleanup/CleanupJob.ts"
import { Helm } from "../../../services/Helm/Helm.ts"
import { History } from "../../../services/History/History.ts"
import { PlatformInstance as Instances, Job, Namespace, Secret } from "../../../services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { StateStore } from "../../../services/StateStore/StateStore.ts"
import { cleanupBackoff, nominalDelay } from "../../kit/Backoff.ts"
import type { DeletionReport } from "../Facts.ts"
import { OperationError, type OperationResult } from "../Operation.ts"
import { Settings } from "../Settings.ts"
import { namespaceState } from "../target/HostNamespace.ts"
import { counted } from "../target/helmMetrics.ts"
import { releaseRef } from "../target/observeTarget.ts"
import { Views } from "../Views.ts"
import { cleanupFailures, countFailure, noFailures } from "./cleanupFailures.ts"
import { describeClusterObject } from "./clusterObjects.ts"
import type { CleanupJob, DeletionStep, Storage } from "./deletionStep.ts"

type Failing = Extract<DeletionReport, { readonly _tag: "Failed" }>["reason"]

export const deletionError =
  (reason: Failing, step: string) =>
  (error: { readonly message: string }): OperationError =>
    new OperationError({ reason, message: `${step}: ${error.message}`, cancelled: false })

const annotate = Effect.fnUntraced(function* (
  subject: DeletionView,
  annotations: Readonly<Record<string, string | null>>,
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

/** The next failure counts as the first again. */
export const resetCleanupFailures = Effect.fn("Deletion.resetFailures")(function* (subject: DeletionView) {
  if (cleanupFailures(subject) > 0) yield* annotate(subject, noFailures)
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
export const deleteJob = Effect.fnUntraced(function* (job: CleanupJob, namespace: string) {
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
  const release = releaseRef(instanceKey(subject))
  const failing = deletionError("TargetDeleteFailed", "uninstall vcluster")
  yield* helm.uninstall(release).pipe(counted("uninstall"), Effect.mapError(failing))
  // Helm ends well, too, when it could not read its records (4.3.1, seen): tried again at once, it would do so for ever.
  const left = yield* Effect.mapError(helm.state(release), failing)
  if (Option.isSome(left)) {
    const { revision, status } = left.value
    return yield* failing({
      message: `helm says it is done, but the record of revision ${revision} (${status}) is still there`,
    })
  }
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

const wayOut =
  "to leave the directory, annotate the instance with platform.di-framework.dev/skip-storage-cleanup=true or switch it to Retain"

const storageFailure = (path: string, why: string): DeletionReport => ({
  _tag: "Failed",
  reason: "StorageCleanupFailed",
  message: `remove storage root ${path}: ${why}`,
})

const cleanupFailed = (path: string, failures: number, problem: Option.Option<string>): DeletionReport => {
  const words = Option.match(problem, { onNone: () => "", onSome: (said) => `: ${said}` })
  return storageFailure(path, `the cleanup Job failed (${failures} so far)${words}; ${wayOut}`)
}

/** Every step but `UninstallRelease`, which is the slot's. */
export const runDeletionStep = Effect.fn("Deletion.step")(function* (
  subject: DeletionView,
  step: Exclude<DeletionStep, { readonly _tag: "UninstallRelease" }>,
  storage: Storage,
): Effect.fn.Return<DeletionOutcome, OperationError, Kubernetes | History | StateStore | Settings | Views> {
  const kubernetes = yield* Kubernetes
  const store = yield* StateStore
  const settings = yield* Settings
  const key = instanceKey(subject)
  const { uid } = subject.metadata
  yield* Effect.annotateCurrentSpan({ "platforminstance.step": step._tag })
  switch (step._tag) {
    case "MarkBegun": {
      const recording = deletionError("UninstallFailed", "record the deletion")
      const before = Option.getOrUndefined(yield* Effect.mapError(store.readRecord(key), recording))
      const restoring = before?.restoring
      // What lies on the node is of the life that was backed up. Outlives the record, as one's own word does.
      if (restoring !== undefined)
        yield* Effect.mapError(annotate(subject, { [ANNOTATION_SKIP_STORAGE_CLEANUP]: "true" }), recording)
      // Of the record only what the cleanup needs is left: it proves no installation any more.
      yield* store
        .writeRecord(key, {
          format: 1,
          uid,
          deleting: uid,
          ...(restoring === undefined ? {} : { restoring }),
          ...(storage._tag === "Default" ? { storageRoot: { path: storage.path, base: storage.base } } : {}),
        })
        .pipe(Effect.mapError(recording))
      return progressed("the deletion has begun")
    }
    case "DeleteNamespace":
      yield* Effect.mapError(
        deleteNamespace(key),
        deletionError("TargetDeleteFailed", "delete host namespace"),
      )
      return progressed("deleting the host namespace")
    case "WaitForNamespace":
      return waiting({
        _tag: "Working",
        message: `waiting for host namespace ${hostNamespace(key)} to be gone${Option.match(step.held, {
          onNone: () => "",
          onSome: (held) => `: ${held}`,
        })}`,
      })
    case "RemoveClusterObject":
      yield* Effect.mapError(
        kubernetes.delete(step.object.kind, { name: step.object.name }, { uid: step.object.uid }),
        deletionError("TargetDeleteFailed", `remove ${describeClusterObject(step.object)}`),
      )
      return progressed(`removing ${describeClusterObject(step.object)}`)
    case "DropState":
      yield* Effect.mapError(store.dropState(key), deletionError("UninstallFailed", "drop install state"))
      return progressed("the install state is dropped")
    case "RemoveKubeconfig": {
      const name = kubeconfigSecretName(key)
      yield* Effect.mapError(
        kubernetes.delete(Secret, { namespace: key.namespace, name }, { uid: step.uid }),
        deletionError("UninstallFailed", `remove Secret ${name}`),
      )
      return progressed("the kubeconfig is removed")
    }
    case "RecordUnreadable":
      return yield* deletionError(
        "StorageCleanupFailed",
        "find the storage root",
      )({
        message: `${step.problem}; without the record nobody knows where it lies. Put instance.json back; ${wayOut}`,
      })
    case "StorageShared":
      return yield* deletionError(
        "StorageCleanupFailed",
        `remove storage root ${step.path}`,
      )({
        message: `it overlaps with the recorded storage root of instance ${step.by}, and nothing is removed; ${wayOut}`,
      })
    case "StartCleanup":
      yield* kubernetes
        .create(
          Job,
          cleanupJob({
            image: settings.operatorImage,
            cleanupNamespace: settings.cleanupNamespace,
            base: step.base,
            currentBase: settings.storageRootBase,
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
    case "WaitForCleanup": {
      const { job, path } = step
      // It may not end by itself before its deadline: what is in its way is told at once.
      return waiting(
        Option.match(job.problem, {
          onNone: (): DeletionReport => ({
            _tag: "Working",
            message: `waiting for cleanup Job ${job.name}`,
          }),
          onSome: (problem) =>
            storageFailure(path, `cleanup Job ${job.name} does not get on: ${problem}; ${wayOut}`),
        }),
      )
    }
    case "CountFailure": {
      const now = yield* Clock.currentTimeMillis
      const { failures, annotations } = countFailure(subject, step.job.uid, now)
      yield* annotate(subject, annotations).pipe(
        Effect.andThen(deleteJob(step.job, settings.cleanupNamespace)),
        Effect.mapError(deletionError("StorageCleanupFailed", `remove storage root ${step.path}`)),
      )
      const delay = Duration.toMillis(nominalDelay(cleanupBackoff, failures))
      return waiting(cleanupFailed(step.path, failures, step.job.problem), Option.some(delay))
    }
    case "WaitForRetry":
      return waiting(
        cleanupFailed(step.path, cleanupFailures(subject), Option.none()),
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
      // Of one that never came to a record: what a retained one has left stays.
      if (subject.deletionPolicy === "Delete") yield* (yield* History).forget(key)
      yield* Effect.mapError(
        removeFinalizer(subject),
        deletionError("UninstallFailed", "release the finalizer"),
      )
      return waiting({ _tag: "Working", message: "the finalizer is released" })
  }
})

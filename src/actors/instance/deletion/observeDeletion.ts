// The evidence that a deletion goes by. Every look is a live read: a step is not skipped because a cache was
// behind, and not repeated because a process has forgotten.
import { Clock, Effect, Option, Result, Schema } from "effect"
import type { DeletionView } from "../../../schema/DeletionView.ts"
import { formatKey, type InstanceKey } from "../../../schema/InstanceKey.ts"
import {
  ANNOTATION_SKIP_STORAGE_CLEANUP,
  ANNOTATION_STORAGE_CLEANED,
  cleanupJobName,
  hostNamespace,
  instanceHash,
  kubeconfigSecretName,
  LABEL_INSTANCE_HASH,
} from "../../../schema/Names.ts"
import { instanceKey } from "../../../schema/PlatformInstance.ts"
import { defaultStorageRoot, storageRootsOverlap } from "../../../schema/StorageRoot.ts"
import { Helm } from "../../../services/Helm/Helm.ts"
import { Job, Namespace, Pod, Secret } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeObject, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { type InstanceRecord, restoringIn, StateStore } from "../../../services/StateStore/StateStore.ts"
import { Settings } from "../Settings.ts"
import { namespaceState } from "../target/HostNamespace.ts"
import { isOwnedBy, publishedSource } from "../target/Kubeconfig.ts"
import { releaseRef } from "../target/observeTarget.ts"
import { cleanupPauseEnds } from "./cleanupFailures.ts"
import { cleanupProblem } from "./cleanupProblem.ts"
import { clusterObjects } from "./clusterObjects.ts"
import type { CleanupJob, DeletionObservation, Storage } from "./deletionStep.ts"
import { whyTerminating } from "./whyTerminating.ts"

const JobStatus = Schema.Struct({
  status: Schema.optionalKey(
    Schema.Struct({
      conditions: Schema.optionalKey(
        Schema.Array(Schema.Struct({ type: Schema.String, status: Schema.String })),
      ),
    }),
  ),
})

const jobOutcome = (job: KubeObject): CleanupJob["outcome"] => {
  const conditions =
    Option.getOrUndefined(Schema.decodeUnknownOption(JobStatus)(job))?.status?.conditions ?? []
  const is = (type: string) => conditions.some((each) => each.type === type && each.status === "True")
  if (is("Complete")) return "Succeeded"
  return is("Failed") ? "Failed" : "Running"
}

/** Recorded, else by the spec, else the default under today's base. */
const storageOf = (subject: DeletionView, record: Option.Option<InstanceRecord>, base: string): Storage => {
  const recorded = Option.getOrUndefined(record)?.storageRoot
  if (recorded !== undefined) {
    return recorded.base === undefined
      ? { _tag: "Custom", path: Option.some(recorded.path) }
      : { _tag: "Default", base: recorded.base, path: recorded.path }
  }
  const { customStorageRoot, storageRoot } = subject
  return customStorageRoot
    ? { _tag: "Custom", path: Option.fromUndefinedOr(storageRoot) }
    : { _tag: "Default", base, path: defaultStorageRoot(base, instanceKey(subject)) }
}

/** Whose recorded storage root the removal of this one would take along, or a part of. */
const sharedWith = Effect.fnUntraced(function* (key: InstanceKey, path: string) {
  const store = yield* StateStore
  const other = (yield* store.records).find(
    ({ key: owner, record }) =>
      formatKey(owner) !== formatKey(key) &&
      record.storageRoot !== undefined &&
      storageRootsOverlap(record.storageRoot.path, path),
  )
  return Option.map(
    Option.fromUndefinedOr(other),
    ({ key: owner, record }) => `${formatKey(owner)} (${record.storageRoot?.path})`,
  )
})

/** Published by this life. One that was orphaned has no owner any more; what the operator noted on it is still there. */
const publishedKubeconfig = Effect.fnUntraced(function* (subject: DeletionView) {
  const kubernetes = yield* Kubernetes
  const key = instanceKey(subject)
  const ref = { namespace: key.namespace, name: kubeconfigSecretName(key) }
  const found = yield* kubernetes.get(Secret, ref, { metadataOnly: true })
  return found.pipe(
    Option.filter((secret) => {
      const orphaned = (secret.metadata.ownerReferences ?? []).length === 0
      return isOwnedBy(secret, subject.metadata.uid) || (orphaned && Option.isSome(publishedSource(secret)))
    }),
    Option.map(({ metadata }) => metadata.uid),
  )
})

export const observeDeletion = Effect.fn("Deletion.observe")(function* (
  subject: DeletionView,
  retryAt: Option.Option<number>,
) {
  const kubernetes = yield* Kubernetes
  const helm = yield* Helm
  const store = yield* StateStore
  const settings = yield* Settings
  const key = instanceKey(subject)
  const { uid, annotations } = subject.metadata
  const namespace = yield* kubernetes.get(Namespace, { name: hostNamespace(key) })
  const release = Option.isSome(namespace) ? yield* helm.state(releaseRef(key)) : Option.none()
  const selector = {
    namespace: settings.cleanupNamespace,
    labelSelector: `${LABEL_INSTANCE_HASH}=${instanceHash(key)}`,
  }
  const jobs = yield* kubernetes.list(Job, selector)
  const pods = yield* kubernetes.list(Pod, selector)
  const read = yield* Effect.result(store.readRecord(key))
  const stored = Result.isSuccess(read) ? read.success : Option.none()
  const recordProblem = Result.isFailure(read) ? Option.some(read.failure.message) : Option.none()
  const state = namespaceState(key, namespace)
  const storage = storageOf(subject, stored, settings.storageRootBase)
  const hasState = yield* store.hasState(key)
  const now = yield* Clock.currentTimeMillis
  const targetGone = state._tag === "Missing" || state._tag === "Foreign"
  const observation: DeletionObservation = {
    uid,
    policy: subject.deletionPolicy,
    skipCleanup:
      annotations?.[ANNOTATION_SKIP_STORAGE_CLEANUP] === "true" || Option.isSome(restoringIn(stored)),
    storage,
    releaseRecorded: Option.isSome(release),
    namespace: state,
    namespaceHeld:
      state._tag === "Terminating" && Option.isSome(namespace)
        ? yield* whyTerminating(namespace.value)
        : Option.none(),
    clusterObjects: targetGone ? yield* clusterObjects(key) : [],
    hasState,
    kubeconfig: yield* publishedKubeconfig(subject),
    hasRecord: Option.isSome(stored) || Option.isSome(recordProblem),
    begun: Option.exists(stored, ({ deleting }) => deleting === uid),
    recordProblem,
    cleanedFor: Option.fromNullishOr(annotations?.[ANNOTATION_STORAGE_CLEANED]),
    jobs: yield* Effect.forEach(jobs, (job) =>
      Effect.map(
        cleanupProblem(job, pods),
        (problem): CleanupJob => ({
          name: job.metadata.name,
          uid: job.metadata.uid,
          ours: job.metadata.name === cleanupJobName(key, uid),
          outcome: jobOutcome(job),
          deleting: job.metadata.deletionTimestamp !== undefined,
          problem,
        }),
      ),
    ),
    pods: pods.map((pod) => pod.metadata.name),
    storageSharedWith:
      storage._tag === "Default" && targetGone && !hasState
        ? yield* sharedWith(key, storage.path)
        : Option.none(),
    now,
    retryAt: Option.orElse(retryAt, () => cleanupPauseEnds(subject, now)),
  }
  return observation
})

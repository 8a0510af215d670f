// What deleting an instance does next: the first step whose evidence is missing. Pure. Every observation behind
// it is a live read, so that a step is never skipped because a cache was behind or a process remembered wrongly.
import { Option } from "effect"
import type { NamespaceState } from "../target/TargetState.ts"
import { type ClusterObject, describeClusterObject } from "./clusterObjects.ts"

/** The storage root of the instance on the node, as the record or the spec gives it. */
export type Storage =
  /** Lies under the operator's base and is removed with the instance. */
  | { readonly _tag: "Default"; readonly base: string; readonly path: string }
  /** Chosen by the user: never removed. */
  | { readonly _tag: "Custom"; readonly path: Option.Option<string> }

export interface CleanupJob {
  /** Of this life of the instance; one of an earlier life proves nothing about this one's data. */
  readonly ours: boolean
  readonly name: string
  readonly uid: string
  readonly outcome: "Running" | "Succeeded" | "Failed"
  readonly deleting: boolean
  /** What its pod says is in its way, or was. */
  readonly problem: Option.Option<string>
}

export interface DeletionObservation {
  readonly uid: string
  readonly policy: "Delete" | "Retain"
  readonly skipCleanup: boolean
  readonly storage: Storage
  /** Whether any release record is left, whatever its status. */
  readonly releaseRecorded: boolean
  readonly namespace: NamespaceState
  /** What holds a terminating namespace, in words. */
  readonly namespaceHeld: Option.Option<string>
  /** What the release has left outside of the namespace. */
  readonly clusterObjects: ReadonlyArray<ClusterObject>
  readonly hasState: boolean
  /** The UID of this life's `<name>-kubeconfig`, while it is there. */
  readonly kubeconfig: Option.Option<string>
  readonly hasRecord: boolean
  /** The record says that the deletion of this life has begun: from then on there is no way back to `Retain`. */
  readonly begun: boolean
  /** Why the record cannot be read: then nobody knows where the storage root lies. */
  readonly recordProblem: Option.Option<string>
  /** The value of the annotation `storage-cleaned`. */
  readonly cleanedFor: Option.Option<string>
  readonly jobs: ReadonlyArray<CleanupJob>
  /** Names of cleanup pods of this instance that are still there. */
  readonly pods: ReadonlyArray<string>
  /** A living instance whose storage root overlaps with this one's: `team-b/two (/base/team-a/one)`. */
  readonly storageSharedWith: Option.Option<string>
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly retryAt: Option.Option<number>
}

export const deletionFailureReasons = [
  "TargetDeleteFailed",
  "UninstallFailed",
  "StorageCleanupFailed",
] as const
export type DeletionFailureReason = (typeof deletionFailureReasons)[number]

export type DeletionStep =
  /** Written before anything is removed: what is half deleted is never taken for a retained platform. */
  | { readonly _tag: "MarkBegun" }
  | { readonly _tag: "UninstallRelease" }
  | { readonly _tag: "DeleteNamespace" }
  | { readonly _tag: "WaitForNamespace"; readonly held: Option.Option<string> }
  | { readonly _tag: "RemoveClusterObject"; readonly object: ClusterObject }
  | { readonly _tag: "DropState" }
  /** Left to the garbage collector, it would stay with `--cascade=orphan`, and a successor does not take it over. */
  | { readonly _tag: "RemoveKubeconfig"; readonly uid: string }
  | { readonly _tag: "RecordUnreadable"; readonly problem: string }
  /** Removing it would take another instance's data. */
  | { readonly _tag: "StorageShared"; readonly path: string; readonly by: string }
  | { readonly _tag: "StartCleanup"; readonly base: string; readonly path: string }
  | { readonly _tag: "WaitForCleanup"; readonly job: CleanupJob; readonly path: string }
  | { readonly _tag: "CountFailure"; readonly job: CleanupJob; readonly path: string }
  | { readonly _tag: "WaitForRetry"; readonly at: number; readonly path: string }
  | { readonly _tag: "MarkCleaned" }
  | { readonly _tag: "RemoveJob"; readonly job: CleanupJob }
  | { readonly _tag: "WaitForPods"; readonly pods: ReadonlyArray<string> }
  | { readonly _tag: "ForgetRecord" }
  | { readonly _tag: "RemoveFinalizer" }

const removeJobs = (seen: DeletionObservation): DeletionStep | undefined => {
  const job = seen.jobs.find((each) => !each.deleting)
  if (job !== undefined) return { _tag: "RemoveJob", job }
  const waitingFor = [...seen.jobs.map((each) => each.name), ...seen.pods]
  return waitingFor.length > 0 ? { _tag: "WaitForPods", pods: waitingFor } : undefined
}

const removeKubeconfig = ({ kubeconfig }: DeletionObservation): DeletionStep | undefined =>
  Option.isSome(kubeconfig) ? { _tag: "RemoveKubeconfig", uid: kubeconfig.value } : undefined

const cleanup = (seen: DeletionObservation): DeletionStep | undefined => {
  if (seen.storage._tag === "Custom" || seen.skipCleanup) return undefined
  if (Option.isSome(seen.cleanedFor) && seen.cleanedFor.value === seen.uid) return undefined
  // Everything else goes all the same; what a person decides (skip, or Retain) ends this.
  if (Option.isSome(seen.recordProblem))
    return { _tag: "RecordUnreadable", problem: seen.recordProblem.value }
  const { base, path } = seen.storage
  if (Option.isSome(seen.storageSharedWith))
    return { _tag: "StorageShared", path, by: seen.storageSharedWith.value }
  const stale = seen.jobs.find((each) => !each.ours && !each.deleting)
  if (stale !== undefined) return { _tag: "RemoveJob", job: stale }
  const job = seen.jobs.find((each) => !each.deleting)
  if (job === undefined) {
    // A Job that is going away, and its pods, have to be gone before the next one of that name.
    if (seen.jobs.length > 0 || seen.pods.length > 0) {
      return { _tag: "WaitForPods", pods: [...seen.jobs.map((each) => each.name), ...seen.pods] }
    }
    const retryAt = Option.getOrElse(seen.retryAt, () => seen.now)
    return retryAt > seen.now
      ? { _tag: "WaitForRetry", at: retryAt, path }
      : { _tag: "StartCleanup", base, path }
  }
  switch (job.outcome) {
    case "Running":
      return { _tag: "WaitForCleanup", job, path }
    case "Failed":
      return { _tag: "CountFailure", job, path }
    case "Succeeded":
      return { _tag: "MarkCleaned" }
  }
}

const target = (seen: DeletionObservation): DeletionStep | undefined => {
  // A namespace that is not ours is left alone, and so is whatever release lies in it.
  if (seen.namespace._tag === "Foreign") return undefined
  if (seen.releaseRecorded && seen.namespace._tag === "Ours") return { _tag: "UninstallRelease" }
  if (seen.namespace._tag === "Ours") return { _tag: "DeleteNamespace" }
  if (seen.namespace._tag === "Terminating") return { _tag: "WaitForNamespace", held: seen.namespaceHeld }
  const object = seen.clusterObjects.find(({ ours }) => ours)
  return object === undefined ? undefined : { _tag: "RemoveClusterObject", object }
}

export const deletionStep = (seen: DeletionObservation): DeletionStep => {
  const retained = seen.policy === "Retain"
  if (retained && !seen.begun)
    return removeJobs(seen) ?? removeKubeconfig(seen) ?? { _tag: "RemoveFinalizer" }
  const removable = target(seen) !== undefined || seen.hasState || seen.hasRecord
  // A record that cannot be read is not written over: it may be mended, and says where the storage root lies.
  if (removable && !seen.begun && Option.isNone(seen.recordProblem)) return { _tag: "MarkBegun" }
  return (
    target(seen) ??
    (seen.hasState ? { _tag: "DropState" } : undefined) ??
    removeKubeconfig(seen) ??
    // Switched to `Retain` half-way: what is left of it is the data on the node, and that stays.
    (retained ? undefined : cleanup(seen)) ??
    removeJobs(seen) ??
    (seen.hasRecord ? { _tag: "ForgetRecord" } : { _tag: "RemoveFinalizer" })
  )
}

/** The reason a step fails with: what was told of it stays until it, or one of its kind, has succeeded. */
export const failureReasonOf = (step: DeletionStep): DeletionFailureReason => {
  switch (step._tag) {
    case "UninstallRelease":
    case "DeleteNamespace":
    case "WaitForNamespace":
    case "RemoveClusterObject":
      return "TargetDeleteFailed"
    case "MarkBegun":
    case "DropState":
    case "RemoveKubeconfig":
    case "ForgetRecord":
    case "RemoveFinalizer":
      return "UninstallFailed"
    default:
      return "StorageCleanupFailed"
  }
}

const storageLeft = ({ cleanedFor, storage, uid }: DeletionObservation): ReadonlyArray<string> => {
  if (storage._tag === "Custom")
    return [["the custom storage root", ...Option.toArray(storage.path)].join(" ")]
  return Option.contains(cleanedFor, uid) ? [] : [`storage root ${storage.path}`]
}

/**
 * What stays although the instance goes, in words: an administrator must hear of it while somebody still looks. `refused`:
 * its storage root was, before anything was installed, so that nothing lies there.
 */
export const leftBehind = (seen: DeletionObservation, refused = false): ReadonlyArray<string> => {
  if (seen.policy === "Retain" && !seen.begun) return []
  // In a namespace that is somebody else's, so is the release that an object names.
  const foreign = seen.clusterObjects.filter(({ ours }) => !ours || seen.namespace._tag === "Foreign")
  return [
    ...(refused ? [] : storageLeft(seen)),
    ...(seen.namespace._tag === "Foreign" ? ["the host namespace, which is somebody else's"] : []),
    ...foreign.map((object) => `${describeClusterObject(object)}, which is somebody else's`),
  ]
}

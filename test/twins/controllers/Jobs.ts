// Jobs: pods until enough have succeeded or too many have failed, a deadline, and how long a finished one stays. After
// kube-controller-manager 1.35 (pkg/controller/job, ttlafterfinished). Indexed Jobs and failure policies are left out.
import { Job, Pod } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { ApiStatus } from "../kubernetes/ApiServer.ts"
import { type Cluster, watchOwn, watchOwned } from "./Cluster.ts"
import { keyOf, refOf } from "./Controller.ts"
import { controllerReference, createPod, isActive, podManifest, podsOf } from "./Pods.ts"
import {
  type Condition,
  isOver,
  isReady,
  isTerminating,
  jobOf,
  phaseOf,
  podOf,
  timestamp,
  withoutFinalizer,
} from "./Shapes.ts"

/** Kept on a pod until the Job's status has counted it. */
const TRACKING = "batch.kubernetes.io/job-tracking"
const FIRST_BACKOFF = 10_000
const LONGEST_BACKOFF = 600_000

const isTrue = (job: KubeObject, type: string) =>
  jobOf(job).status?.conditions?.some((each) => each.type === type && each.status === "True") === true

export const isFinished = (job: KubeObject): boolean => isTrue(job, "Complete") || isTrue(job, "Failed")

export const runJobs = (cluster: Cluster) => {
  const { client, tasks, recorder } = cluster

  const release = (pod: KubeObject) => {
    const live = client.get(Pod, pod.metadata)
    if (live?.metadata.uid !== pod.metadata.uid || live.metadata.finalizers?.includes(TRACKING) !== true)
      return
    client.update(Pod, withoutFinalizer(live, TRACKING))
  }

  /** When the newest failure lets the next pod start. */
  const backoffEnds = (failed: ReadonlyArray<KubeObject>, count: number): number => {
    if (failed.length === 0) return 0
    const ends = failed.map((pod) => {
      const states = podOf(pod).status?.containerStatuses ?? []
      return Math.max(
        ...states.map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? "") || tasks.now()),
        0,
      )
    })
    return Math.max(...ends) + Math.min(FIRST_BACKOFF * 2 ** (Math.max(count, 1) - 1), LONGEST_BACKOFF)
  }

  const create = (job: KubeObject) => {
    const { name, namespace = "" } = job.metadata
    const metadata = {
      generateName: `${name}-`,
      namespace,
      labels: {
        "batch.kubernetes.io/controller-uid": job.metadata.uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": job.metadata.uid,
        "job-name": name,
      },
      finalizers: [TRACKING],
    }
    createPod(cluster, job, podManifest(jobOf(job).spec.template, controllerReference(Job, job), metadata), {
      created: (created) => `Created pod: ${created}`,
      failed: (message) => `Error creating: ${message}`,
    })
  }

  /** Up to the first that is refused, as in a terminating namespace: what has ended is counted and let go all the same. */
  const createAll = (job: KubeObject, count: number): ApiStatus | undefined => {
    try {
      for (let n = 0; n < count; n++) create(job)
      return undefined
    } catch (error) {
      if (error instanceof ApiStatus) return error
      throw error
    }
  }

  const condition = (
    type: string,
    reason: string,
    message: string,
  ): Condition & { lastProbeTime: string } => ({
    type,
    status: "True",
    reason,
    message,
    lastProbeTime: timestamp(tasks.now()),
    lastTransitionTime: timestamp(tasks.now()),
  })

  /** Why it is to end, if it is. */
  const verdict = (
    job: KubeObject,
    failed: number,
    succeeded: number,
    active: number,
  ): Condition | undefined => {
    const { spec, status } = jobOf(job)
    const before = status?.conditions?.find(
      ({ type }) => type === "FailureTarget" || type === "SuccessCriteriaMet",
    )
    if (before !== undefined) return before
    if (failed > (spec.backoffLimit ?? 6))
      return condition("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    const started = Date.parse(status?.startTime ?? "") || tasks.now()
    if (
      spec.activeDeadlineSeconds !== undefined &&
      tasks.now() - started >= spec.activeDeadlineSeconds * 1000
    )
      return condition("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")
    const wanted = spec.completions ?? (spec.parallelism === undefined ? 1 : undefined)
    const enough = wanted === undefined ? succeeded > 0 : succeeded >= wanted
    return enough && active === 0
      ? condition("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
      : undefined
  }

  const end = (job: KubeObject, why: Condition): ReadonlyArray<Condition> => {
    const success = why.type === "SuccessCriteriaMet"
    const last = condition(success ? "Complete" : "Failed", why.reason ?? "", why.message ?? "")
    if (success) recorder.event(job, "Normal", "Completed", "Job completed")
    else recorder.event(job, "Warning", why.reason ?? "", why.message ?? "")
    return [why, last]
  }

  const pass = (job: KubeObject): number | undefined => {
    const { spec, status } = jobOf(job)
    const pods = podsOf(cluster, job)
    // A pod that is deleted without having ended has failed.
    const counted = pods.filter(({ metadata }) => metadata.finalizers?.includes(TRACKING) === true)
    const over = counted.filter((pod) => isOver(pod) || isTerminating(pod))
    const newSucceeded = over.filter((pod) => phaseOf(pod) === "Succeeded").length
    const succeeded = (status?.succeeded ?? 0) + newSucceeded
    let failed = (status?.failed ?? 0) + over.length - newSucceeded
    let active = pods.filter(isActive)
    let again: number | undefined
    let refused: ApiStatus | undefined
    const startTime = status?.startTime ?? timestamp(tasks.now())
    const begun: KubeObject = { ...job, status: { ...Object(job.status), startTime } }
    const why = verdict(begun, failed, succeeded, active.length)
    if (why !== undefined) {
      for (const pod of active) {
        client.delete(Pod, pod.metadata, { uid: pod.metadata.uid })
        recorder.event(job, "Normal", "SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`)
        // It is counted as failed in the same pass.
        over.push(pod)
        failed += 1
      }
      active = []
    } else if (!isTerminating(job) && spec.suspend !== true) {
      const wanted = Math.min(spec.parallelism ?? 1, (spec.completions ?? 1) - succeeded)
      const next = backoffEnds(
        pods.filter((pod) => phaseOf(pod) === "Failed"),
        failed,
      )
      if (active.length < wanted && next > tasks.now()) again = next - tasks.now()
      else refused = createAll(job, wanted - active.length)
    }
    if (spec.activeDeadlineSeconds !== undefined && why === undefined) {
      const left = Date.parse(startTime) + spec.activeDeadlineSeconds * 1000 - tasks.now()
      again = Math.max(0, Math.min(again ?? left, left))
    }
    report(job.metadata, startTime, succeeded, failed, why)
    for (const pod of over) release(pod)
    if (refused !== undefined) throw refused
    return again
  }

  const report = (
    ref: KubeObject["metadata"],
    startTime: string,
    succeeded: number,
    failed: number,
    why: Condition | undefined,
  ) => {
    const job = client.get(Job, ref)
    if (job === undefined || job.metadata.uid !== ref.uid) return
    const pods = podsOf(cluster, job)
    const active = pods.filter(isActive)
    const terminating = pods.filter((pod) => isTerminating(pod) && !isOver(pod)).length
    const before = jobOf(job).status?.conditions ?? []
    // It is finished when none of its pods is left that may still be at work.
    const over = why !== undefined && terminating === 0
    const conditions = why === undefined ? before : over ? end(job, why) : before.length > 0 ? before : [why]
    const status = {
      startTime,
      ...(conditions.length > 0 ? { conditions } : {}),
      ...(over && why.type === "SuccessCriteriaMet" ? { completionTime: timestamp(tasks.now()) } : {}),
      ...(active.length > 0 ? { active: active.length } : {}),
      ...(succeeded > 0 ? { succeeded } : {}),
      ...(failed > 0 ? { failed } : {}),
      ready: active.filter(isReady).length,
      terminating,
      uncountedTerminatedPods: {},
    }
    if (JSON.stringify(job.status) !== JSON.stringify(status)) client.updateStatus(Job, { ...job, status })
  }

  const queue = cluster.controller([20, 300], (key) => {
    const job = client.get(Job, refOf(key))
    if (job === undefined || isFinished(job)) return
    return pass(job)
  })
  // Changes of pods are looked at a second later, all together.
  watchOwn(cluster, Job, queue)
  watchOwned(cluster, Pod, "Job", { add: (key) => queue.add(key, 1000) })

  // A pod whose Job is gone is let go, so that it can be deleted.
  const orphans = cluster.controller([20, 300], (key) => {
    const pod = client.get(Pod, refOf(key))
    const owner = pod?.metadata.ownerReferences?.find(
      ({ kind, controller }) => kind === "Job" && controller === true,
    )
    if (pod === undefined) return
    const job =
      owner === undefined ? undefined : client.get(Job, { namespace: refOf(key).namespace, name: owner.name })
    if (job === undefined || job.metadata.uid !== owner?.uid || isFinished(job)) release(pod)
  })
  cluster.watch(Pod, ({ metadata }, type) => {
    if (type === "DELETED" || metadata.finalizers?.includes(TRACKING) !== true) return
    const orphaned = metadata.ownerReferences?.some(({ controller }) => controller === true) !== true
    if (orphaned || metadata.deletionTimestamp !== undefined) orphans.add(keyOf(metadata))
  })
  cluster.watch(Job, (job, type) => {
    if (type !== "DELETED") return
    for (const pod of podsOf(cluster, job)) orphans.add(keyOf(pod.metadata))
  })

  const expiry = cluster.controller([20, 300], (key) => {
    const job = client.get(Job, refOf(key))
    const ttl = job === undefined ? undefined : jobOf(job).spec.ttlSecondsAfterFinished
    if (job === undefined || ttl === undefined || !isFinished(job) || isTerminating(job)) return
    const ended = jobOf(job).status?.conditions?.find(({ type }) => type === "Complete" || type === "Failed")
    const left = (Date.parse(ended?.lastTransitionTime ?? "") || 0) + ttl * 1000 - tasks.now()
    if (left > 0) return left
    client.delete(Job, job.metadata, { uid: job.metadata.uid, propagation: "Foreground" })
  })
  watchOwn(cluster, Job, expiry)
}

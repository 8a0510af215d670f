// Whether the vCluster's control plane runs, and if not, in the pod's own words why.
import { Option, Schema } from "effect"
import type { KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"

/** One that starts and is well takes no longer, with the pull of its images: milliseconds. */
export const longestStart = 5 * 60_000

const StatefulSetState = Schema.Struct({
  metadata: Schema.Struct({ generation: Schema.optionalKey(Schema.Finite) }),
  spec: Schema.Struct({ replicas: Schema.optionalKey(Schema.Finite) }),
  status: Schema.optionalKey(
    Schema.Struct({
      observedGeneration: Schema.optionalKey(Schema.Finite),
      readyReplicas: Schema.optionalKey(Schema.Finite),
      currentRevision: Schema.optionalKey(Schema.String),
      updateRevision: Schema.optionalKey(Schema.String),
    }),
  ),
})

const Terminated = Schema.Struct({
  terminated: Schema.optionalKey(
    Schema.Struct({ reason: Schema.optionalKey(Schema.String), exitCode: Schema.Finite }),
  ),
})

const Container = Schema.Struct({
  state: Schema.optionalKey(
    Schema.Struct({
      waiting: Schema.optionalKey(
        Schema.Struct({
          reason: Schema.optionalKey(Schema.String),
          message: Schema.optionalKey(Schema.String),
        }),
      ),
      ...Terminated.fields,
    }),
  ),
  lastState: Schema.optionalKey(Terminated),
})

const PodState = Schema.Struct({
  metadata: Schema.Struct({ name: Schema.String }),
  status: Schema.optionalKey(
    Schema.Struct({
      conditions: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({
            type: Schema.String,
            status: Schema.String,
            reason: Schema.optionalKey(Schema.String),
            message: Schema.optionalKey(Schema.String),
          }),
        ),
      ),
      initContainerStatuses: Schema.optionalKey(Schema.Array(Container)),
      containerStatuses: Schema.optionalKey(Schema.Array(Container)),
    }),
  ),
})

const decodeStatefulSet = Schema.decodeUnknownOption(StatefulSetState)
const decodePod = Schema.decodeUnknownOption(PodState)

/** Reasons every starting pod passes through: they explain nothing. */
const ordinary = new Set(["ContainerCreating", "PodInitializing"])

/** `it ended as OOMKilled (exit code 137)`; nothing of one that has done its work. */
const ending = (state: typeof Terminated.Type | undefined): string | undefined => {
  const ended = state?.terminated
  if (ended === undefined || ended.exitCode === 0) return undefined
  return `it ended as ${ended.reason ?? "Error"} (exit code ${ended.exitCode})`
}

const containerReason = ({ state, lastState }: typeof Container.Type): string | undefined => {
  const waiting = state?.waiting
  if (waiting?.reason === undefined || ordinary.has(waiting.reason)) return ending(state)
  const before = ending(lastState)
  const text = `${waiting.reason}: ${waiting.message ?? ""}`
  return before === undefined ? text : `${text}; ${before}`
}

const podReason = (pods: ReadonlyArray<KubeObject>): string | undefined => {
  for (const pod of pods) {
    const seen = Option.getOrUndefined(decodePod(pod))
    if (seen?.status === undefined) continue
    const unscheduled = seen.status.conditions?.find((c) => c.type === "PodScheduled" && c.status === "False")
    if (unscheduled !== undefined) {
      return `pod ${seen.metadata.name}: ${unscheduled.reason ?? "Unschedulable"}: ${unscheduled.message ?? ""}`
    }
    for (const container of [
      ...(seen.status.initContainerStatuses ?? []),
      ...(seen.status.containerStatuses ?? []),
    ]) {
      const reason = containerReason(container)
      if (reason !== undefined) return `pod ${seen.metadata.name}: ${reason}`
    }
  }
  return undefined
}

export interface ControlPlane {
  readonly ready: boolean
  readonly message: string
  /** The message says why it is not ready, and not only that. */
  readonly explained: boolean
}

/** Ready is: current, at one revision, and every wanted replica ready; zero wanted replicas is not ready. */
export const controlPlaneState = (
  statefulSet: Option.Option<KubeObject>,
  pods: ReadonlyArray<KubeObject>,
): ControlPlane => {
  const seen = Option.getOrUndefined(Option.flatMap(statefulSet, decodeStatefulSet))
  if (seen === undefined)
    return { ready: false, message: "waiting for statefulset/vcluster", explained: true }
  const wanted = seen.spec.replicas ?? 1
  const readyReplicas = seen.status?.readyReplicas ?? 0
  if (wanted === 0) {
    return { ready: false, message: "statefulset/vcluster is scaled to 0 replicas", explained: true }
  }
  const isObserved = (seen.status?.observedGeneration ?? 0) >= (seen.metadata.generation ?? 0)
  const isRolledOut = seen.status?.currentRevision === seen.status?.updateRevision
  if (isObserved && isRolledOut && readyReplicas >= wanted) {
    return { ready: true, message: "statefulset/vcluster is ready", explained: true }
  }
  const reason = podReason(pods)
  const base =
    readyReplicas < wanted
      ? `statefulset/vcluster has ${readyReplicas} of ${wanted} replicas ready`
      : `statefulset/vcluster was changed, and ${isObserved ? "its pods are being replaced" : "its controller has not seen that yet"}`
  const explained = reason !== undefined
  return { ready: false, message: explained ? `${base}; ${reason}` : base, explained }
}

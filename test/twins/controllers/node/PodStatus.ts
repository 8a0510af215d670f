// The status of a pod, from what its containers do.
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { type Condition, podOf, timestamp, withCondition } from "../Shapes.ts"

export type ContainerState =
  | { readonly waiting: { readonly reason: string; readonly message?: string } }
  | { readonly running: { readonly startedAt: string } }
  | {
      readonly terminated: {
        readonly exitCode: number
        readonly reason: string
        readonly message?: string
        readonly startedAt: string
        readonly finishedAt: string
        readonly containerID: string
      }
    }

export interface ContainerRecord {
  readonly name: string
  readonly image: string
  state: ContainerState
  last: ContainerState | undefined
  restarts: number
  started: boolean
  ready: boolean
  id: string | undefined
}

const statusOf = ({ name, image, state, last, restarts, started, ready, id }: ContainerRecord) => ({
  name,
  image,
  imageID: id === undefined ? "" : image,
  ...(id === undefined ? {} : { containerID: id }),
  state,
  lastState: last ?? {},
  ready,
  started,
  restartCount: restarts,
})

const isDone = ({ state }: ContainerRecord) => "terminated" in state && state.terminated.exitCode === 0
const hasEnded = ({ state }: ContainerRecord) => "terminated" in state

export const phaseOf = (
  init: ReadonlyArray<ContainerRecord>,
  main: ReadonlyArray<ContainerRecord>,
  restartPolicy: string,
): string => {
  const initFailed = restartPolicy === "Never" && init.some((each) => hasEnded(each) && !isDone(each))
  if (initFailed) return "Failed"
  if (!init.every(isDone) || main.every(({ state, restarts }) => "waiting" in state && restarts === 0))
    return "Pending"
  const over =
    main.every(hasEnded) &&
    (restartPolicy === "Never" || (restartPolicy === "OnFailure" && main.every(isDone)))
  if (!over) return "Running"
  return main.every(isDone) ? "Succeeded" : "Failed"
}

export interface PodState {
  readonly init: ReadonlyArray<ContainerRecord>
  readonly main: ReadonlyArray<ContainerRecord>
  readonly podIP: string | undefined
  readonly hostIP: string
  readonly startTime: string
  /** No container of it is started any more. */
  readonly ending: boolean
}

export const podStatus = (
  pod: KubeObject,
  now: number,
  state: PodState,
): Readonly<Record<string, unknown>> => {
  const { init, main, podIP, hostIP, startTime, ending } = state
  const policy = ending ? "Never" : (podOf(pod).spec.restartPolicy ?? "Always")
  const phase = phaseOf(init, main, policy)
  const over = phase === "Succeeded" || phase === "Failed"
  const initialized = init.every(isDone)
  const unready = main.filter(({ ready }) => !ready).map(({ name }) => name)
  const ready = initialized && unready.length === 0 && !over
  const because = over
    ? { reason: phase === "Succeeded" ? "PodCompleted" : "PodFailed" }
    : { reason: "ContainersNotReady", message: `containers with unready status: [${unready.join(" ")}]` }
  const missing = init.filter((each) => !isDone(each)).map(({ name }) => name)
  const told: ReadonlyArray<Condition> = [
    { type: "PodReadyToStartContainers", status: podIP === undefined || over ? "False" : "True" },
    initialized
      ? { type: "Initialized", status: "True", ...(phase === "Succeeded" ? { reason: "PodCompleted" } : {}) }
      : {
          type: "Initialized",
          status: "False",
          reason: "ContainersNotInitialized",
          message: `containers with incomplete status: [${missing.join(" ")}]`,
        },
    ready ? { type: "Ready", status: "True" } : { type: "Ready", status: "False", ...because },
    ready
      ? { type: "ContainersReady", status: "True" }
      : { type: "ContainersReady", status: "False", ...because },
    { type: "PodScheduled", status: "True" },
  ]
  const lastTransitionTime = timestamp(now)
  const conditions = told.reduce(
    (list, condition) => withCondition(list, { ...condition, lastTransitionTime }),
    podOf(pod).status?.conditions ?? [],
  )
  return {
    phase,
    conditions,
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] }),
    startTime,
    qosClass: Object(pod.status).qosClass ?? "Burstable",
    ...(init.length === 0 ? {} : { initContainerStatuses: init.map(statusOf) }),
    containerStatuses: main.map(statusOf),
  }
}

// Why a control plane does not come up, where neither its StatefulSet nor its pod says so: a pod that is refused (Pod
// Security, a quota) or a volume that cannot be mounted are told in Events alone. They are asked for at the poll, and only
// while nothing else explains the wait.
import { Effect, Option, Schema } from "effect"
import { CoreEvent } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeError, type KubeObject, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import type { Memory } from "../Memory.ts"
import type { InstanceView } from "../Views.ts"
import { type ControlPlane, controlPlaneState } from "./ControlPlane.ts"

/** What was asked last, and what the answer was. */
export interface Unexplained {
  /** Milliseconds since the epoch. */
  readonly askedAt: number
  readonly answer: Option.Option<string>
}

const decodeEvent = Schema.decodeUnknownOption(
  Schema.Struct({
    reason: Schema.String,
    message: Schema.optionalKey(Schema.String),
    lastTimestamp: Schema.optionalKey(Schema.NullOr(Schema.String)),
    eventTime: Schema.optionalKey(Schema.NullOr(Schema.String)),
    metadata: Schema.Struct({ creationTimestamp: Schema.optionalKey(Schema.String) }),
  }),
)

/** So long nobody is told of what passes by itself, as a claim whose volume is just being made. */
const patienceMillis = 10_000

/** What every pod that starts slowly says. */
const ordinary = new Set(["Unhealthy", "BackOff"])

const newest = (events: ReadonlyArray<KubeObject>): Option.Option<string> =>
  Option.fromUndefinedOr(
    events
      .flatMap((event) => Option.toArray(decodeEvent(event)))
      .filter(({ reason }) => !ordinary.has(reason))
      .map(({ reason, message = "", lastTimestamp, eventTime, metadata }) => ({
        at: lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "",
        text: `${reason}: ${message}`,
      }))
      .toSorted((one, other) => (one.at < other.at ? 1 : -1))[0]?.text,
  )

/** The newest Warning about the pod, or, as long as there is none, about the StatefulSet that cannot make it. */
const warning = Effect.fn("Target.warning")(function* (
  statefulSet: KubeObject,
  pods: ReadonlyArray<KubeObject>,
): Effect.fn.Return<Option.Option<string>, KubeError, Kubernetes> {
  const kubernetes = yield* Kubernetes
  const { metadata } = pods[0] ?? statefulSet
  const events = yield* kubernetes.list(CoreEvent, {
    namespace: metadata.namespace ?? "",
    fieldSelector: `involvedObject.uid=${metadata.uid},type=Warning`,
  })
  return newest(events)
})

/** The state of the control plane; one that is not ready with a reason, if anybody has told one. */
export const explainControlPlane = Effect.fnUntraced(function* (
  memory: Memory,
  view: InstanceView,
  now: number,
  pollMillis: number,
): Effect.fn.Return<ControlPlane, never, Kubernetes> {
  const state = controlPlaneState(view.statefulSet, view.controlPlanePods)
  const statefulSet = Option.getOrUndefined(view.statefulSet)
  if (state.ready || state.explained || statefulSet === undefined) {
    memory.unexplained = Option.none()
    return state
  }
  const before = Option.getOrElse(
    memory.unexplained,
    (): Unexplained => ({ askedAt: now, answer: Option.none() }),
  )
  const due = now - before.askedAt >= Math.max(pollMillis, patienceMillis)
  const answer = due
    ? yield* Effect.orElseSucceed(warning(statefulSet, view.controlPlanePods), () => before.answer)
    : before.answer
  memory.unexplained = Option.some({ askedAt: due ? now : before.askedAt, answer })
  return Option.match(answer, {
    onNone: () => state,
    onSome: (text) => ({ ...state, message: `${state.message}; ${text}` }),
  })
})

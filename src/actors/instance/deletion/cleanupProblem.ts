// Why a cleanup Job does not succeed, in its pod's own words: not scheduled, no image, its node gone, or what the
// removal itself said last. A Job whose pod was refused has only Events to tell it by.
import { Effect, Option, Schema } from "effect"
import { Event } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeObject, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"

const Told = Schema.Struct({
  reason: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String),
})
const Condition = Schema.Struct({ type: Schema.String, status: Schema.String, ...Told.fields })
const PodState = Schema.Struct({
  status: Schema.Struct({
    reason: Schema.optionalKey(Schema.String),
    message: Schema.optionalKey(Schema.String),
    conditions: Schema.optionalKey(Schema.Array(Condition)),
    containerStatuses: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          state: Schema.optionalKey(
            Schema.Struct({
              waiting: Schema.optionalKey(Told),
              terminated: Schema.optionalKey(Schema.Struct({ exitCode: Schema.Finite, ...Told.fields })),
            }),
          ),
        }),
      ),
    ),
  }),
})
const decodePod = Schema.decodeUnknownOption(PodState)

/** Reasons every starting pod passes through. */
const ordinary = new Set(["ContainerCreating", "PodInitializing"])

const words = (...parts: ReadonlyArray<string | undefined>): string | undefined => {
  const said = parts.flatMap((part) => (part === undefined || part.trim() === "" ? [] : [part.trim()]))
  return said.length === 0 ? undefined : said.join(": ")
}

/** What keeps one pod from succeeding; undefined when nothing does, as far as it says. */
export const podProblem = (pod: KubeObject): string | undefined => {
  const status = Option.getOrUndefined(decodePod(pod))?.status
  if (status === undefined) return undefined
  const condition = (type: string) => status.conditions?.find((each) => each.type === type)
  for (const { state } of status.containerStatuses ?? []) {
    const { terminated, waiting } = state ?? {}
    if (terminated !== undefined && terminated.exitCode !== 0) {
      return words(terminated.message) ?? words(terminated.reason, `exit code ${terminated.exitCode}`)
    }
    if (waiting?.reason !== undefined && !ordinary.has(waiting.reason)) {
      return words(waiting.reason, waiting.message)
    }
  }
  const scheduled = condition("PodScheduled")
  if (scheduled?.status === "False") return words(scheduled.reason ?? "Unschedulable", scheduled.message)
  // The pod garbage collector, the taint manager and an eviction all say here whom they ended it for.
  const disrupted = condition("DisruptionTarget")
  if (disrupted?.status === "True") return words(disrupted.reason, disrupted.message)
  const ready = condition("Ready")
  if (ready?.status !== "True" && ready?.reason === "NodeNotReady")
    return words("NodeNotReady", ready.message)
  return words(status.reason, status.message)
}

const WarningEvent = Schema.Struct({
  type: Schema.String,
  reason: Schema.optionalKey(Schema.String),
  note: Schema.optionalKey(Schema.String),
  regarding: Schema.Struct({ uid: Schema.optionalKey(Schema.String) }),
})
const decodeEvent = Schema.decodeUnknownOption(WarningEvent)

/** A pod that was refused (Pod Security, a quota) never exists; the Job controller says so in an Event. */
const refusal = Effect.fnUntraced(function* (job: KubeObject) {
  const kubernetes = yield* Kubernetes
  const { namespace = "", uid } = job.metadata
  const events = yield* kubernetes.list(Event, { namespace, fieldSelector: `reason=FailedCreate` })
  const mine = events.flatMap((event) => Option.toArray(decodeEvent(event)))
  const said = mine.findLast((event) => event.type === "Warning" && event.regarding.uid === uid)
  return words(said?.reason, said?.note)
})

const JobState = Schema.Struct({
  status: Schema.optionalKey(Schema.Struct({ conditions: Schema.optionalKey(Schema.Array(Condition)) })),
})
const decodeJob = Schema.decodeUnknownOption(JobState)

/** Of a Job and those of `pods` that are its own. */
export const cleanupProblem = Effect.fn("Deletion.cleanupProblem")(function* (
  job: KubeObject,
  pods: ReadonlyArray<KubeObject>,
) {
  const own = pods.filter(({ metadata }) =>
    (metadata.ownerReferences ?? []).some(({ uid }) => uid === job.metadata.uid),
  )
  const told = own.map(podProblem).find((problem) => problem !== undefined)
  if (told !== undefined) return Option.some(told)
  const refused = own.length === 0 ? yield* Effect.orElseSucceed(refusal(job), () => undefined) : undefined
  const failed = Option.getOrUndefined(decodeJob(job))?.status?.conditions?.find(
    ({ type, status }) => type === "Failed" && status === "True",
  )
  return Option.fromUndefinedOr(refused ?? words(failed?.reason, failed?.message))
})

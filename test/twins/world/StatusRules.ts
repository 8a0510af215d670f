// The rules of a status, looked at with each write of one: metav1.Condition's, kstatus', and the reference's.
import { Effect, Option } from "effect"
import {
  type Condition,
  conditionTypes,
  findCondition,
  installFailureReasons,
  isTrue,
  MAX_MESSAGE,
  reasons,
  targetFailureReasons,
} from "../../../src/schema/Conditions.ts"
import { decodePlatformInstance, type PlatformInstance } from "../../../src/schema/PlatformInstance.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"

const decoded = (object: KubeObject | undefined): Option.Option<PlatformInstance> =>
  object === undefined ? Option.none() : Effect.runSync(Effect.option(decodePlatformInstance(object)))

const allowed = (condition: Condition): boolean => {
  const type = conditionTypes.find((each) => each === condition.type)
  if (type === undefined || condition.status === "Unknown") return false
  const known: ReadonlyArray<string> = reasons[type][condition.status]
  return known.includes(condition.reason)
}

const conditionRules = (
  condition: Condition,
  generation: number,
  before: Condition | undefined,
): ReadonlyArray<string> => [
  ...(allowed(condition) ? [] : [`${condition.type}=${condition.status} has no reason ${condition.reason}`]),
  ...([...condition.message].length <= MAX_MESSAGE ? [] : [`the message of ${condition.type} is too long`]),
  ...((condition.observedGeneration ?? 0) <= generation
    ? []
    : [`${condition.type} has observed generation ${condition.observedGeneration} of ${generation}`]),
  ...(before?.status !== condition.status || before.lastTransitionTime === condition.lastTransitionTime
    ? []
    : [`lastTransitionTime of ${condition.type} moved, and its status did not`]),
]

const failures: ReadonlyArray<string> = [...targetFailureReasons, ...installFailureReasons]

/** A failing instance says under Ready what it says where it fails, word for word. */
const failureRules = (status: NonNullable<PlatformInstance["status"]>): ReadonlyArray<string> => {
  if (status.phase !== "Failed") return []
  const ready = findCondition(status.conditions, "Ready")
  const same = status.conditions?.some(
    ({ type, status, reason, message }) =>
      type !== "Ready" && status === "False" && reason === ready?.reason && message === ready.message,
  )
  return [
    ...(ready?.status === "False" && failures.includes(ready.reason)
      ? []
      : [`it is Failed, and Ready says ${ready?.status} ${ready?.reason}`]),
    ...(same === true ? [] : [`it is Failed, and no condition says what Ready says: ${ready?.message}`]),
  ]
}

const readyRules = ({ metadata, status }: PlatformInstance): ReadonlyArray<string> => {
  if (status === undefined || !isTrue(status.conditions, "Ready")) return []
  const current = status.observedGeneration === metadata.generation
  return [
    ...(["TargetReady", "Installed"] as const).flatMap((type) =>
      isTrue(status.conditions, type) ? [] : [`it is Ready, and ${type} is not True`],
    ),
    // kstatus reads `Current` out of this.
    ...(current && status.applied?.generation !== metadata.generation
      ? [`generation ${metadata.generation} counts as observed, and ${status.applied?.generation} is applied`]
      : []),
  ]
}

const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right)

/** Each rule that the newest write of an instance breaks, in words. A write that leaves the status as it was breaks none. */
export const brokenRules = (object: KubeObject, previous: KubeObject | undefined): ReadonlyArray<string> => {
  if (same(object.status, previous?.status)) return []
  const instance = Option.getOrUndefined(decoded(object))
  if (instance?.status === undefined) return ["its status cannot be read"]
  const { conditions = [], observedGeneration } = instance.status
  const before = Option.getOrUndefined(decoded(previous))?.status
  const { generation } = instance.metadata
  const types = conditions.map(({ type }) => type)
  return [
    ...(new Set(types).size === types.length ? [] : [`a condition twice: ${types.join(", ")}`]),
    ...conditions.flatMap((condition) =>
      conditionRules(
        condition,
        generation,
        before?.conditions?.find(({ type }) => type === condition.type),
      ),
    ),
    ...((observedGeneration ?? 0) <= generation
      ? []
      : [`observedGeneration ${observedGeneration} of ${generation}`]),
    ...((before?.observedGeneration ?? 0) <= (observedGeneration ?? 0) || observedGeneration === undefined
      ? []
      : [`observedGeneration went back from ${before?.observedGeneration} to ${observedGeneration}`]),
    ...failureRules(instance.status),
    ...readyRules(instance),
  ]
}

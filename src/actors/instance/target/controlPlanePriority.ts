// The PriorityClass of control planes: on a node that is full they are scheduled before what runs in instances.
import { Effect, Option, Schema } from "effect"
import { PriorityClass } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeManifest, type KubeObject, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import type { StoreChange } from "../../../services/Kubernetes/Store.ts"
import { MANAGED_BY } from "./ownership.ts"
import type { Refusals } from "./refusals.ts"

export const PRIORITY_CLASS = "platform-operator-control-plane"

/** Above what has no class, and not above what others mark as important: it is the value that Kubernetes' own pages give `high-priority`. */
export const PRIORITY = 1_000_000

export const priorityClassManifest: KubeManifest = {
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name: PRIORITY_CLASS, labels: MANAGED_BY },
  value: PRIORITY,
  globalDefault: false,
  preemptionPolicy: "Never",
  description: "Control planes of PlatformInstances: they do not start without it",
}

const Shape = Schema.Struct({
  value: Schema.Finite,
  globalDefault: Schema.optionalKey(Schema.Boolean),
  preemptionPolicy: Schema.optionalKey(Schema.String),
})
const isClass = Schema.is(Shape)

const isWanted = (found: KubeObject): boolean =>
  isClass(found) &&
  found.value === PRIORITY &&
  found.preemptionPolicy === priorityClassManifest.preemptionPolicy &&
  found.globalDefault !== true

/** One that a pod without a class of its own gets, and with it as much as a control plane. */
const isHighDefault = (found: KubeObject): boolean =>
  found.metadata.name !== PRIORITY_CLASS &&
  isClass(found) &&
  found.globalDefault === true &&
  found.value >= PRIORITY

/** Whether `ensureControlPlanePriority` would find something else now. What it writes itself is no such change. */
export const concernsPriority = (change: StoreChange): boolean => {
  const { object } = change
  const [before, after] =
    change._tag === "Deleted" ? [Option.some(object), Option.none()] : [change.previous, Option.some(object)]
  return object.metadata.name === PRIORITY_CLASS
    ? !Option.exists(after, isWanted)
    : Option.exists(before, isHighDefault) !== Option.exists(after, isHighDefault)
}

export interface ControlPlanePriority {
  /** The class is there: a vCluster may be installed with it. */
  readonly available: boolean
  /** What has no class of its own is scheduled after it. */
  readonly above: boolean
}
export const noPriority: ControlPlanePriority = { available: false, above: false }

/**
 * Value and policy of a class cannot be changed: one of other ones is made anew. What runs keeps what it has, and a pod that is
 * refused between the two is made again by its StatefulSet.
 */
export const ensureControlPlanePriority = Effect.fnUntraced(function* ({ attempt }: Refusals) {
  const kubernetes = yield* Kubernetes
  let above = false
  const ensure = Effect.gen(function* () {
    const classes = yield* kubernetes.list(PriorityClass)
    const higher = classes.find(isHighDefault)
    above = higher === undefined
    if (higher !== undefined) {
      yield* Effect.logWarning(
        "control planes are not scheduled before what has no priority of its own",
      ).pipe(Effect.annotateLogs({ defaultPriorityClass: higher.metadata.name }))
    }
    const own = classes.find(({ metadata }) => metadata.name === PRIORITY_CLASS)
    if (own !== undefined && isWanted(own)) return
    if (own !== undefined)
      yield* kubernetes.delete(PriorityClass, { name: PRIORITY_CLASS }, { uid: own.metadata.uid })
    yield* kubernetes.apply(PriorityClass, priorityClassManifest)
  })
  const available = yield* attempt(PRIORITY_CLASS, ensure)
  return { available, above }
})

// The PriorityClass of control planes: on a node that is full, what runs in an instance gives way to the vCluster of another one.
import { Effect, Schema } from "effect"
import { isUnavailable } from "../../../services/Kubernetes/changesWhereAllowed.ts"
import { PriorityClass } from "../../../services/Kubernetes/Kinds.ts"
import type { KubeManifest } from "../../../services/Kubernetes/Kubernetes.ts"
import { Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { MANAGED_BY } from "./ownership.ts"

export const PRIORITY_CLASS = "platform-operator-control-plane"

/** Above what has no class, and not above what others mark as important: it is the value that Kubernetes' own pages give `high-priority`. */
export const PRIORITY = 1_000_000

export const priorityClassManifest: KubeManifest = {
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name: PRIORITY_CLASS, labels: MANAGED_BY },
  value: PRIORITY,
  globalDefault: false,
  preemptionPolicy: "PreemptLowerPriority",
  description: "Control planes of PlatformInstances: they do not start without it",
}

const Shape = Schema.Struct({
  value: Schema.Finite,
  globalDefault: Schema.optionalKey(Schema.Boolean),
  preemptionPolicy: Schema.optionalKey(Schema.String),
})
const isClass = Schema.is(Shape)

export interface ControlPlanePriority {
  /** The class is there: a vCluster may be installed with it. */
  readonly available: boolean
  /** What has no class of its own is scheduled after it. */
  readonly above: boolean
}
export const noPriority: ControlPlanePriority = { available: false, above: false }

/** Value and policy of a class cannot be changed: one of other ones is made anew. A missing right is a warning. */
export const ensureControlPlanePriority = Effect.gen(function* () {
  const kubernetes = yield* Kubernetes
  const classes = yield* kubernetes.list(PriorityClass)
  const own = classes.find(({ metadata }) => metadata.name === PRIORITY_CLASS)
  const isOurs =
    isClass(own) && own.value === PRIORITY && own.preemptionPolicy === priorityClassManifest.preemptionPolicy
  if (own !== undefined && !isOurs)
    yield* kubernetes.delete(PriorityClass, { name: PRIORITY_CLASS }, { uid: own.metadata.uid })
  yield* kubernetes.apply(PriorityClass, priorityClassManifest)
  const others = classes.find((one) => isClass(one) && one.globalDefault === true && one.value >= PRIORITY)
  if (others !== undefined) {
    yield* Effect.logWarning("control planes are not scheduled before what has no priority of its own").pipe(
      Effect.annotateLogs({ defaultPriorityClass: others.metadata.name }),
    )
  }
  return { available: true, above: others === undefined }
}).pipe(
  Effect.catchIf(isUnavailable, ({ request, message }) =>
    Effect.logWarning("control planes get no priority; upgrade the operator's ClusterRole").pipe(
      Effect.annotateLogs({ request, message }),
      Effect.as(noPriority),
    ),
  ),
)

// What is read off pods of a host namespace: whose they are, where, whether they have ended, what memory they ask for. Pure.
import { Option, Schema } from "effect"
import { quantity } from "../../../schema/Quota.ts"
import type { KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import { SYNCED_LABEL } from "./NetworkPolicies.ts"

const Resources = Schema.Struct({
  requests: Schema.optionalKey(Schema.Struct({ memory: Schema.optionalKey(Schema.String) })),
})
const resources = Schema.optionalKey(Resources)
const Containers = Schema.Array(
  Schema.Struct({ resources, restartPolicy: Schema.optionalKey(Schema.String) }),
)
const PodShape = Schema.Struct({
  spec: Schema.Struct({
    nodeName: Schema.optionalKey(Schema.String),
    containers: Schema.optionalKey(Containers),
    initContainers: Schema.optionalKey(Containers),
    resources,
    overhead: Schema.optionalKey(Schema.Struct({ memory: Schema.optionalKey(Schema.String) })),
  }),
  status: Schema.optionalKey(Schema.Struct({ phase: Schema.optionalKey(Schema.String) })),
})
type Pod = typeof PodShape.Type
const decode = Schema.decodeUnknownOption(PodShape)

/** vCluster has made it for a pod inside. */
export const isSynced = ({ metadata }: KubeObject): boolean => metadata.labels?.[SYNCED_LABEL] !== undefined

/** Of the vCluster itself; a tenant's pod may carry the same labels. */
export const isControlPlane = (pod: KubeObject): boolean => {
  const { app, release } = pod.metadata.labels ?? {}
  return app === "vcluster" && release === "vcluster" && !isSynced(pod)
}

/** For people: `pod vcluster-0 on node-1`. */
export const placeOf = (pod: KubeObject): string => {
  const node = Option.getOrUndefined(decode(pod))?.spec.nodeName
  return node === undefined ? `pod ${pod.metadata.name}` : `pod ${pod.metadata.name} on ${node}`
}

/** It takes nothing of the node any more, and keeps its log. */
export const hasEnded = (pod: KubeObject): boolean => {
  const phase = Option.getOrUndefined(decode(pod))?.status?.phase
  return phase === "Succeeded" || phase === "Failed"
}

/**
 * Nothing inside makes it anew: vCluster names its Service as the controller of those alone that have a controller inside
 * (0.36.1). As it is called inside: `<namespace>/<name>`.
 */
export const bareName = (pod: KubeObject): Option.Option<string> => {
  const { annotations = {}, ownerReferences = [] } = pod.metadata
  const name = annotations["vcluster.loft.sh/object-name"]
  const namespace = annotations["vcluster.loft.sh/object-namespace"]
  const made = ownerReferences.some(({ controller }) => controller === true)
  return made || name === undefined || namespace === undefined
    ? Option.none()
    : Option.some(`${namespace}/${name}`)
}

const bytes = (text: string | undefined): number =>
  Option.getOrElse(Option.flatMap(Option.fromUndefinedOr(text), quantity), () => 0)
const asked = ({ resources }: { readonly resources?: typeof Resources.Type }): number =>
  bytes(resources?.requests?.memory)

/** As the scheduler counts: what runs side by side, or the most that is needed before it runs. */
const ofContainers = ({ spec: { containers = [], initContainers = [] } }: Pod): number => {
  let besides = 0
  let most = 0
  for (const container of initContainers) {
    if (container.restartPolicy === "Always") besides += asked(container)
    most = Math.max(most, besides + (container.restartPolicy === "Always" ? 0 : asked(container)))
  }
  return Math.max(most, besides + containers.reduce((sum, container) => sum + asked(container), 0))
}

/** The memory that a pod asks of its node, in bytes; 0 of one that asks for none, or cannot be read. */
export const memoryRequest = (pod: KubeObject): number =>
  Option.match(decode(pod), {
    onNone: () => 0,
    onSome: (shape) =>
      (shape.spec.resources?.requests?.memory === undefined ? ofContainers(shape) : asked(shape.spec)) +
      bytes(shape.spec.overhead?.memory),
  })

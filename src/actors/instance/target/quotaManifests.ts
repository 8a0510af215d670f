// What bounds an instance: a ResourceQuota and a LimitRange in its host namespace. Pure.
import { Option, Schema } from "effect"
import { type Amounts, formatAmount, type QuotaResource, quantity } from "../../../schema/Quota.ts"
import type { KubeManifest, KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import { CONTROL_PLANE_POD } from "./observeTarget.ts"
import { MANAGED_BY } from "./ownership.ts"

/** A tenant reads it in the refusal. */
export const QUOTA_NAME = "platform-operator-instance-quota"
export const DEFAULTS_NAME = "platform-operator-instance-defaults"

type Kind = "requests" | "limits"
const kinds = ["cpu", "memory", "ephemeral-storage"] as const

/** Of a container that says nothing: what a small one takes. */
const defaults: Readonly<Record<Kind, Readonly<Partial<Record<(typeof kinds)[number], string>>>>> = {
  requests: { cpu: "50m", memory: "64Mi", "ephemeral-storage": "64Mi" },
  limits: { memory: "256Mi", "ephemeral-storage": "1Gi" },
}

const resources = Schema.optionalKey(
  Schema.Struct({
    requests: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    limits: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
)
const containers = Schema.Array(Schema.Struct({ resources }))
const StatefulSetShape = Schema.Struct({
  spec: Schema.Struct({
    replicas: Schema.optionalKey(Schema.Finite),
    template: Schema.Struct({
      spec: Schema.Struct({ containers, initContainers: Schema.optionalKey(containers) }),
    }),
    volumeClaimTemplates: Schema.optionalKey(
      Schema.Array(Schema.Struct({ spec: Schema.Struct({ resources }) })),
    ),
  }),
})
type Container = (typeof containers.Type)[number]
const decodeStatefulSet = Schema.decodeUnknownOption(StatefulSetShape)

const scalar = (text: string | undefined): number =>
  Option.getOrElse(Option.flatMap(Option.fromUndefinedOr(text), quantity), () => 0)
const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

/** The control plane's pod asks for as much as its containers together, or the largest of those that run before them. */
const ofPod = (
  {
    containers,
    initContainers = [],
  }: { containers: ReadonlyArray<Container>; initContainers?: ReadonlyArray<Container> },
  kind: Kind,
  resource: (typeof kinds)[number],
): number => {
  const asks = (container: Container) =>
    scalar(
      container.resources?.[kind]?.[resource] ??
        container.resources?.limits?.[resource] ??
        defaults[kind][resource],
    )
  return Math.max(sum(containers.map(asks)), ...initContainers.map(asks), 0)
}

/** vCluster's own Service and its headless one, the DNS inside, one a node, and those it tries the address range with. */
const ownServices = 8

/** What the vCluster takes itself, by its StatefulSet: it comes on top, so that a full quota does not keep its pod from coming back. */
const ownAmounts = (statefulSet: KubeObject): Amounts => {
  const decoded = Option.getOrUndefined(decodeStatefulSet(statefulSet))?.spec
  if (decoded === undefined) return new Map()
  const replicas = Math.max(decoded.replicas ?? 1, 1)
  const { spec } = decoded.template
  const claims = decoded.volumeClaimTemplates ?? []
  const storage = sum(claims.map(({ spec }) => scalar(spec.resources?.requests?.storage)))
  const pod = (kind: Kind, resource: (typeof kinds)[number]) => replicas * ofPod(spec, kind, resource)
  return new Map<QuotaResource, number>([
    ["pods", replicas],
    ["requests.cpu", Math.ceil(1000 * pod("requests", "cpu"))],
    ["requests.memory", pod("requests", "memory")],
    ["requests.ephemeral-storage", pod("requests", "ephemeral-storage")],
    ["limits.memory", pod("limits", "memory")],
    ["limits.ephemeral-storage", pod("limits", "ephemeral-storage")],
    ["requests.storage", replicas * storage],
    ["persistentvolumeclaims", replicas * claims.length],
    ["services", ownServices],
  ])
}

const quota = (namespace: string, given: Amounts, own: Amounts): KubeManifest => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: QUOTA_NAME, namespace, labels: MANAGED_BY },
  spec: {
    hard: Object.fromEntries(
      [...given].map(([resource, amount]) => [
        resource,
        formatAmount(resource, amount + (own.get(resource) ?? 0)),
      ]),
    ),
  },
})

/** A quota refuses a pod that does not say what it asks for: these are said for it. */
const limitRange = (namespace: string, given: Amounts): ReadonlyArray<KubeManifest> => {
  const names = new Set<string>(given.keys())
  const pick = (kind: Kind, wanted: (resource: string) => boolean) =>
    Object.fromEntries(Object.entries(defaults[kind]).filter(([resource]) => wanted(resource)))
  const limits = pick("limits", (resource) => names.has(`limits.${resource}`))
  // The server would take a default limit for the default request, too.
  const requests = pick(
    "requests",
    (resource) => names.has(`requests.${resource}`) || Object.hasOwn(limits, resource),
  )
  if (Object.keys(requests).length === 0) return []
  const item = {
    type: "Container",
    defaultRequest: requests,
    ...(Object.keys(limits).length === 0 ? {} : { default: limits }),
  }
  return [
    {
      apiVersion: "v1",
      kind: "LimitRange",
      metadata: { name: DEFAULTS_NAME, namespace, labels: MANAGED_BY },
      spec: { limits: [item] },
    },
  ]
}

const PodShape = Schema.Struct({
  spec: Schema.Struct({ nodeName: Schema.String }),
  status: Schema.optionalKey(Schema.Struct({ phase: Schema.optionalKey(Schema.String) })),
})
const isScheduled = Schema.is(PodShape)

/** Its pod is on a node, and neither ends nor has ended. */
const controlPlaneRuns = (pods: ReadonlyArray<KubeObject>): boolean =>
  pods.some(
    (pod) =>
      pod.metadata.name === CONTROL_PLANE_POD &&
      pod.metadata.deletionTimestamp === undefined &&
      isScheduled(pod) &&
      pod.status?.phase !== "Failed" &&
      pod.status?.phase !== "Succeeded",
  )

/**
 * What there should be. `None` as long as there is no StatefulSet to read what the vCluster takes itself. Without a control plane
 * there is no quota: one that is smaller than what is used would keep its pod from coming back, and nothing is synced meanwhile.
 */
export const quotaManifests = (
  namespace: string,
  given: Amounts,
  statefulSet: Option.Option<KubeObject>,
  controlPlanePods: ReadonlyArray<KubeObject>,
): Option.Option<ReadonlyArray<KubeManifest>> =>
  given.size === 0
    ? Option.some([])
    : Option.map(statefulSet, (found) => [
        // First the defaults: between the two a pod without them would be refused.
        ...limitRange(namespace, given),
        ...(controlPlaneRuns(controlPlanePods) ? [quota(namespace, given, ownAmounts(found))] : []),
      ])

// What the controllers read of the objects: each shape is decoded once an object, because stored objects never change.
import { Schema } from "effect"
import type { KubeObject, OwnerReference } from "../../../src/services/Kubernetes/Kubernetes.ts"

const optional = Schema.optionalKey
const Labels = Schema.Record(Schema.String, Schema.String)
const Free = Schema.Record(Schema.String, Schema.Json)

const shape = <A extends object>(schema: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeUnknownSync(schema)
  const seen = new WeakMap<KubeObject, A>()
  return (object: KubeObject): A => {
    const known = seen.get(object)
    if (known !== undefined) return known
    const decoded = decode(object)
    seen.set(object, decoded)
    return decoded
  }
}

export const Condition = Schema.Struct({
  type: Schema.String,
  status: Schema.String,
  reason: optional(Schema.String),
  message: optional(Schema.String),
  lastTransitionTime: optional(Schema.NullOr(Schema.String)),
})
export type Condition = typeof Condition.Type

const Selector = Schema.Struct({ matchLabels: optional(Labels) })
const Template = Schema.Struct({
  metadata: optional(Schema.Struct({ labels: optional(Labels), annotations: optional(Labels) })),
  spec: Free,
})
export type Template = typeof Template.Type

const Finite = Schema.Finite

export const statefulSetOf = shape(
  Schema.Struct({
    spec: Schema.Struct({
      replicas: optional(Finite),
      serviceName: optional(Schema.String),
      selector: Selector,
      template: Template,
      volumeClaimTemplates: optional(
        Schema.Array(
          Schema.Struct({
            metadata: Schema.Struct({ name: Schema.String, labels: optional(Labels) }),
            spec: Free,
          }),
        ),
      ),
      podManagementPolicy: optional(Schema.String),
      updateStrategy: optional(Schema.Struct({ type: optional(Schema.String) })),
      persistentVolumeClaimRetentionPolicy: optional(
        Schema.Struct({ whenDeleted: optional(Schema.String), whenScaled: optional(Schema.String) }),
      ),
    }),
    status: optional(Schema.Struct({ currentRevision: optional(Schema.String) })),
  }),
)
export type StatefulSetShape = ReturnType<typeof statefulSetOf>

export const revisionOf = shape(Schema.Struct({ revision: Finite, data: Schema.Json }))

export const workloadOf = shape(
  Schema.Struct({
    spec: Schema.Struct({
      replicas: optional(Finite),
      selector: Selector,
      template: Template,
      strategy: optional(Schema.Struct({ type: optional(Schema.String) })),
      progressDeadlineSeconds: optional(Finite),
      revisionHistoryLimit: optional(Finite),
    }),
    status: optional(
      Schema.Struct({
        replicas: optional(Finite),
        readyReplicas: optional(Finite),
        terminatingReplicas: optional(Finite),
        conditions: optional(Schema.Array(Condition)),
      }),
    ),
  }),
)

export const jobOf = shape(
  Schema.Struct({
    spec: Schema.Struct({
      parallelism: optional(Finite),
      completions: optional(Finite),
      backoffLimit: optional(Finite),
      activeDeadlineSeconds: optional(Finite),
      ttlSecondsAfterFinished: optional(Finite),
      suspend: optional(Schema.Boolean),
      template: Template,
    }),
    status: optional(
      Schema.Struct({
        startTime: optional(Schema.String),
        completionTime: optional(Schema.String),
        active: optional(Finite),
        ready: optional(Finite),
        terminating: optional(Finite),
        succeeded: optional(Finite),
        failed: optional(Finite),
        conditions: optional(Schema.Array(Condition)),
      }),
    ),
  }),
)

const Waiting = Schema.Struct({ reason: optional(Schema.String), message: optional(Schema.String) })
const Terminated = Schema.Struct({
  exitCode: Finite,
  reason: optional(Schema.String),
  message: optional(Schema.String),
  startedAt: optional(Schema.String),
  finishedAt: optional(Schema.String),
})
const ContainerState = Schema.Struct({
  waiting: optional(Waiting),
  running: optional(Schema.Struct({ startedAt: optional(Schema.String) })),
  terminated: optional(Terminated),
})
const ContainerStatus = Schema.Struct({
  name: Schema.String,
  ready: Schema.Boolean,
  restartCount: Finite,
  state: optional(ContainerState),
})

const Probe = Schema.Struct({
  initialDelaySeconds: optional(Finite),
  periodSeconds: optional(Finite),
  failureThreshold: optional(Finite),
})
const Container = Schema.Struct({
  name: Schema.String,
  image: Schema.String,
  command: optional(Schema.Array(Schema.String)),
  args: optional(Schema.Array(Schema.String)),
  imagePullPolicy: optional(Schema.String),
  env: optional(Schema.Array(Schema.Struct({ name: Schema.String, value: optional(Schema.String) }))),
  readinessProbe: optional(Probe),
  livenessProbe: optional(Probe),
  startupProbe: optional(Probe),
  volumeMounts: optional(Schema.Array(Schema.Struct({ name: Schema.String, mountPath: Schema.String }))),
})
export type Container = typeof Container.Type

const Volume = Schema.Struct({
  name: Schema.String,
  hostPath: optional(Schema.Struct({ path: Schema.String, type: optional(Schema.String) })),
  emptyDir: optional(Schema.Json),
  secret: optional(Schema.Struct({ secretName: Schema.String, optional: optional(Schema.Boolean) })),
  configMap: optional(Schema.Struct({ name: Schema.String, optional: optional(Schema.Boolean) })),
  persistentVolumeClaim: optional(Schema.Struct({ claimName: Schema.String })),
})
export type Volume = typeof Volume.Type

export const podOf = shape(
  Schema.Struct({
    metadata: Schema.Struct({
      deletionGracePeriodSeconds: optional(Finite),
      generateName: optional(Schema.String),
    }),
    spec: Schema.Struct({
      nodeName: optional(Schema.String),
      nodeSelector: optional(Labels),
      restartPolicy: optional(Schema.String),
      terminationGracePeriodSeconds: optional(Finite),
      containers: Schema.Array(Container),
      initContainers: optional(Schema.Array(Container)),
      volumes: optional(Schema.Array(Volume)),
    }),
    status: optional(
      Schema.Struct({
        phase: optional(Schema.String),
        startTime: optional(Schema.String),
        podIP: optional(Schema.String),
        conditions: optional(Schema.Array(Condition)),
        containerStatuses: optional(Schema.Array(ContainerStatus)),
        initContainerStatuses: optional(Schema.Array(ContainerStatus)),
      }),
    ),
  }),
)
export type PodShape = ReturnType<typeof podOf>

export const serviceOf = shape(
  Schema.Struct({
    spec: Schema.Struct({
      clusterIP: optional(Schema.String),
      type: optional(Schema.String),
      selector: optional(Labels),
      publishNotReadyAddresses: optional(Schema.Boolean),
      ports: optional(Schema.Array(Free)),
    }),
  }),
)

export const claimOf = shape(
  Schema.Struct({
    spec: Schema.Struct({
      volumeName: optional(Schema.String),
      storageClassName: optional(Schema.String),
      accessModes: optional(Schema.Array(Schema.String)),
      resources: optional(Schema.Struct({ requests: optional(Free) })),
    }),
    status: optional(Schema.Struct({ phase: optional(Schema.String) })),
  }),
)

export const volumeOf = shape(
  Schema.Struct({
    spec: Schema.Struct({
      claimRef: optional(
        Schema.Struct({ namespace: Schema.String, name: Schema.String, uid: Schema.String }),
      ),
      persistentVolumeReclaimPolicy: optional(Schema.String),
    }),
  }),
)

export const namespaceOf = shape(
  Schema.Struct({
    spec: optional(Schema.Struct({ finalizers: optional(Schema.Array(Schema.String)) })),
    status: optional(
      Schema.Struct({ phase: optional(Schema.String), conditions: optional(Schema.Array(Condition)) }),
    ),
  }),
)

export const nodeOf = shape(
  Schema.Struct({
    metadata: Schema.Struct({ labels: optional(Labels) }),
    spec: optional(Schema.Struct({ unschedulable: optional(Schema.Boolean) })),
  }),
)

export const isReady = (pod: KubeObject): boolean =>
  podOf(pod).status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true

export const isTerminating = (object: KubeObject): boolean => object.metadata.deletionTimestamp !== undefined

export const phaseOf = (pod: KubeObject): string => podOf(pod).status?.phase ?? "Pending"

export const isOver = (pod: KubeObject): boolean => ["Succeeded", "Failed"].includes(phaseOf(pod))

export const ownedBy =
  (uid: string) =>
  (object: KubeObject): boolean =>
    object.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.controller === true) === true

/** `a=b,c=d`. */
export const selectorText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",")

/** As the API writes times: whole seconds. */
export const timestamp = (millis: number): string => `${new Date(millis).toISOString().slice(0, 19)}Z`

/** Puts a condition into the list; its transition time moves with its status alone. */
export const withCondition = (
  conditions: ReadonlyArray<Condition> | undefined,
  condition: Condition,
): ReadonlyArray<Condition> => {
  const before = conditions?.find(({ type }) => type === condition.type)
  const moved =
    before !== undefined && before.status === condition.status && before.lastTransitionTime !== undefined
      ? { ...condition, lastTransitionTime: before.lastTransitionTime }
      : condition
  return before === undefined
    ? [...(conditions ?? []), moved]
    : (conditions ?? []).map((each) => (each.type === condition.type ? moved : each))
}

/** The object without a finalizer; a list that is empty is none. */
export const withoutFinalizer = (object: KubeObject, finalizer: string): KubeObject => {
  const { finalizers = [], ...metadata } = object.metadata
  const left = finalizers.filter((each) => each !== finalizer)
  return { ...object, metadata: left.length === 0 ? metadata : { ...metadata, finalizers: left } }
}

/** The object with these owners; a list that is empty is none. */
export const withOwners = (object: KubeObject, owners: ReadonlyArray<OwnerReference>): KubeObject => {
  const { ownerReferences: _, ...metadata } = object.metadata
  return { ...object, metadata: owners.length === 0 ? metadata : { ...metadata, ownerReferences: owners } }
}

// One observation of a target, out of the caches and of what this actor knows itself; no request is sent.
import { DateTime, Option, Schema } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { ANNOTATION_ASLEEP, ANNOTATION_STORAGE_ROOT, hostNamespace } from "../../../schema/Names.ts"
import { epochMillis, parseTime } from "../../../schema/Time.ts"
import type { ReleaseRef } from "../../../services/Helm/Helm.ts"
import { releaseState } from "../../../services/Helm/ReleaseRecord.ts"
import type { KubeManifest, KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import type { InstanceRecord } from "../../../services/StateStore/StateStore.ts"
import type { InstanceView } from "../Views.ts"
import type { ControlPlane } from "./ControlPlane.ts"
import { namespaceState } from "./HostNamespace.ts"
import { isOwnedBy, ownerOf, publishedSource, versionOf } from "./Kubeconfig.ts"
import { networkPoliciesApplied, networkPolicyManifests, superfluous } from "./NetworkPolicies.ts"
import { isControlPlane, placeOf } from "./pods.ts"
import type {
  LostObject,
  ProbeState,
  ResyncState,
  ScaleState,
  SleepState,
  TargetObservation,
} from "./TargetState.ts"
import type { UpgradeState } from "./upgrade.ts"

export const RELEASE_NAME = "vcluster"

/** The release's records, and the objects of its control plane, by their labels. */
export const RELEASE_SELECTOR = `owner=helm,name=${RELEASE_NAME}`
export const CONTROL_PLANE_SELECTOR = `app=vcluster,release=${RELEASE_NAME}`

export const releaseRef = (key: InstanceKey): ReleaseRef => ({
  namespace: hostNamespace(key),
  name: RELEASE_NAME,
})

/** One address for the life of an instance: another `server` would replace everything the engine made. */
export const targetServer = (key: InstanceKey): string => `https://vcluster.${hostNamespace(key)}.svc:443`

/** The vCluster's control plane, one replica of its StatefulSet. */
export const CONTROL_PLANE_POD = "vcluster-0"

const resyncState = ({ resync }: InstanceRecord): Option.Option<ResyncState> =>
  resync === undefined
    ? Option.none()
    : Option.some({
        serviceUID: resync.serviceUID,
        podUID: Option.fromUndefinedOr(resync.podUID),
        source: Option.fromUndefinedOr(resync.source),
        startedAt: epochMillis(resync.startedAt),
      })

export interface TargetKnowledge {
  readonly key: InstanceKey
  readonly uid: string
  readonly record: Option.Option<InstanceRecord>
  /** The resourceVersion of the published kubeconfig as this process wrote it. */
  readonly published: Option.Option<string>
  /** The UID of the pending record whose writer is known to be gone. */
  readonly abandoned: Option.Option<string>
  readonly lost: ReadonlyArray<LostObject>
  readonly releaseProblem: Option.Option<string>
  readonly controlPlane: ControlPlane
  readonly sleep: Option.Option<SleepState>
  readonly kubeconfigOverdue: boolean
  readonly probe: ProbeState
  readonly protectionKnown: boolean
  readonly chartVersion: string
  readonly upgrade: UpgradeState
  readonly operatorNamespace: string
  readonly storageRoot: string
  readonly workloadPolicies: ReadonlyArray<KubeManifest>
  readonly quotaApplied: boolean
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly repairIntervalMillis: number
}

const Scale = Schema.Struct({
  spec: Schema.Struct({ replicas: Schema.optionalKey(Schema.Finite) }),
  status: Schema.optionalKey(
    Schema.Struct({
      observedGeneration: Schema.optionalKey(Schema.Finite),
      replicas: Schema.optionalKey(Schema.Finite),
    }),
  ),
})
const decodeScale = Schema.decodeUnknownOption(Scale)

/** What stands in the annotation, if it was put to sleep: never none, or it would not wake. */
const wakesWith = ({ metadata }: KubeObject): Option.Option<number> =>
  Option.map(Option.fromUndefinedOr(metadata.annotations?.[ANNOTATION_ASLEEP]), (text) =>
    /^[1-9]\d?$/.test(text) ? Number(text) : 1,
  )

const scaleState = (statefulSet: KubeObject): Option.Option<ScaleState> =>
  Option.map(decodeScale(statefulSet), ({ spec, status }) => {
    const { uid, generation = 0 } = statefulSet.metadata
    const replicas = spec.replicas ?? 1
    const seen = (status?.observedGeneration ?? 0) >= generation
    const scaledDown = replicas === 0 && seen && (status?.replicas ?? 0) === 0
    return { uid, replicas, scaledDown, wakesWith: wakesWith(statefulSet) }
  })

const newestRecord = ({ releaseSecrets }: InstanceView) => {
  const revision = Option.getOrUndefined(releaseState(releaseSecrets))?.revision
  return releaseSecrets.find(({ metadata }) => metadata.labels?.version === String(revision))
}

const serviceNamed = (view: InstanceView, name: string) =>
  view.services.find((service) => service.metadata.name === name)

/** To the second, as the API server counts; false where it cannot be told. */
const isOlder = (one: KubeObject, other: KubeObject): boolean => {
  const [first, second] = [one, other].map(({ metadata }) =>
    Option.flatMap(Option.fromNullishOr(metadata.creationTimestamp), parseTime),
  )
  return Option.exists(Option.all([first ?? Option.none(), second ?? Option.none()]), ([a, b]) =>
    DateTime.isLessThan(a, b),
  )
}

/** Whether `<name>-kubeconfig` is this life's, holds the version of the source that is there now, and was not edited. */
const isPublished = (view: InstanceView, knowledge: TargetKnowledge, sourceVersion: string): boolean =>
  Option.exists(
    view.kubeconfigSecret,
    (secret) =>
      isOwnedBy(secret, knowledge.uid) &&
      Option.contains(publishedSource(secret), sourceVersion) &&
      Option.contains(knowledge.published, secret.metadata.resourceVersion),
  )

/** Its data would be removed under the new instance's feet: nothing is made before it is gone. */
const predecessorLeft = (view: InstanceView, { record, uid }: TargetKnowledge): Option.Option<string> => {
  const half = Option.exists(record, ({ deleting }) => deleting !== undefined && deleting !== uid)
  if (half) return Option.some("finishing the deletion of the instance of this name before")
  return view.cleanups.length === 0
    ? Option.none()
    : Option.some(`waiting for ${view.cleanups.join(", ")} of the instance of this name before to be gone`)
}

export const observeTarget = (view: InstanceView, knowledge: TargetKnowledge): TargetObservation => {
  const { key } = knowledge
  const namespace = hostNamespace(key)
  const service = Option.fromUndefinedOr(serviceNamed(view, "vcluster"))
  const pod = Option.fromUndefinedOr(
    view.controlPlanePods.find(({ metadata }) => metadata.name === CONTROL_PLANE_POD),
  )
  return {
    now: knowledge.now,
    hostNamespace: namespace,
    predecessor: predecessorLeft(view, knowledge),
    namespace: namespaceState(key, view.hostNamespace),
    storageRootMarked: Option.exists(
      view.hostNamespace,
      ({ metadata }) => metadata.annotations?.[ANNOTATION_STORAGE_ROOT] === knowledge.storageRoot,
    ),
    protectionApplied: knowledge.protectionKnown,
    networkPoliciesApplied: networkPoliciesApplied(
      view.networkPolicies,
      networkPolicyManifests(namespace, knowledge.operatorNamespace),
    ),
    workloadsIsolated:
      networkPoliciesApplied(view.networkPolicies, knowledge.workloadPolicies) &&
      superfluous(view.networkPolicies, knowledge.workloadPolicies).length === 0,
    quotaApplied: knowledge.quotaApplied,
    release: releaseState(view.releaseSecrets),
    everServed:
      Option.exists(knowledge.record, (record) => record.serviceUID !== undefined) ||
      Option.isSome(view.kubeconfigSecret),
    writerGone: Option.exists(knowledge.abandoned, (uid) => newestRecord(view)?.metadata.uid === uid),
    lostObjects: knowledge.lost,
    releaseProblem: knowledge.releaseProblem,
    serviceUID: Option.map(service, ({ metadata }) => metadata.uid),
    recordedServiceUID: Option.flatMap(knowledge.record, ({ serviceUID }) =>
      Option.fromUndefinedOr(serviceUID),
    ),
    podUID: Option.map(pod, ({ metadata }) => metadata.uid),
    podEnding: Option.exists(pod, ({ metadata }) => metadata.deletionTimestamp !== undefined),
    podPredatesService: Option.exists(Option.all([pod, service]), ([one, other]) => isOlder(one, other)),
    resync: Option.flatMap(knowledge.record, resyncState),
    resyncDeadlineMillis: 3 * knowledge.repairIntervalMillis,
    publishedSource: Option.flatMap(view.kubeconfigSecret, publishedSource),
    controlPlane: knowledge.controlPlane,
    sleep: knowledge.sleep,
    scale: Option.flatMap(view.statefulSet, scaleState),
    controlPlanePods: view.controlPlanePods.filter(isControlPlane).map(placeOf),
    kubeconfigOwner: Option.flatMap(view.sourceSecret, ownerOf),
    kubeconfigOverdue: knowledge.kubeconfigOverdue,
    kubeconfigPublished: Option.exists(view.sourceSecret, (secret) =>
      isPublished(view, knowledge, versionOf(secret)),
    ),
    server: targetServer(key),
    probe: knowledge.probe,
    chartVersion: knowledge.chartVersion,
    upgrade: knowledge.upgrade,
  }
}

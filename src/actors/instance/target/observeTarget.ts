// One observation of a target, out of the caches and of what this actor knows itself; no request is sent.
import { DateTime, Option } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { hostNamespace } from "../../../schema/Names.ts"
import { epochMillis, parseTime } from "../../../schema/Time.ts"
import type { ReleaseRef } from "../../../services/Helm/Helm.ts"
import { releaseState } from "../../../services/Helm/ReleaseRecord.ts"
import type { KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import type { InstanceRecord } from "../../../services/StateStore/StateStore.ts"
import type { InstanceView } from "../Views.ts"
import { controlPlaneState } from "./ControlPlane.ts"
import { namespaceState } from "./HostNamespace.ts"
import { isOwnedBy, ownerOf, publishedSource, versionOf } from "./Kubeconfig.ts"
import { networkPoliciesApplied, networkPolicyManifests } from "./NetworkPolicies.ts"
import type { ProbeState, ResyncState, TargetObservation } from "./TargetState.ts"

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
  readonly probe: ProbeState
  readonly protectionKnown: boolean
  readonly chartVersion: string
  readonly operatorNamespace: string
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly repairIntervalMillis: number
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

const missingObjects = (view: InstanceView): ReadonlyArray<string> => [
  ...(Option.isNone(view.statefulSet) ? ["statefulset/vcluster"] : []),
  ...["vcluster", "vcluster-headless"]
    .filter((name) => serviceNamed(view, name) === undefined)
    .map((name) => `service/${name}`),
]

/** Whether `<name>-kubeconfig` is this life's, holds the version of the source that is there now, and was not edited. */
const isPublished = (view: InstanceView, knowledge: TargetKnowledge, sourceVersion: string): boolean =>
  Option.exists(
    view.kubeconfigSecret,
    (secret) =>
      isOwnedBy(secret, knowledge.uid) &&
      Option.contains(publishedSource(secret), sourceVersion) &&
      Option.contains(knowledge.published, secret.metadata.resourceVersion),
  )

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
    namespace: namespaceState(key, view.hostNamespace),
    protectionApplied: knowledge.protectionKnown,
    networkPoliciesApplied: networkPoliciesApplied(
      view.networkPolicies,
      networkPolicyManifests(namespace, knowledge.operatorNamespace),
    ),
    release: releaseState(view.releaseSecrets),
    everServed:
      Option.exists(knowledge.record, (record) => record.serviceUID !== undefined) ||
      Option.isSome(view.kubeconfigSecret),
    missingObjects: missingObjects(view),
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
    controlPlane: controlPlaneState(view.statefulSet, view.controlPlanePods),
    kubeconfigOwner: Option.flatMap(view.sourceSecret, ownerOf),
    kubeconfigPublished: Option.exists(view.sourceSecret, (secret) =>
      isPublished(view, knowledge, versionOf(secret)),
    ),
    server: targetServer(key),
    probe: knowledge.probe,
    chartVersion: knowledge.chartVersion,
  }
}

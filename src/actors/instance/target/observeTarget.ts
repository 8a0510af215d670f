// One observation of a target, out of the caches and of what this actor knows itself; no request is sent.
import { Option } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { hostNamespace } from "../../../schema/Names.ts"
import type { ReleaseRef } from "../../../services/Helm/Helm.ts"
import { releaseState } from "../../../services/Helm/ReleaseRecord.ts"
import type { InstanceRecord } from "../../../services/StateStore/StateStore.ts"
import type { InstanceViews } from "../Views.ts"
import { controlPlaneState } from "./ControlPlane.ts"
import { namespaceState } from "./HostNamespace.ts"
import { ANNOTATION_SOURCE, isOwnedBy, ownerOf, versionOf } from "./Kubeconfig.ts"
import { networkPoliciesApplied, networkPolicyManifests } from "./NetworkPolicies.ts"
import type { ProbeState, TargetObservation } from "./TargetState.ts"

export const RELEASE_NAME = "vcluster"

export const releaseRef = (key: InstanceKey): ReleaseRef => ({
  namespace: hostNamespace(key),
  name: RELEASE_NAME,
})

/** One address for the life of an instance: another `server` would replace everything the engine made. */
export const targetServer = (key: InstanceKey): string => `https://vcluster.${hostNamespace(key)}.svc:443`

export interface TargetKnowledge {
  readonly key: InstanceKey
  readonly uid: string
  readonly record: Option.Option<InstanceRecord>
  readonly probe: ProbeState
  readonly protectionKnown: boolean
  readonly chartVersion: string
  readonly operatorNamespace: string
}

const missingObjects = (views: InstanceViews, namespace: string): ReadonlyArray<string> => [
  ...(Option.isNone(views.statefulSet(namespace)) ? ["statefulset/vcluster"] : []),
  ...["vcluster", "vcluster-headless"]
    .filter((name) => Option.isNone(views.service(namespace, name)))
    .map((name) => `service/${name}`),
]

/** Whether `<name>-kubeconfig` is this life's and holds the version of the source that is there now. */
const isPublished = (views: InstanceViews, knowledge: TargetKnowledge, sourceVersion: string): boolean =>
  Option.exists(
    views.kubeconfigSecret(knowledge.key),
    (secret) =>
      isOwnedBy(secret, knowledge.uid) && secret.metadata.annotations?.[ANNOTATION_SOURCE] === sourceVersion,
  )

export const observeTarget = (views: InstanceViews, knowledge: TargetKnowledge): TargetObservation => {
  const { key } = knowledge
  const namespace = hostNamespace(key)
  const source = views.sourceSecret(namespace)
  return {
    hostNamespace: namespace,
    namespace: namespaceState(key, views.hostNamespace(namespace)),
    protectionApplied: knowledge.protectionKnown,
    networkPoliciesApplied: networkPoliciesApplied(
      views.networkPolicies(namespace),
      networkPolicyManifests(namespace, knowledge.operatorNamespace),
    ),
    release: releaseState(views.releaseSecrets(namespace)),
    everServed:
      Option.exists(knowledge.record, (record) => record.serviceUID !== undefined) ||
      Option.isSome(views.kubeconfigSecret(key)),
    missingObjects: missingObjects(views, namespace),
    serviceUID: Option.map(views.service(namespace, "vcluster"), (service) => service.metadata.uid),
    controlPlane: controlPlaneState(views.statefulSet(namespace), views.controlPlanePods(namespace)),
    kubeconfigOwner: Option.flatMap(source, ownerOf),
    kubeconfigPublished: Option.exists(source, (secret) => isPublished(views, knowledge, versionOf(secret))),
    server: targetServer(key),
    probe: knowledge.probe,
    chartVersion: knowledge.chartVersion,
  }
}

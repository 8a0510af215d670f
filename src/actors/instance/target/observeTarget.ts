// One observation of a target, out of the caches and of what this actor knows itself; no request is sent.
import { Option } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { hostNamespace } from "../../../schema/Names.ts"
import type { ReleaseRef } from "../../../services/Helm/Helm.ts"
import type { InstanceRecord } from "../../../services/StateStore/StateStore.ts"
import { controlPlaneState } from "./ControlPlane.ts"
import { ownerOf, versionOf } from "./Kubeconfig.ts"
import type { ResyncState, } from "./TargetState.ts"

export const RELEASE_NAME = "vcluster"

export const releaseRef = (key: InstanceKey): ReleaseRef => ({
  namespace: hostNamespace(key),
  name: RELEASE_NAME,
})

/** One address for the life of an instance: another `server` would replace everything the engine made. */
export const targetServer = (key: InstanceKey): string => `https://vcluster.${hostNamespace(key)}.svc:443`

/** The vCluster's control plane, one replica of its StatefulSet. */
export const CONTROL_PLANE_POD = "vcluster-0"

const _resyncState = ({ resync }: InstanceRecord): Option.Option<ResyncState> =>
  resync === undefined
    ? Option.none()
    : Option.some({
        serviceUID: resync.serviceUID,
        podUID: Option.map(pod, ({ metadata }) => metadata.uid),
    podEnding: Option.exists(pod, ({ metadata }) => metadata.deletionTimestamp !== undefined),
    resync: Option.flatMap(knowledge.record, _resyncState),
    resyncDeadlineMillis: 3 * knowledge.repairIntervalMillis,
    controlPlane: controlPlaneState(view.statefulSet, view.controlPlanePods),
    kubeconfigOwner: Option.flatMap(view.sourceSecret, ownerOf),
    kubeconfigPublished: Option.exists(view.sourceSecret, (secret) =>
      isPublished(view, knowledge.uid, versionOf(secret)),
    ),
    server: targetServer(key),
    probe: knowledge.probe,
    chartVersion: knowledge.chartVersion,
  }
}

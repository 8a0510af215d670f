// What the vCluster's release keeps outside of its namespace. A release's record proves nothing here: helm forgets it
// even when an object could not be removed, and a namespace takes nothing of this with it.
import { Effect, Option } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { hostNamespace } from "../../../schema/Names.ts"
import { ClusterRole, ClusterRoleBinding } from "../../../services/Kubernetes/Kinds.ts"
import { Kubernetes, type ResourceKind } from "../../../services/Kubernetes/Kubernetes.ts"
import { RELEASE_NAME } from "../target/observeTarget.ts"

export interface ClusterObject {
  readonly kind: ResourceKind
  readonly name: string
  readonly uid: string
  /** Helm's annotations on it name this instance's release. */
  readonly ours: boolean
}

/** The chart's name for both, cut as Kubernetes' names are (`vcluster.clusterRoleName` of the chart). */
const clusterName = (key: InstanceKey): string =>
  `vc-${RELEASE_NAME}-v-${hostNamespace(key)}`.slice(0, 63).replace(/-+$/, "")

/** The binding before the role: what is bound to nothing grants nothing. */
export const clusterObjects = Effect.fn("Deletion.clusterObjects")(function* (key: InstanceKey) {
  const kubernetes = yield* Kubernetes
  const name = clusterName(key)
  const found = yield* Effect.forEach([ClusterRoleBinding, ClusterRole], (kind) =>
    Effect.map(
      kubernetes.get(kind, { name }, { metadataOnly: true }),
      Option.map(({ metadata }): ClusterObject => {
        const annotations = metadata.annotations ?? {}
        const ours =
          annotations["meta.helm.sh/release-name"] === RELEASE_NAME &&
          annotations["meta.helm.sh/release-namespace"] === hostNamespace(key)
        return { kind, name, uid: metadata.uid, ours }
      }),
    ),
  )
  return found.flatMap(Option.toArray)
})

/** `clusterrole/vc-…`, as kubectl names it. */
export const describeClusterObject = ({ kind, name }: ClusterObject): string =>
  `${kind.kind.toLowerCase()}/${name}`

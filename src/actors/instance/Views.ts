// What the watches have seen of one instance's world: reads from caches, never a request. The live layer is in
// ViewsLive.ts; it also wakes the actor an object belongs to.
import { Context, type Effect, type Option } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import type { KubeObject, ResourceKind } from "../../services/Kubernetes/Kubernetes.ts"

export interface InstanceViews {
  readonly instance: (key: InstanceKey) => Option.Option<KubeObject>
  readonly hostNamespace: (name: string) => Option.Option<KubeObject>
  readonly networkPolicies: (hostNamespace: string) => ReadonlyArray<KubeObject>
  /** Metadata of the vCluster release's record Secrets. */
  readonly releaseSecrets: (hostNamespace: string) => ReadonlyArray<KubeObject>
  readonly statefulSet: (hostNamespace: string) => Option.Option<KubeObject>
  readonly service: (hostNamespace: string, name: string) => Option.Option<KubeObject>
  /** Metadata of the Secret the vCluster writes its kubeconfig to. */
  readonly sourceSecret: (hostNamespace: string) => Option.Option<KubeObject>
  readonly controlPlanePods: (hostNamespace: string) => ReadonlyArray<KubeObject>
  /** Metadata of `<name>-kubeconfig`. */
  readonly kubeconfigSecret: (key: InstanceKey) => Option.Option<KubeObject>
  /** Waits, for a bounded time, until the cache has seen this object as it was written. */
  readonly awaitWrite: (kind: ResourceKind, written: KubeObject) => Effect.Effect<void>
}

export class Views extends Context.Service<Views, InstanceViews>()("platform-operator/Views") {}

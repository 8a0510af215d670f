// What the watches have seen of one instance's world: reads from caches, never a request. The live layer is in
// ViewsLive.ts.
import { Context, type DateTime, type Effect, type Option, type Stream } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import type {
  KubeError,
  KubeManifest,
  KubeObject,
  ObjectRef,
  ResourceKind,
} from "../../services/Kubernetes/Kubernetes.ts"

/** The objects an instance's target consists of, as last seen; of Secrets the metadata alone. */
export interface InstanceView {
  readonly hostNamespace: Option.Option<KubeObject>
  /** Those the operator made. */
  readonly networkPolicies: ReadonlyArray<KubeObject>
  /** Those made inside, as vCluster has synced them. */
  readonly innerNetworkPolicies: ReadonlyArray<KubeObject>
  /** The vCluster release's record Secrets. */
  readonly releaseSecrets: ReadonlyArray<KubeObject>
  readonly statefulSet: Option.Option<KubeObject>
  readonly services: ReadonlyArray<KubeObject>
  /** What carries the labels of the vCluster's release; of ClusterRoles and their bindings those of this release alone. */
  readonly releaseObjects: ReadonlyArray<KubeObject>
  readonly controlPlanePods: ReadonlyArray<KubeObject>
  /** The Secret the vCluster writes its kubeconfig to. */
  readonly sourceSecret: Option.Option<KubeObject>
  /** `<name>-kubeconfig`, when it is the operator's. */
  readonly kubeconfigSecret: Option.Option<KubeObject>
  /** Names of cleanup Jobs and their pods: of a living instance, what its predecessor has left. */
  readonly cleanups: ReadonlyArray<string>
}

/** A reason to look at an instance. */
export interface Wakeup {
  readonly key: InstanceKey
  readonly reason: string
}

export class Views extends Context.Service<
  Views,
  {
    readonly instance: (key: InstanceKey) => Effect.Effect<Option.Option<KubeObject>>
    /** All there are. */
    readonly instances: Effect.Effect<ReadonlyArray<KubeObject>>
    /** Live where the caches are known to be behind. */
    readonly read: (key: InstanceKey) => Effect.Effect<InstanceView, KubeError>
    /** Waits until the cache has seen this object as it was written; after 5 s reads are live until it has. */
    readonly awaitWrite: (kind: ResourceKind, written: KubeObject) => Effect.Effect<void>
    /**
     * Waits until the cache shows the object of this manifest, made in that second or later; after 5 s reads are live until the
     * cache has caught up.
     */
    readonly awaitMade: (
      kind: ResourceKind,
      manifest: KubeManifest,
      since: DateTime.DateTime,
    ) => Effect.Effect<void>
    /** The cache shows this object otherwise than a live read has: until it has caught up, reads are live. */
    readonly distrust: (kind: ResourceKind, ref: ObjectRef) => Effect.Effect<void>
    /**
     * The caches may be behind about the target of this instance, as after a start over the cache of a server that is:
     * what of it Helm writes is read live until they are seen to have it.
     */
    readonly doubt: (key: InstanceKey) => Effect.Effect<void>
    /** Of these the host namespace and the release's records alone. */
    readonly doubtRecords: (key: InstanceKey) => Effect.Effect<void>
    /** Waits for the first complete list of everything: before it, nothing may be called missing. */
    readonly synced: Effect.Effect<void>
    /** Every change, as the instance it belongs to; begins with all instances there are. Never ends. */
    readonly wakeups: Stream.Stream<Wakeup>
  }
>()("platform-operator/Views") {}

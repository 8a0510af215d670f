// The Kubernetes API as the rest of the operator sees it: untyped objects with typed metadata, one error type,
// and a list-watch that never ends. Callers decode what they read with a Schema at their own border.
import { Context, Data, type Effect, type Option, type Redacted, type Scope, type Stream } from "effect"

/** A kind of the API, e.g. `{ group: "apps", version: "v1", plural: "statefulsets", kind: "StatefulSet", namespaced: true }`. */
export interface ResourceKind {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
}

export interface ObjectRef {
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string
  readonly name: string
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: ReadonlyArray<string>
  readonly ownerReferences?: ReadonlyArray<OwnerReference>
}

/** An object as the server returned it. Everything but the metadata is decoded by whoever needs it. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

/** An object to be written: the server fills in the rest of the metadata. */
export interface KubeManifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    /** A precondition: the write fails with `Conflict` when the live object has another UID. */
    readonly uid?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: ReadonlyArray<string>
    readonly ownerReferences?: ReadonlyArray<OwnerReference>
  }
  readonly [field: string]: unknown
}

export class KubeError extends Data.TaggedError("KubeError")<{
  /** HTTP status code; 0 when no answer came (refused, reset, TLS, timeout). */
  readonly code: number
  /** `Status.reason` of the API (`NotFound`, `AlreadyExists`, `Conflict`, `Forbidden`, `Invalid`…), or `Transport`. */
  readonly reason: string
  /** What was asked: `GET namespaces/x`, never with a body. */
  readonly request: string
  /** The server's own words, without secret content. */
  readonly message: string
  /** The fields that the server objects to, such as `spec.selector`; absent: it names none. */
  readonly fields?: ReadonlyArray<string>
}> {}

export type WatchEvent =
  /** The whole current set, after each (re-)list: what is not in it is gone. */
  | { readonly _tag: "Snapshot"; readonly objects: ReadonlyArray<KubeObject> }
  | { readonly _tag: "Upserted"; readonly object: KubeObject }
  /** With the last object known. A re-created object of another UID arrives as `Deleted` and then `Upserted`. */
  | { readonly _tag: "Deleted"; readonly object: KubeObject }

export interface ListOptions {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Ask for `PartialObjectMetadata` only: always for Secrets that are not ours to read. */
  readonly metadataOnly?: boolean
}

export type Patch =
  | {
      readonly type: "json"
      readonly operations: ReadonlyArray<{
        readonly op: string
        readonly path: string
        readonly value?: unknown
      }>
    }
  | { readonly type: "merge"; readonly patch: Readonly<Record<string, unknown>> }

export interface KubernetesClient {
  /** `None` when there is no such object. */
  readonly get: (
    kind: ResourceKind,
    ref: ObjectRef,
    options?: { readonly metadataOnly?: boolean },
  ) => Effect.Effect<Option.Option<KubeObject>, KubeError>
  /** All objects, page by page. */
  readonly list: (
    kind: ResourceKind,
    options?: ListOptions,
  ) => Effect.Effect<ReadonlyArray<KubeObject>, KubeError>
  /** POST: fails with reason `AlreadyExists` when there is one. */
  readonly create: (kind: ResourceKind, manifest: KubeManifest) => Effect.Effect<KubeObject, KubeError>
  /**
   * Server-side apply with the operator's field manager, taking over conflicting fields. A dry run gives what would
   * become of the object, and writes nothing.
   */
  readonly apply: (
    kind: ResourceKind,
    manifest: KubeManifest,
    options?: { readonly dryRun?: boolean },
  ) => Effect.Effect<KubeObject, KubeError>
  /** A dry run gives what would become of the object, and writes nothing. */
  readonly patch: (
    kind: ResourceKind,
    ref: ObjectRef,
    patch: Patch,
    options?: { readonly subresource?: "status"; readonly dryRun?: boolean },
  ) => Effect.Effect<KubeObject, KubeError>
  /** True when it was there to delete. The UID is a precondition; `Conflict` when the live object is another one. */
  readonly delete: (
    kind: ResourceKind,
    ref: ObjectRef,
    options?: { readonly uid?: string; readonly propagation?: "Background" | "Foreground" },
  ) => Effect.Effect<boolean, KubeError>
  /** A GET of a raw path such as `/readyz` or `/version`: its body. */
  readonly raw: (path: string) => Effect.Effect<string, KubeError>
}

/** The host cluster. */
export class Kubernetes extends Context.Service<
  Kubernetes,
  KubernetesClient & {
    /** List, then watch, for ever: it reconnects and re-lists by itself and only ends by interruption. */
    readonly listWatch: (kind: ResourceKind, options?: ListOptions) => Stream.Stream<WatchEvent>
    /** The operator's own user name, from a SelfSubjectReview. */
    readonly whoAmI: Effect.Effect<string, KubeError>
    /**
     * A client of another cluster, from a kubeconfig's text. Its connections close with the scope. Each request
     * is given up after `timeout` milliseconds (default 10,000).
     */
    readonly connect: (
      kubeconfig: Redacted.Redacted,
      options?: { readonly timeout?: number },
    ) => Effect.Effect<KubernetesClient, KubeError, Scope.Scope>
  }
>()("platform-operator/Kubernetes") {}

// The objects of a vCluster's release against the release as Helm has stored it: which are missing, and which are not
// as they were applied. Compared with what the caches show; the server is asked about an object once a version of it,
// and only where the caches cannot tell: a Secret's content, and what seems to differ but may be the server's own
// notation or default.
import { Effect, Equal, Option, Predicate, Result } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { Helm, type HelmError } from "../../../services/Helm/Helm.ts"
import { recordName, releaseState } from "../../../services/Helm/ReleaseRecord.ts"
import * as Kinds from "../../../services/Kubernetes/Kinds.ts"
import {
  type KubeError,
  type KubeManifest,
  type KubeObject,
  Kubernetes,
  type ResourceKind,
} from "../../../services/Kubernetes/Kubernetes.ts"
import { apiVersion } from "../../../services/Kubernetes/Paths.ts"
import { comparable } from "../../../services/Pulumi/ReleaseDrift.ts"
import type { InstanceView } from "../Views.ts"
import { releaseRef } from "./observeTarget.ts"
import type { LostObject } from "./TargetState.ts"

/** What a release consists of, and is watched: the kinds that the vCluster chart renders with the operator's values. */
export const RELEASE_KINDS: ReadonlyArray<ResourceKind> = [
  Kinds.Secret,
  Kinds.ServiceAccount,
  Kinds.Service,
  Kinds.StatefulSet,
  Kinds.Role,
  Kinds.RoleBinding,
  Kinds.ClusterRole,
  Kinds.ClusterRoleBinding,
]
/** Of those alone. */
export const kindOf = (manifest: KubeManifest): ResourceKind | undefined =>
  RELEASE_KINDS.find((kind) => kind.kind === manifest.kind && apiVersion(kind) === manifest.apiVersion)

/** By which an object of a release is told and remembered: `service/vcluster`. */
export const objectName = (kind: ResourceKind, { metadata }: KubeManifest): string =>
  `${kind.kind.toLowerCase()}/${metadata.name}`

/** The namespace of the release that an object belongs to, as Helm marks each: a cluster-scoped one tells it in no other way. */
export const releaseNamespace = ({ metadata }: KubeObject): string | undefined =>
  metadata.annotations?.["meta.helm.sh/release-namespace"]

/** Without its StatefulSet or a Service a vCluster does not answer. */
const vital: ReadonlySet<ResourceKind> = new Set([Kinds.StatefulSet, Kinds.Service])

/** What an actor remembers of the release that is deployed. */
export interface StoredRelease {
  /** Of the record it was read from: a revision's manifest never changes. */
  readonly recordUID: string
  readonly objects: ReadonlyArray<KubeManifest>
  /** The version of its chart. */
  readonly chartVersion: Option.Option<string>
  /** The version of each object that was looked at last, by `kind/name`, and what came of it. */
  readonly looked: Map<string, { readonly version: string; readonly edited: boolean }>
}

export interface ReleaseLook {
  readonly stored: Option.Option<StoredRelease>
  /** The version of its chart, where it is deployed. */
  readonly chartVersion: Option.Option<string>
  readonly lost: ReadonlyArray<LostObject>
  /** Why the stored release cannot be read. */
  readonly problem: Option.Option<string>
}

/** Whoever adds a key to one of these changes the whole of it. */
const wholeMaps = new Set(["selector", "nodeSelector"])

/** Whether a live value is at least what the manifest says; what somebody added beside it is no edit. */
const holds = (live: unknown, wanted: unknown): boolean => {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(live) &&
      live.length === wanted.length &&
      wanted.every((each, index) => holds(live[index], each))
    )
  }
  if (!Predicate.isObject(wanted)) return live === wanted
  return (
    Predicate.isObject(live) &&
    Object.entries(wanted).every(([key, value]) => {
      const found = Object.hasOwn(live, key) ? Reflect.get(live, key) : undefined
      return wholeMaps.has(key) ? Equal.equals(found, value) : holds(found, value)
    })
  )
}

/** In a dry run the server says what would become of an object: nothing, where only the notation differs. */
const wouldChange = Effect.fnUntraced(function* (
  kind: ResourceKind,
  manifest: KubeManifest,
  live: KubeObject,
): Effect.fn.Return<boolean, KubeError, Kubernetes> {
  const kubernetes = yield* Kubernetes
  const applied = yield* Effect.result(kubernetes.apply(kind, manifest, { dryRun: true }))
  if (Result.isSuccess(applied)) return !Equal.equals(comparable(live), comparable(applied.success))
  // Refused: Helm will be told the same, and says it. Anything else says something of the server alone.
  const { code } = applied.failure
  return code === 403 || code === 422 ? true : yield* applied.failure
})

const isEdited = Effect.fnUntraced(function* (
  kind: ResourceKind,
  manifest: KubeManifest,
  cached: KubeObject,
): Effect.fn.Return<boolean, KubeError, Kubernetes> {
  const kubernetes = yield* Kubernetes
  const live = Kinds.isSecret(kind) ? yield* kubernetes.get(kind, manifest.metadata) : Option.some(cached)
  // Gone since: the watch says so.
  if (Option.isNone(live) || holds(live.value, manifest)) return false
  return yield* wouldChange(kind, manifest, live.value)
})

const lookAt = Effect.fnUntraced(function* (
  stored: StoredRelease,
  view: InstanceView,
  manifest: KubeManifest,
): Effect.fn.Return<Option.Option<LostObject>, KubeError, Kubernetes> {
  const kind = kindOf(manifest)
  if (kind === undefined) return Option.none()
  const object = objectName(kind, manifest)
  const lost = (how: LostObject["how"]) => Option.some({ object, how, vital: vital.has(kind) })
  const cached = view.releaseObjects.find(
    (each) => each.kind === kind.kind && each.metadata.name === manifest.metadata.name,
  )
  if (cached === undefined) return lost("missing")
  const version = `${cached.metadata.uid}.${cached.metadata.resourceVersion}`
  const before = stored.looked.get(object)
  const edited = before?.version === version ? before.edited : yield* isEdited(kind, manifest, cached)
  stored.looked.set(object, { version, edited })
  return edited ? lost("edited") : Option.none()
})

/** Objects that name no namespace are the release's. */
export const placed = (namespace: string, manifest: KubeManifest): KubeManifest =>
  kindOf(manifest)?.namespaced === true
    ? { ...manifest, metadata: { ...manifest.metadata, namespace: manifest.metadata.namespace ?? namespace } }
    : manifest

/** The newest of a release's records, where it says that the release is deployed. */
export const deployedRecord = (
  key: InstanceKey,
  records: ReadonlyArray<KubeObject>,
): Option.Option<{ readonly revision: number; readonly record: KubeObject }> =>
  releaseState(records).pipe(
    Option.filter(({ status }) => status === "deployed"),
    Option.flatMap(({ revision }) => {
      const name = recordName(releaseRef(key), revision)
      const record = Option.fromUndefinedOr(records.find(({ metadata }) => metadata.name === name))
      return Option.map(record, (found) => ({ revision, record: found }))
    }),
  )

/** The deployed release as its record has it; read unless it is known. */
export const readRelease = Effect.fn("Target.readRelease")(function* (
  key: InstanceKey,
  { revision, record }: Option.Option.Value<ReturnType<typeof deployedRecord>>,
  known: Option.Option<StoredRelease>,
): Effect.fn.Return<StoredRelease, KubeError | HelmError, Helm> {
  const helm = yield* Helm
  const release = releaseRef(key)
  const recordUID = record.metadata.uid
  if (Option.isSome(known) && known.value.recordUID === recordUID) return known.value
  const { objects, chartVersion } = yield* helm.stored(release, revision)
  return {
    recordUID,
    objects: objects.map((manifest) => placed(release.namespace, manifest)),
    chartVersion,
    looked: new Map(),
  }
})

/** Looks at each object of the deployed release; what was read and seen before is taken from `known`. */
export const lookAtRelease = Effect.fn("Target.lookAtRelease")(function* (
  key: InstanceKey,
  view: InstanceView,
  known: Option.Option<StoredRelease>,
): Effect.fn.Return<ReleaseLook, KubeError, Helm | Kubernetes> {
  const nothing: ReleaseLook = {
    stored: known,
    chartVersion: Option.none(),
    lost: [],
    problem: Option.none(),
  }
  const deployed = deployedRecord(key, view.releaseSecrets)
  // While Helm is at work, or its release is to be set right first, nothing is compared.
  if (Option.isNone(deployed)) return nothing
  const read = yield* Effect.result(readRelease(key, deployed.value, known))
  if (Result.isFailure(read)) {
    if (read.failure._tag === "KubeError") return yield* read.failure
    return { ...nothing, problem: Option.some(read.failure.message) }
  }
  const stored = read.success
  const lost: Array<LostObject> = []
  for (const manifest of stored.objects) lost.push(...Option.toArray(yield* lookAt(stored, view, manifest)))
  const { chartVersion } = stored
  return { stored: Option.some(stored), chartVersion, lost, problem: Option.none() }
})

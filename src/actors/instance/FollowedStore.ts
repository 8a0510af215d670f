// A cache that is asked past where it is known to be behind: a write of ours that it has not shown in time, or a live read
// that it contradicts. Whoever decided by it would do a thing twice.
import { Effect, Option, type Scope, Stream } from "effect"
import { objectKey } from "../../services/Kubernetes/KnownObjects.ts"
import {
  type KubeError,
  type KubeObject,
  Kubernetes,
  type ListOptions,
  type ObjectRef,
  type ResourceKind,
} from "../../services/Kubernetes/Kubernetes.ts"
import { makeStore, type Store } from "../../services/Kubernetes/Store.ts"
import { PATIENCE } from "../../services/Kubernetes/WriteBarrier.ts"

export interface FollowedStore extends Pick<Store, "list" | "synced" | "changes"> {
  readonly get: (ref: ObjectRef) => Effect.Effect<Option.Option<KubeObject>, KubeError>
  readonly byNamespace: (namespace: string) => Effect.Effect<ReadonlyArray<KubeObject>, KubeError>
  /** All there is, which for many objects is a long answer while the cache is behind. */
  readonly all: Effect.Effect<ReadonlyArray<KubeObject>, KubeError>
  /** As the cache has it, whatever is known of it. */
  readonly cached: Store["get"]
  /** Waits a while until the cache shows what was written; when it does not, the next reads are live. */
  readonly awaitWrite: (written: KubeObject) => Effect.Effect<void>
  /** Waits as long until it shows an object of that name that is so. */
  readonly awaitMade: (ref: ObjectRef, isSo: (object: KubeObject) => boolean) => Effect.Effect<void>
  /** The cache is behind about this object: reads are live until it has caught up. */
  readonly distrust: (ref: ObjectRef) => Effect.Effect<void>
}

/** What is read together: a namespace, or one cluster-scoped object. */
const placeOf = ({ namespace, name }: ObjectRef): string => namespace ?? name

const versions = (objects: ReadonlyArray<KubeObject>): string =>
  objects
    .map(({ metadata: { name, uid, resourceVersion } }) => `${name} ${uid} ${resourceVersion}`)
    .toSorted()
    .join()

/** Of a kind that nobody needs to follow: empty, at once and for good. */
export const nothingFollowed: FollowedStore = {
  list: Effect.succeed([]),
  synced: Effect.void,
  changes: Stream.never,
  get: () => Effect.succeedNone,
  byNamespace: () => Effect.succeed([]),
  all: Effect.succeed([]),
  cached: () => Effect.succeedNone,
  awaitWrite: () => Effect.void,
  awaitMade: () => Effect.void,
  distrust: () => Effect.void,
}

export const makeFollowedStore = Effect.fnUntraced(function* (
  kind: ResourceKind,
  options: ListOptions = {},
): Effect.fn.Return<FollowedStore, never, Kubernetes | Scope.Scope> {
  const kubernetes = yield* Kubernetes
  const store = yield* makeStore(kind, options)
  const behind = new Set<string>()

  const inPlace = (place: string) =>
    kind.namespaced ? store.byNamespace(place) : Effect.map(store.get({ name: place }), Option.toArray)

  const read = Effect.fnUntraced(function* (place: string) {
    const cached = yield* inPlace(place)
    if (!behind.has(place)) return cached
    const where = kind.namespaced ? { namespace: place } : { fieldSelector: `metadata.name=${place}` }
    const live = yield* kubernetes.list(kind, { ...options, ...where })
    if (versions(live) === versions(cached)) behind.delete(place)
    return live
  })

  const all = Effect.gen(function* () {
    const cached = yield* store.list
    if (behind.size === 0) return cached
    const live = yield* kubernetes.list(kind, options)
    if (versions(live) === versions(cached)) behind.clear()
    return live
  })

  const distrust = (ref: ObjectRef) => Effect.sync(() => void behind.add(placeOf(ref)))
  return {
    list: store.list,
    synced: store.synced,
    changes: store.changes,
    cached: store.get,
    get: (ref) =>
      Effect.map(read(placeOf(ref)), (objects) =>
        Option.fromUndefinedOr(objects.find(({ metadata }) => metadata.name === ref.name)),
      ),
    byNamespace: read,
    all,
    awaitWrite: (written) =>
      store.wrote(written).pipe(
        Effect.andThen(store.settled(written.metadata)),
        Effect.flatMap((shown) => (shown ? Effect.void : distrust(written.metadata))),
      ),
    awaitMade: Effect.fnUntraced(function* (ref, isSo) {
      if (Option.exists(yield* store.get(ref), isSo)) return
      const shown = yield* store.changes.pipe(
        Stream.filter(
          ({ _tag, object }) =>
            _tag === "Upserted" && objectKey(object) === objectKey({ metadata: ref }) && isSo(object),
        ),
        Stream.runHead,
        Effect.timeoutOption(PATIENCE),
      )
      if (Option.isNone(shown)) yield* distrust(ref)
    }),
    distrust,
  }
})

// A cache of one kind, fed by a list-watch.
import { Cause, Deferred, Effect, Option, PubSub, Schedule, type Scope, Semaphore, Stream } from "effect"
import { resourceName } from "./Kinds.ts"
import { objectKey } from "./KnownObjects.ts"
import {
  type KubeObject,
  Kubernetes,
  type ListOptions,
  type ObjectRef,
  type ResourceKind,
  type WatchEvent,
} from "./Kubernetes.ts"
import { makeWriteBarrier } from "./WriteBarrier.ts"

export type StoreChange =
  | { readonly _tag: "Upserted"; readonly object: KubeObject; readonly previous: Option.Option<KubeObject> }
  /** With the last state known. An object of another UID under the same name is `Deleted`, then `Upserted`. */
  | { readonly _tag: "Deleted"; readonly object: KubeObject }

export interface Store {
  readonly get: (ref: ObjectRef) => Effect.Effect<Option.Option<KubeObject>>
  readonly list: Effect.Effect<ReadonlyArray<KubeObject>>
  readonly byNamespace: (namespace: string) => Effect.Effect<ReadonlyArray<KubeObject>>
  /** Waits for the first complete list. Before it, an object that is not here may exist all the same. */
  readonly synced: Effect.Effect<void>
  /** What is here now, as `Upserted`, then every change; a list that shows nothing new is no change. Never ends. */
  readonly changes: Stream.Stream<StoreChange>
  /** Remembers the answer to a write of ours. Only for objects that this store's selectors match. */
  readonly wrote: (written: KubeObject) => Effect.Effect<void>
  /**
   * Waits until the store has shown the last remembered write of that key, at most five seconds. False: it has not,
   * so read live (see `WriteBarrier.ts` for the rule).
   */
  readonly settled: (ref: ObjectRef) => Effect.Effect<boolean>
}

const keyOf = (ref: ObjectRef): string => objectKey({ metadata: ref })

/** The objects of a store, by namespace and name. */
const makeObjects = () => {
  const namespaces = new Map<string, Map<string, KubeObject>>()
  const get = ({ namespace = "", name }: ObjectRef) => namespaces.get(namespace)?.get(name)
  const inNamespace = (namespace: string) => [...(namespaces.get(namespace)?.values() ?? [])]
  const all = () => [...namespaces.keys()].flatMap(inNamespace)

  const remove = (last: KubeObject): ReadonlyArray<StoreChange> => {
    const { namespace = "", name, uid } = last.metadata
    const names = namespaces.get(namespace)
    if (names?.get(name)?.metadata.uid !== uid) return []
    names.delete(name)
    if (names.size === 0) namespaces.delete(namespace)
    return [{ _tag: "Deleted", object: last }]
  }

  const put = (object: KubeObject): ReadonlyArray<StoreChange> => {
    const { namespace = "", name, uid, resourceVersion } = object.metadata
    const held = get(object.metadata)
    if (held?.metadata.uid === uid && held.metadata.resourceVersion === resourceVersion) return []
    const successor = held !== undefined && held.metadata.uid !== uid
    const endings = successor ? remove(held) : []
    const names = namespaces.get(namespace) ?? new Map<string, KubeObject>()
    namespaces.set(namespace, names.set(name, object))
    const previous = successor ? Option.none() : Option.fromUndefinedOr(held)
    return [...endings, { _tag: "Upserted", object, previous }]
  }

  const apply = (event: WatchEvent): ReadonlyArray<StoreChange> => {
    switch (event._tag) {
      case "Deleted":
        return remove(event.object)
      case "Upserted":
        return put(event.object)
      case "Snapshot": {
        const keys = new Set(event.objects.map(objectKey))
        const vanished = all().filter((object) => !keys.has(objectKey(object)))
        return [...vanished.flatMap(remove), ...event.objects.flatMap(put)]
      }
    }
  }

  return { get, inNamespace, all, apply }
}

/** A store of a kind, which follows the cluster until the scope closes. Secrets are held as metadata only. */
export const makeStore = Effect.fn("Store.make")(function* (
  kind: ResourceKind,
  options?: ListOptions,
): Effect.fn.Return<Store, never, Scope.Scope | Kubernetes> {
  const kubernetes = yield* Kubernetes
  const objects = makeObjects()
  const barrier = makeWriteBarrier()
  const synced = yield* Deferred.make<void>()
  const published = yield* PubSub.unbounded<StoreChange>()
  const alone = yield* Semaphore.make(1)

  const take = (event: WatchEvent) =>
    Effect.gen(function* () {
      for (const change of objects.apply(event)) {
        const key = objectKey(change.object)
        yield* change._tag === "Deleted"
          ? barrier.ended(key, change.object)
          : barrier.observed(key, change.object)
        yield* PubSub.publish(published, change)
      }
      if (event._tag === "Snapshot") yield* Deferred.succeed(synced, undefined)
    }).pipe(alone.withPermits(1))

  yield* kubernetes.listWatch(kind, options).pipe(
    Stream.runForEach(take),
    Effect.sandbox,
    Effect.tapError((cause: Cause.Cause<never>) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.logError("list-watch crashed", cause).pipe(
            Effect.annotateLogs({ resource: resourceName(kind) }),
          ),
    ),
    Effect.retry({
      schedule: Schedule.spaced("1 second"),
      while: (cause) => !Cause.hasInterruptsOnly(cause),
    }),
    Effect.forkScoped,
  )

  return {
    get: (ref) => Effect.sync(() => Option.fromUndefinedOr(objects.get(ref))),
    list: Effect.sync(objects.all),
    byNamespace: (namespace) => Effect.sync(() => objects.inNamespace(namespace)),
    synced: Deferred.await(synced),
    changes: Stream.unwrap(
      Effect.gen(function* () {
        const subscription = yield* PubSub.subscribe(published)
        const present = objects
          .all()
          .map((object): StoreChange => ({ _tag: "Upserted", object, previous: Option.none() }))
        return Stream.concat(Stream.fromIterable(present), Stream.fromSubscription(subscription))
      }).pipe(alone.withPermits(1)),
    ),
    wrote: (written) => barrier.wrote(objectKey(written), written),
    settled: (ref) => barrier.settled(keyOf(ref)),
  }
})

// An API server in memory, as far as the actors rely on one: versions, generations and UIDs, preconditions,
// finalizers, the garbage of owners that are gone, namespaces that refuse what is new while they end. What changes
// is told to whoever watches. Controllers are in Controllers.ts; a vCluster in Vcluster.ts.
import { Clock, DateTime, Duration, Effect, Option, Predicate, PubSub, Stream } from "effect"
import { formatTime } from "../../../src/schema/Time.ts"
import { isSecret, Namespace, PlatformInstance } from "../../../src/services/Kubernetes/Kinds.ts"
import {
  KubeError,
  type KubeManifest,
  type KubeObject,
  type Kubernetes,
  type ListOptions,
  type ObjectRef,
  type Patch,
  type ResourceKind,
  type WatchEvent,
} from "../../../src/services/Kubernetes/Kubernetes.ts"
import { decodeObject } from "../../../src/services/Kubernetes/Objects.ts"

export interface Change {
  readonly kind: ResourceKind
  readonly object: KubeObject
  readonly deleted: boolean
}
/** A change as the watches tell it. */
interface Told extends Change {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly before: KubeObject | undefined
}

const pathOf = (kind: ResourceKind, ref: ObjectRef) =>
  `${kind.plural}/${ref.namespace === undefined ? "" : `${ref.namespace}/`}${ref.name}`

const failure = (code: number, reason: string, request: string) =>
  new KubeError({ code, reason, request, message: `${request}: ${reason}` })

/** JSON Merge Patch, RFC 7386. */
const merge = (target: unknown, patch: unknown): unknown => {
  if (!Predicate.isObject(patch)) return patch
  const result: Record<string, unknown> = Predicate.isObject(target) ? { ...target } : {}
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete result[field]
    else result[field] = merge(result[field], value)
  }
  return result
}

const fieldOf = (object: KubeObject, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>(
      (value, field) => (Predicate.isObject(value) ? Reflect.get(value, field) : undefined),
      object,
    )

const matches = (object: KubeObject, { namespace, labelSelector, fieldSelector }: ListOptions): boolean => {
  const labels = object.metadata.labels ?? {}
  const wanted = (labelSelector ?? "").split(",").filter((term) => term !== "")
  return (
    (namespace === undefined || object.metadata.namespace === namespace) &&
    wanted.every((term) => {
      const [label = "", value] = term.split("=")
      return value === undefined ? label in labels : labels[label] === value
    }) &&
    (fieldSelector ?? "").split(",").every((term) => {
      const [path = "", value] = term.split("=")
      return term === "" || fieldOf(object, path) === value
    })
  )
}

/** A Secret that nobody asked for by name shows its metadata alone. */
const shown = (kind: ResourceKind, object: KubeObject, metadataOnly: boolean | undefined): KubeObject =>
  metadataOnly === true || (isSecret(kind) && metadataOnly !== false)
    ? { apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata }
    : object

export const makeCluster = Effect.gen(function* () {
  const objects = new Map<string, { readonly kind: ResourceKind; readonly object: KubeObject }>()
  const changes = yield* PubSub.unbounded<Told>()
  const clock = yield* Clock.clockWith(Effect.succeed)
  /** How far the watches of a kind are behind. */
  const lag = new Map<ResourceKind, Duration.Duration>()
  const listeners: Array<(change: Change) => void> = []
  /** Every request so far, watches left out. */
  const requests: Array<string> = []
  /** Every write that was asked for, `PATCH platforminstances/team-a/one status` and the like. */
  const writes: Array<string> = []
  /**
   * Requests of which these are the beginning are refused, each once an entry. The reason `Defect` kills the caller
   * before the server has done what was asked, `DefectAfter` when it has.
   */
  const refusals: Array<{ readonly request: string; readonly code: number; readonly reason: string }> = []
  /** What happens in the moment before a request arrives of which this is the beginning, once an entry. */
  const meanwhile: Array<{ readonly request: string; readonly act: () => void }> = []
  /** Every deletion that was asked for, with what came along. */
  const deletions: Array<{
    readonly request: string
    readonly options: Parameters<Kubernetes["Service"]["delete"]>[2]
  }> = []
  /** Every request that was answered with an error, and which. */
  const errors: Array<string> = []
  let counter = 0

  const publish = (change: Change, before?: KubeObject) => {
    PubSub.publishUnsafe(changes, { ...change, before, at: clock.currentTimeMillisUnsafe() })
    for (const listener of listeners) listener(change)
  }

  const remove = (kind: ResourceKind, object: KubeObject): void => {
    objects.delete(pathOf(kind, object.metadata))
    publish({ kind, object, deleted: true })
    // The garbage collector: what this one owned goes, too.
    for (const each of [...objects.values()]) {
      const owners = each.object.metadata.ownerReferences ?? []
      if (owners.some(({ uid }) => uid === object.metadata.uid)) end(each.kind, each.object)
    }
  }

  /** Stores a new state; the server counts versions and generations, and ends what nothing holds any more. */
  const put = (kind: ResourceKind, before: KubeObject | undefined, next: KubeObject): KubeObject => {
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(next)) return before
    const generation = before?.metadata.generation ?? 0
    const specified = JSON.stringify(before?.spec) !== JSON.stringify(next.spec)
    const ending = before?.metadata.deletionTimestamp !== next.metadata.deletionTimestamp
    const object: KubeObject = {
      ...next,
      metadata: {
        ...next.metadata,
        resourceVersion: String(++counter),
        generation: before === undefined || specified || ending ? generation + 1 : generation,
      },
    }
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0) {
      remove(kind, object)
      return object
    }
    objects.set(pathOf(kind, object.metadata), { kind, object })
    publish({ kind, object, deleted: false }, before)
    return object
  }

  const end = (kind: ResourceKind, object: KubeObject): KubeObject => {
    if (object.metadata.deletionTimestamp !== undefined) return object
    const deletionTimestamp = "2026-11-03T12:00:00Z"
    // A namespace is held by its controller until it is empty.
    const finalizers = kind === Namespace ? ["kubernetes"] : object.metadata.finalizers
    const metadata = {
      ...object.metadata,
      deletionTimestamp,
      ...(finalizers === undefined ? {} : { finalizers }),
    }
    return put(kind, object, { ...object, metadata })
  }

  const find = (kind: ResourceKind, ref: ObjectRef) => objects.get(pathOf(kind, ref))?.object

  const create = (kind: ResourceKind, manifest: KubeManifest): KubeObject => {
    const { name, namespace, uid: _, ...metadata } = manifest.metadata
    const ref = { name, ...(namespace === undefined ? {} : { namespace }) }
    const request = `POST ${pathOf(kind, ref)}`
    if (find(kind, ref) !== undefined) throw failure(409, "AlreadyExists", request)
    if (namespace !== undefined) {
      const home = find(Namespace, { name: namespace })
      if (home === undefined) throw failure(404, "NotFound", request)
      if (home.metadata.deletionTimestamp !== undefined) throw failure(403, "Forbidden", request)
    }
    return put(kind, undefined, {
      ...manifest,
      metadata: {
        ...metadata,
        ...ref,
        uid: `uid-${++counter}`,
        resourceVersion: "0",
        creationTimestamp: formatTime(DateTime.makeUnsafe(clock.currentTimeMillisUnsafe())),
      },
    })
  }

  const apply = (kind: ResourceKind, manifest: KubeManifest, dryRun = false): KubeObject => {
    const before = find(kind, manifest.metadata)
    const ports = JSON.stringify(manifest).matchAll(/"nodePort":(\d+)/g)
    if ([...ports].some(([, port]) => Number(port) < 30_000))
      throw failure(
        422,
        "Invalid",
        `APPLY ${pathOf(kind, manifest.metadata)}: provided port is not in the valid range. The range of valid ports is 30000-32767`,
      )
    if (before === undefined && dryRun)
      return {
        ...manifest,
        metadata: { ...manifest.metadata, uid: "dry", resourceVersion: "0", creationTimestamp: "" },
      }
    if (before === undefined) return create(kind, manifest)
    if (manifest.metadata.uid !== undefined && manifest.metadata.uid !== before.metadata.uid)
      throw failure(409, "Conflict", `APPLY ${pathOf(kind, manifest.metadata)}`)
    const { labels, annotations } = before.metadata
    const metadata = {
      ...before.metadata,
      ...manifest.metadata,
      ...(labels === undefined ? {} : { labels: { ...labels, ...manifest.metadata.labels } }),
      ...(annotations === undefined
        ? {}
        : { annotations: { ...annotations, ...manifest.metadata.annotations } }),
    }
    const next = { ...before, ...manifest, metadata }
    return dryRun ? next : put(kind, before, next)
  }

  const patch = (
    kind: ResourceKind,
    ref: ObjectRef,
    change: Patch,
    status: boolean,
    dryRun = false,
  ): KubeObject => {
    const before = find(kind, ref)
    const request = `PATCH ${pathOf(kind, ref)}${status ? " status" : ""}`
    if (before === undefined) throw failure(404, "NotFound", request)
    if (change.type === "json") {
      const conflict = change.operations.some(
        ({ op, path, value }) => op === "test" && path === "/metadata/uid" && value !== before.metadata.uid,
      )
      if (conflict) throw failure(422, "Invalid", request)
      const written = change.operations.find(({ op, path }) => op === "add" && path === "/status")
      if (!status || written === undefined) throw new Error(`the cluster cannot do this: ${request}`)
      return put(kind, before, { ...before, status: written.value })
    }
    const metadata = change.patch.metadata
    if (Predicate.isObject(metadata)) {
      for (const [field, live] of [
        ["uid", before.metadata.uid],
        ["resourceVersion", before.metadata.resourceVersion],
      ] as const) {
        if (Object.hasOwn(metadata, field) && Reflect.get(metadata, field) !== live)
          throw failure(409, "Conflict", request)
      }
    }
    const next = Option.getOrThrow(decodeObject(kind, merge(before, change.patch)))
    return dryRun ? next : put(kind, before, next)
  }

  const remove_ = (kind: ResourceKind, ref: ObjectRef, uid: string | undefined): boolean => {
    const before = find(kind, ref)
    if (before === undefined) return false
    if (uid !== undefined && uid !== before.metadata.uid)
      throw failure(409, "Conflict", `DELETE ${pathOf(kind, ref)}`)
    end(kind, before)
    return true
  }

  const asked = <A>(request: string, run: () => A): Effect.Effect<A, KubeError> =>
    Effect.suspend(() => {
      requests.push(request)
      if (!request.startsWith("GET")) writes.push(request)
      const before = meanwhile.findIndex((each) => request.startsWith(each.request))
      if (before >= 0) for (const { act } of meanwhile.splice(before, 1)) act()
      const refusal = refusals.findIndex((each) => request.startsWith(each.request))
      const [refused] = refusal < 0 ? [] : refusals.splice(refusal, 1)
      if (refused?.reason === "DefectAfter") run()
      if (refused?.reason.startsWith("Defect")) return Effect.die(new Error(`a defect at ${request}`))
      if (refused !== undefined) return Effect.fail(failure(refused.code, refused.reason, request))
      try {
        return Effect.succeed(run())
      } catch (error) {
        if (!(error instanceof KubeError)) return Effect.die(error)
        errors.push(`${error.reason} ${request}`)
        return Effect.fail(error)
      }
    })

  const all = (kind: ResourceKind, options: ListOptions = {}) =>
    [...objects.values()]
      .filter((each) => each.kind === kind && matches(each.object, options))
      .map(({ object }) => object)

  const arrival = (kind: ResourceKind, at: number) =>
    Effect.suspend(() => {
      const behind = at + Duration.toMillis(lag.get(kind) ?? Duration.zero) - clock.currentTimeMillisUnsafe()
      return behind > 0 ? Effect.sleep(Duration.millis(behind)) : Effect.void
    })

  const client = {
    get: (kind, ref, options) =>
      asked(`GET ${pathOf(kind, ref)}`, () =>
        Option.map(Option.fromUndefinedOr(find(kind, ref)), (object) =>
          shown(kind, object, options?.metadataOnly ?? false),
        ),
      ),
    list: (kind, options) =>
      asked(`GET ${kind.plural}`, () =>
        all(kind, options).map((object) => shown(kind, object, options?.metadataOnly)),
      ),
    create: (kind, manifest) =>
      asked(`POST ${pathOf(kind, manifest.metadata)}`, () => create(kind, manifest)),
    apply: (kind, manifest, options) =>
      asked(`${options?.dryRun === true ? "GET dry run " : "APPLY "}${pathOf(kind, manifest.metadata)}`, () =>
        apply(kind, manifest, options?.dryRun),
      ),
    patch: (kind, ref, change, options) =>
      asked(
        `${options?.dryRun === true ? "GET dry run " : "PATCH "}${pathOf(kind, ref)}${options?.subresource === undefined ? "" : " status"}`,
        () => patch(kind, ref, change, options?.subresource !== undefined, options?.dryRun),
      ),
    delete: (kind, ref, options) =>
      asked(`DELETE ${pathOf(kind, ref)}`, () => {
        deletions.push({ request: pathOf(kind, ref), options })
        return remove_(kind, ref, options?.uid)
      }),
    raw: (path) => asked(`GET ${path}`, () => "ok"),
    whoAmI: Effect.succeed("system:serviceaccount:platform-operator:platform-operator"),
    listWatch: (kind, options = {}) =>
      Stream.unwrap(
        Effect.map(PubSub.subscribe(changes), (subscription) => {
          const present = all(kind, options).map((object) => shown(kind, object, options.metadataOnly))
          const snapshot: WatchEvent = { _tag: "Snapshot", objects: present }
          return Stream.concat(
            Stream.succeed(snapshot),
            Stream.fromSubscription(subscription).pipe(
              Stream.filter((change) => change.kind === kind),
              Stream.tap(({ at }) => arrival(kind, at)),
              Stream.flatMap((change): Stream.Stream<WatchEvent> => {
                const object = shown(kind, change.object, options.metadataOnly)
                if (matches(change.object, options))
                  return Stream.succeed({ _tag: change.deleted ? "Deleted" : "Upserted", object })
                // What is not selected any more is gone as far as this watch goes.
                return change.before !== undefined && matches(change.before, options)
                  ? Stream.succeed({ _tag: "Deleted", object })
                  : Stream.empty
              }),
            ),
          )
        }),
      ),
  } satisfies Omit<Kubernetes["Service"], "connect">

  return {
    client,
    requests,
    writes,
    deletions,
    refusals,
    meanwhile,
    errors,
    lag,
    listeners,
    // What a person, a controller or another program does, past the operator's client.
    all,
    find,
    create,
    apply,
    patch,
    put,
    end: (kind: ResourceKind, ref: ObjectRef) => void remove_(kind, ref, undefined),
    remove,
    /** Writes to the instance's status so far. */
    statusWrites: () => writes.filter((each) => each.startsWith("PATCH") && each.endsWith(" status")).length,
    instance: (ref: ObjectRef) => find(PlatformInstance, ref),
  }
})
export type Cluster = Effect.Success<typeof makeCluster>

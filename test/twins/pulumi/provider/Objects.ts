// The Kubernetes provider's work on one object, over an API server: server-side apply under a field manager of its own,
// then waiting. Words and waits are those of provider 4.25.0.
import { Context, Data, Deferred, Duration, Effect, Option, Predicate, Random } from "effect"
import type {
  KubeManifest,
  KubeObject,
  ObjectRef,
  ResourceKind,
} from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { type ApiClient, ApiStatus } from "../../kubernetes/ApiServer.ts"
import { at, equal, isJson, type Json, objectOf } from "../../kubernetes/Json.ts"
import type { Properties } from "../Snapshot.ts"
import { Secret, unwrapped } from "../sdk/Output.ts"
import type { Volume } from "../Volume.ts"
import { kindOf } from "./Kinds.ts"
import { takeOver } from "./Ownership.ts"
import { lacking } from "./Readiness.ts"

export interface Made {
  readonly id: string
  readonly inputs: Properties
  readonly outputs: Properties
}

export class ProviderError extends Data.TaggedError("ProviderError")<{
  readonly message: string
  /** The object is there all the same, and goes into the state with what it lacks. */
  readonly partial?: Made & { readonly lacks: string }
  /** The target gave no answer at all. */
  readonly unreachable?: true
}> {}

/** Of one provider resource: how it reaches the target. */
export interface Connection {
  readonly kubeconfig: string
  readonly open: (kubeconfig: string, manager: string) => ApiClient
  /** `PULUMI_K8S_ENABLE_PATCH_FORCE` of its environment. */
  readonly patchForce: boolean
  /** Charts lie there. */
  readonly volume: Volume
  /** Completes when the engine is told to stop. */
  readonly cancelled: Deferred.Deferred<void>
}

const unreachable = (status: ApiStatus) =>
  `configured Kubernetes cluster is unreachable: unable to load schema information from the API server: ${status.message}`

const conflictHelp =
  "Server-Side Apply field conflict detected. See https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/#handle-field-conflicts-on-existing-resources for troubleshooting help."

const conflict = (manager: string, status: ApiStatus): string =>
  `${conflictHelp}\nThe resource managed by field manager "${manager}" had an apply conflict: ${status.message}`

const failureOf = (status: ApiStatus, manager?: string): ProviderError => {
  if (status.code === 0) return new ProviderError({ message: unreachable(status), unreachable: true })
  const isConflict = manager !== undefined && status.reason === "Conflict"
  return new ProviderError({ message: isConflict ? conflict(manager, status) : status.message })
}

/** How long a client tries before it says so: a refusal comes at once, silence is two TLS handshakes of 10 s. */
const patience = (status: ApiStatus) =>
  /time[d -]?out|deadline/i.test(`${status.reason} ${status.message}`) ? 20_500 : 100

/** The way there and back of a request. Nothing: whoever asks counts it himself. */
export const RoundTrip = Context.Reference<Duration.Duration>("test/pulumi/RoundTrip", {
  defaultValue: () => Duration.millis(20),
})

const wayThereAndBack = Effect.flatMap(RoundTrip, (time) =>
  Duration.isZero(time) ? Effect.void : Effect.sleep(time),
)

/** One request, or a few that belong together; `manager` is whose an apply is. */
export const request = <A>(ask: () => A, manager?: string): Effect.Effect<A, ProviderError> =>
  wayThereAndBack.pipe(
    Effect.andThen(
      Effect.try({
        try: ask,
        catch: (error) => {
          if (error instanceof ApiStatus) return error
          throw error
        },
      }),
    ),
    Effect.catch((status) =>
      Effect.sleep(status.code === 0 ? patience(status) : 0).pipe(
        Effect.andThen(Effect.fail(failureOf(status, manager))),
      ),
    ),
  )

/** What every call begins with: the API's schema. Fails when the target does not answer. */
export const reach = (connection: Connection) =>
  request(() =>
    connection.open(connection.kubeconfig, "pulumi-kubernetes").list(
      {
        group: "",
        version: "v1",
        plural: "namespaces",
        kind: "Namespace",
        namespaced: false,
      },
      { fieldSelector: "metadata.name=kube-system" },
    ),
  )

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const base64 = (value: unknown) => Buffer.from(text(value), "utf8").toString("base64")

/** As the provider takes inputs: `stringData` becomes `data`, and what a Secret holds is secret. */
export const checked = (type: string, inputs: Properties): Properties => {
  if (type !== "kubernetes:core/v1:Secret") return inputs
  const { stringData, data, ...rest } = inputs
  const plain = unwrapped(stringData)
  const encoded = Predicate.isObject(plain)
    ? Object.fromEntries(Object.entries(plain).map(([key, value]) => [key, base64(value)]))
    : {}
  const given = unwrapped(data)
  return { ...rest, data: new Secret({ ...(Predicate.isObject(given) ? given : {}), ...encoded }) }
}

const nameOf = (inputs: Properties) => text(at(inputs, "metadata", "name"))
const namespaceOf = (inputs: Properties) => text(at(inputs, "metadata", "namespace"))

const refOf = (inputs: Properties, kind: ResourceKind): ObjectRef => ({
  name: nameOf(inputs),
  ...(kind.namespaced ? { namespace: namespaceOf(inputs) || "default" } : {}),
})

/** Annotations that are none are no field that somebody owns (seen: no conflict over them). */
const withoutEmpty = (metadata: Json): Json =>
  Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => !isJson(value) || Object.keys(value).length > 0),
  )

const manifestOf = (inputs: Properties, kind: ResourceKind): KubeManifest => {
  const plain = unwrapped(inputs)
  const metadata = at(plain, "metadata")
  const namespace = namespaceOf(inputs) || "default"
  return {
    ...(Predicate.isObject(plain) ? plain : {}),
    apiVersion: text(at(plain, "apiVersion")),
    kind: kind.kind,
    metadata: {
      ...withoutEmpty(objectOf(metadata)),
      name: nameOf(inputs),
      ...(kind.namespaced ? { namespace } : {}),
    },
  }
}

/** The field manager an object was made by; it stays the same for its life. */
const managerOf = (outputs: Properties): string => text(outputs.__fieldManager) || "pulumi-kubernetes"

const newManager = Effect.map(
  Random.nextIntBetween(0x10000000, 0xffffffff),
  (number) => `pulumi-kubernetes-${number.toString(16)}`,
)

/** What of a live object goes into the state. */
const outputsOf = (object: KubeObject, manager: string): Properties => {
  const { metadata, status: _, data, ...rest } = object
  const { name, namespace, uid, labels, annotations } = metadata
  const secret = object.kind === "Secret" && data !== undefined ? { data: new Secret(data) } : {}
  return {
    ...rest,
    ...(data === undefined ? {} : { data }),
    ...secret,
    metadata: { name, namespace, uid, labels, annotations },
    __fieldManager: manager,
  }
}

const idOf = (object: KubeObject) =>
  object.metadata.namespace === undefined
    ? object.metadata.name
    : `${object.metadata.namespace}/${object.metadata.name}`

const requireKind = (client: ApiClient, inputs: Properties): ResourceKind => {
  const [apiVersion, kind] = [text(inputs.apiVersion), text(inputs.kind)]
  const found = kindOf(client, apiVersion, kind)
  if (found !== undefined) return found
  throw new ApiStatus(404, "NotFound", `no matches for kind "${kind}" in version "${apiVersion}"`)
}

const forced = (connection: Connection, inputs: Properties) =>
  connection.patchForce || at(inputs, "metadata", "annotations", "pulumi.com/patchForce") === "true"

/** Default of the provider for Deployments and Services, in looks of half a second. */
const looks = 10 * 60 * 2

/** Whose write it is, and of which kind. */
interface Writing {
  readonly urn: string
  readonly verb: "created" | "updated"
}

const unready = (id: string, why: string) =>
  `the Kubernetes API server reported that "${id}" failed to fully initialize or become live: ${why}`

/** Waits until it lacks nothing, it takes too long, or the engine stops. */
const awaitReady = Effect.fnUntraced(function* (
  connection: Connection,
  kind: ResourceKind,
  made: Made,
  { urn, verb }: Writing,
) {
  const manager = managerOf(made.outputs)
  const ref = refOf(made.inputs, kind)
  const look = request(() => {
    const client = connection.open(connection.kubeconfig, manager)
    const object = client.get(kind, ref)
    return object === undefined
      ? { object, lacks: Option.some(`'${ref.name}' is gone`) }
      : { object, lacks: lacking(client, object) }
  })
  let last = made
  for (let n = 0; n < looks; n++) {
    const { object, lacks } = yield* look
    if (object !== undefined) last = { ...made, outputs: outputsOf(object, manager) }
    if (Option.isNone(lacks)) return last
    const stopped = yield* Deferred.await(connection.cancelled).pipe(Effect.timeoutOption("500 millis"))
    if (Option.isSome(stopped) || n === looks - 1) {
      const why = Option.isSome(stopped) ? `Resource operation was cancelled for "${ref.name}"` : lacks.value
      // After a cancelled update it cannot read the object any more, and what is in the state stays (read in 4.25.0).
      if (Option.isSome(stopped) && verb === "updated") {
        return yield* new ProviderError({
          message: `update of resource "${urn}" failed: ${why}\nunable to get cluster state: client rate limiter Wait returned an error: context canceled`,
        })
      }
      const message =
        verb === "created"
          ? `resource "${urn}" was successfully created, but the Kubernetes API server reported that it failed to fully initialize or become live: ${why}`
          : unready(last.id, why)
      return yield* new ProviderError({ message, partial: { ...last, lacks: why } })
    }
  }
  return last
})

const write = Effect.fnUntraced(function* (
  connection: Connection,
  inputs: Properties,
  manager: string,
  writing: Writing,
) {
  const { kind, object } = yield* request(() => {
    const client = connection.open(connection.kubeconfig, manager)
    const kind = requireKind(client, inputs)
    return {
      kind,
      object: client.apply(kind, manifestOf(inputs, kind), { force: forced(connection, inputs) }),
    }
  }, manager)
  const made: Made = { id: idOf(object), inputs, outputs: outputsOf(object, manager) }
  return yield* awaitReady(connection, kind, made, writing)
})

/** Makes it, or takes over what is there already where nobody else's fields are in the way (or by force). */
export const createObject = Effect.fnUntraced(function* (
  connection: Connection,
  urn: string,
  inputs: Properties,
) {
  return yield* write(connection, inputs, yield* newManager, { urn, verb: "created" }).pipe(
    Effect.mapError((error) =>
      error.partial !== undefined || error.unreachable
        ? error
        : new ProviderError({
            message: `resource "${urn}" was not successfully created by the Kubernetes API server: ${error.message}`,
          }),
    ),
  )
})

/** An update that is refused counts as one that came through and is not ready: it is tried again (read in 4.25.0). */
const refused = Effect.fnUntraced(function* (
  connection: Connection,
  urn: string,
  inputs: Properties,
  manager: string,
  error: ProviderError,
) {
  if (error.partial !== undefined || error.unreachable || (yield* Deferred.isDone(connection.cancelled))) {
    return yield* error
  }
  const live = yield* request(() => {
    const client = connection.open(connection.kubeconfig, manager)
    const kind = requireKind(client, inputs)
    return client.get(kind, refOf(inputs, kind))
  })
  if (live === undefined) {
    return yield* new ProviderError({ message: `update of resource "${urn}" failed: ${error.message}` })
  }
  const made: Made = { id: idOf(live), inputs, outputs: outputsOf(live, manager) }
  const message = unready(made.id, error.message)
  return yield* new ProviderError({ message, partial: { ...made, lacks: message } })
})

export const updateObject = Effect.fnUntraced(function* (
  connection: Connection,
  urn: string,
  inputs: Properties,
  outputs: Properties,
) {
  const manager = managerOf(outputs)
  yield* request(() => {
    const client = connection.open(connection.kubeconfig, manager)
    const kind = requireKind(client, inputs)
    takeOver(client, kind, refOf(inputs, kind), manager)
  })
  return yield* write(connection, inputs, manager, { urn, verb: "updated" }).pipe(
    Effect.catch((error) => refused(connection, urn, inputs, manager, error)),
  )
})

/** Deletes and waits until it is gone. What is not there is gone. */
export const deleteObject = Effect.fnUntraced(function* (connection: Connection, inputs: Properties) {
  const client = () => connection.open(connection.kubeconfig, "pulumi-kubernetes")
  const kind = yield* request(() => kindOf(client(), text(inputs.apiVersion), text(inputs.kind)))
  if (kind === undefined) return
  yield* request(() => client().delete(kind, refOf(inputs, kind), { propagation: "Foreground" }))
  for (let n = 0; n < looks; n++) {
    if ((yield* request(() => client().get(kind, refOf(inputs, kind)))) === undefined) return
    const stopped = yield* Deferred.await(connection.cancelled).pipe(Effect.timeoutOption("500 millis"))
    if (Option.isSome(stopped)) break
  }
  return yield* new ProviderError({
    message: `'${nameOf(inputs)}' timed out waiting to be deleted`,
  })
})

/** What an object says where the program has said something. */
const projected = (live: unknown, said: unknown): unknown => {
  const inner = said instanceof Secret ? said.value : said
  if (Array.isArray(inner)) {
    return Array.isArray(live) && live.length === inner.length
      ? live.map((one, index) => projected(one, inner[index]))
      : live
  }
  if (!Predicate.isObject(inner)) return live
  return Object.fromEntries(
    Object.entries(inner).flatMap(([key, value]) => {
      const found = projected(at(live, key), value)
      return found === undefined ? [] : [[key, found]]
    }),
  )
}

/** Marks again as secret what was marked before. */
const marked = (value: unknown, said: unknown): unknown => {
  if (said instanceof Secret) return new Secret(value)
  if (!Predicate.isObject(value) || !Predicate.isObject(said) || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, marked(inner, at(said, key))]))
}

/** The object as it is; none when it is gone. */
export const readObject = Effect.fnUntraced(function* (
  connection: Connection,
  inputs: Properties,
  outputs: Properties,
) {
  const manager = managerOf(outputs)
  const object = yield* request(() => {
    const client = connection.open(connection.kubeconfig, manager)
    const kind = kindOf(client, text(inputs.apiVersion), text(inputs.kind))
    if (kind === undefined) return undefined
    return client.get(kind, refOf(inputs, kind))
  })
  if (object === undefined) return Option.none()
  const found = projected(object, inputs)
  const changed = !equal(found, unwrapped(inputs))
  const seen = changed ? marked(found, inputs) : inputs
  const made: Made = {
    id: idOf(object),
    inputs: Predicate.isObject(seen) ? { ...seen } : inputs,
    outputs: outputsOf(object, manager),
  }
  return Option.some({
    made,
    lacks: yield* request(() => lacking(connection.open(connection.kubeconfig, manager), object)),
  })
})

/** What a change of inputs means. */
export const diffObject = (
  before: Properties,
  after: Properties,
  mutableSecrets: boolean,
): "same" | "update" | "replace" => {
  const [old, own] = [unwrapped(before), unwrapped(after)]
  const differs = (...path: ReadonlyArray<string>) => !equal(at(old, ...path), at(own, ...path))
  if (differs("metadata", "name") || differs("metadata", "namespace")) return "replace"
  if (at(own, "kind") === "Deployment" && differs("spec", "selector")) return "replace"
  // Both count as immutable, unless the provider is told otherwise (seen: another client secret is another Secret).
  const kind = at(own, "kind")
  const isImmutable = kind === "ConfigMap" || (kind === "Secret" && !mutableSecrets)
  if (isImmutable && differs("data")) return "replace"
  return equal(old, own) ? "same" : "update"
}

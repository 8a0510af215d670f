// A client of the Kubernetes API that asks an API server in memory itself: no HTTP, no JSON text, no decoding of what was
// decoded before. What was read holds for as long as the server's store has not changed. Where something is in a
// request's way it goes the live way, so that every fault is met as in the other world.
import { Effect, Exit, Option, Predicate } from "effect"
import { asUidConflict } from "../../../src/services/Kubernetes/Client.ts"
import type { HttpRequest } from "../../../src/services/Kubernetes/Http.ts"
import type {
  KubeError,
  KubeObject,
  KubernetesClient,
  ListOptions,
  ObjectRef,
  ResourceKind,
} from "../../../src/services/Kubernetes/Kubernetes.ts"
import { decodeListPage, decodeObject, type ListPage } from "../../../src/services/Kubernetes/Objects.ts"
import * as Requests from "../../../src/services/Kubernetes/Requests.ts"
import type { ApiAnswer, ApiClient, ApiServer } from "../kubernetes/ApiServer.ts"
import { failureOf } from "../kubernetes/Http.ts"

/** Where a request arrives, and as whom. */
export interface Arrived {
  readonly api: ApiServer
  readonly user: string
}

export interface Ways {
  /** Undefined while anything is in the way: the network, a fault, a user that the server does not know. */
  readonly arrive: () => Arrived | undefined
  /** The live client, over whatever is in the way. */
  readonly live: KubernetesClient
}

/** Stored objects never change: what one is to a client is worked out once. */
const objects = new WeakMap<object, KubeObject>()

export const readObject = (kind: ResourceKind, body: unknown): KubeObject => {
  if (!Predicate.isObject(body)) throw new Error(`an answer that is no ${kind.kind}`)
  const known = objects.get(body)
  if (known !== undefined) return known
  const object = Option.getOrThrow(decodeObject(kind, body))
  objects.set(body, object)
  return object
}

export const readPage = (kind: ResourceKind, body: unknown): ListPage =>
  Option.getOrThrow(decodeListPage(kind, body))

/** One request; its answer is the server's own. */
export const ask = ({ api, user }: Arrived, { method, path, accept, contentType, body }: HttpRequest) =>
  api.handle({
    user,
    method,
    path,
    ...(accept !== undefined && { accept }),
    ...(contentType !== undefined && { contentType }),
    ...(body !== undefined && { body }),
  })

const refusal = (request: HttpRequest, answer: ApiAnswer): KubeError =>
  asUidConflict(failureOf(request, answer)).error

const exitOf = <A>(
  arrived: Arrived,
  request: HttpRequest,
  read: (body: unknown) => A,
): Exit.Exit<A, KubeError> => {
  const answer = ask(arrived, request)
  return answer.status >= 300 ? Exit.fail(refusal(request, answer)) : Exit.succeed(read(answer.body))
}

/** Answers to GETs, of one server as one user, at one revision of its store. */
export class Memory {
  #arrived: Arrived | undefined
  #revision = -1
  readonly #answers = new Map<string, unknown>()

  recall<A>(arrived: Arrived, key: string, make: () => A): A
  recall(arrived: Arrived, key: string, make: () => unknown): unknown {
    const revision = arrived.api.revision()
    if (
      revision !== this.#revision ||
      this.#arrived?.api !== arrived.api ||
      this.#arrived.user !== arrived.user
    ) {
      this.#answers.clear()
      this.#revision = revision
      this.#arrived = arrived
    }
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    const made = make()
    this.#answers.set(key, made)
    return made
  }
}

const keyOfGet = (kind: ResourceKind, { namespace, name }: ObjectRef, metadataOnly: boolean): string =>
  `${metadataOnly ? "metadata" : "get"} ${kind.group} ${kind.plural} ${namespace ?? ""} ${name}`

const keyOfList = (kind: ResourceKind, options: ListOptions): string =>
  `list ${kind.group} ${kind.plural} ${options.namespace ?? ""} ${options.labelSelector ?? ""} ${options.fieldSelector ?? ""} ${options.metadataOnly === true}`

/** The synchronous client, whose reads are remembered in the same way. */
export const rememberingClient = (
  client: ApiClient,
  memory: Memory,
  arrive: () => Arrived | undefined,
): ApiClient => {
  const recall = <A>(key: () => string, make: () => A): A => {
    const arrived = arrive()
    return arrived === undefined ? make() : memory.recall(arrived, key(), make)
  }
  return {
    ...client,
    get: (kind, ref) =>
      recall(
        () => keyOfGet(kind, ref, false),
        () => client.get(kind, ref),
      ),
    list: (kind, selection = {}) =>
      recall(
        () => keyOfList(kind, selection),
        () => client.list(kind, selection),
      ),
  }
}

const textOf = (body: unknown): string => (typeof body === "string" ? body : JSON.stringify(body))

const absent = (exit: Exit.Exit<KubeObject, KubeError>): Exit.Exit<Option.Option<KubeObject>, KubeError> => {
  if (Exit.isSuccess(exit)) return Exit.succeed(Option.some(exit.value))
  return Option.exists(Exit.findErrorOption(exit), ({ code }) => code === 404)
    ? Exit.succeed(Option.none())
    : Exit.failCause(exit.cause)
}

export const directClient = ({ arrive, live }: Ways): KubernetesClient => {
  const memory = new Memory()
  /** A call that reads: remembered. */
  const reading = <A>(
    key: string,
    request: () => HttpRequest,
    read: (exit: Exit.Exit<unknown, KubeError>) => Exit.Exit<A, KubeError>,
    otherwise: () => Effect.Effect<A, KubeError>,
  ) =>
    Effect.suspend((): Effect.Effect<A, KubeError> => {
      const arrived = arrive()
      return arrived === undefined
        ? otherwise()
        : memory.recall(arrived, key, () => read(exitOf(arrived, request(), (body) => body)))
    })
  const writing = (
    kind: ResourceKind,
    request: () => HttpRequest,
    otherwise: () => Effect.Effect<KubeObject, KubeError>,
  ) =>
    Effect.suspend(() => {
      const arrived = arrive()
      return arrived === undefined
        ? otherwise()
        : exitOf(arrived, request(), (body) => readObject(kind, body))
    })

  return {
    get: (kind, ref, options) => {
      const metadataOnly = options?.metadataOnly === true
      return reading(
        keyOfGet(kind, ref, metadataOnly),
        () => Requests.getRequest(kind, ref, metadataOnly),
        (exit) => absent(Exit.map(exit, (body) => readObject(kind, body))),
        () => live.get(kind, ref, options),
      )
    },
    list: (kind, options = {}) =>
      reading(
        keyOfList(kind, options),
        () => Requests.listRequest(kind, options, { from: { _tag: "Newest" }, paged: false }),
        Exit.map((body) => readPage(kind, body).items),
        () => live.list(kind, options),
      ),
    raw: (path) =>
      reading(
        path,
        () => ({ method: "GET", path, accept: "*/*" }),
        Exit.map(textOf),
        () => live.raw(path),
      ),
    create: (kind, manifest) =>
      writing(
        kind,
        () => Requests.createRequest(kind, manifest),
        () => live.create(kind, manifest),
      ),
    apply: (kind, manifest, options) =>
      writing(
        kind,
        () => Requests.applyRequest(kind, manifest, options?.dryRun === true),
        () => live.apply(kind, manifest, options),
      ),
    patch: (kind, ref, patch, options) =>
      writing(
        kind,
        () => Requests.patchRequest(kind, ref, patch, options),
        () => live.patch(kind, ref, patch, options),
      ),
    delete: (kind, ref, options) =>
      Effect.suspend((): Effect.Effect<boolean, KubeError> => {
        const arrived = arrive()
        if (arrived === undefined) return live.delete(kind, ref, options)
        const request = Requests.deleteRequest(kind, ref, options ?? {})
        const answer = ask(arrived, request)
        if (answer.status === 404) return Effect.succeed(false)
        return answer.status >= 300 ? Effect.fail(refusal(request, answer)) : Effect.succeed(true)
      }),
  }
}

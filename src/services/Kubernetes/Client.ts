// One-shot calls to one API server: each a span, each typed.
import { Effect, Schema } from "effect"
import { ApiFailure, unreadable } from "./ApiFailure.ts"
import type { Http, HttpRequest } from "./Http.ts"
import { resourceName } from "./Kinds.ts"
import {
  KubeError,
  type KubeManifest,
  type KubeObject,
  type KubernetesClient,
  type ResourceKind,
} from "./Kubernetes.ts"
import { listAll, type PageReader } from "./ListAll.ts"
import { decodeListPage, decodeObject } from "./Objects.ts"
import { describeRequest } from "./Paths.ts"
import * as Requests from "./Requests.ts"

const toKubeError = <A, R>(self: Effect.Effect<A, ApiFailure, R>): Effect.Effect<A, KubeError, R> =>
  Effect.mapError(self, (failure) => failure.error)

const describeSpan = (kind: ResourceKind, ref: { readonly namespace?: string; readonly name?: string }) =>
  Effect.annotateCurrentSpan({
    "platforminstance.resource": resourceName(kind),
    ...(ref.namespace !== undefined && { "k8s.namespace.name": ref.namespace }),
    ...(ref.name !== undefined && { "platforminstance.object": ref.name }),
  })

/** Reads pages of a list through HTTP. */
export const pageReader =
  (http: Http): PageReader =>
  (kind, options, page) => {
    const request = Requests.listRequest(kind, options, page)
    return Effect.flatMap(http.json(request), (body) =>
      Effect.fromOption(decodeListPage(kind, body)).pipe(
        Effect.mapError(() => unreadable(describeRequest(request.method, request.path), 200)),
      ),
    )
  }

/**
 * The API server (1.35, seen) answers an apply to an object with another UID by 422 "metadata.uid: field is
 * immutable", and one to no object at all by 409. Here both are the conflict they are.
 */
export const asUidConflict = (failure: ApiFailure): ApiFailure =>
  failure.error.code === 422 && failure.fields.includes("metadata.uid")
    ? new ApiFailure({
        ...failure,
        error: new KubeError({
          code: 409,
          reason: "Conflict",
          request: failure.error.request,
          message: "the live object has another UID",
        }),
      })
    : failure

const absent = (error: KubeError): boolean => error.code === 404

const client = { kind: "client" } as const

export const makeClient = (http: Http): KubernetesClient => {
  const one = (kind: ResourceKind, request: HttpRequest): Effect.Effect<KubeObject, ApiFailure> =>
    Effect.flatMap(http.json(request), (body) =>
      Effect.mapError(Effect.fromOption(decodeObject(kind, body)), () =>
        unreadable(describeRequest(request.method, request.path), 200),
      ),
    )
  const readPage = pageReader(http)
  const applying = (dryRun: boolean) =>
    Effect.fn(
      dryRun ? "k8s.dryRun" : "k8s.apply",
      client,
    )(function* (kind: ResourceKind, manifest: KubeManifest) {
      yield* describeSpan(kind, manifest.metadata)
      return yield* one(kind, Requests.applyRequest(kind, manifest, dryRun)).pipe(
        Effect.mapError(asUidConflict),
        toKubeError,
      )
    })
  const apply = applying(false)
  const dryRun = applying(true)
  const patching = (name: "k8s.patch" | "k8s.dryRun") =>
    Effect.fn(
      name,
      client,
    )(function* (...[kind, ref, patch, options]: Parameters<KubernetesClient["patch"]>) {
      yield* describeSpan(kind, ref)
      return yield* toKubeError(one(kind, Requests.patchRequest(kind, ref, patch, options)))
    })
  const patch = patching("k8s.patch")
  const dryPatch = patching("k8s.dryRun")

  return {
    get: Effect.fn(
      "k8s.get",
      client,
    )(function* (kind, ref, options) {
      yield* describeSpan(kind, ref)
      return yield* one(kind, Requests.getRequest(kind, ref, options?.metadataOnly === true)).pipe(
        toKubeError,
        Effect.asSome,
        Effect.catchIf(absent, () => Effect.succeedNone),
      )
    }),
    list: Effect.fn(
      "k8s.list",
      client,
    )(function* (kind, options = {}) {
      yield* describeSpan(kind, options)
      const listed = yield* toKubeError(listAll(readPage, kind, options, { _tag: "Newest" }))
      return listed.items
    }),
    create: Effect.fn(
      "k8s.create",
      client,
    )(function* (kind, manifest) {
      yield* describeSpan(kind, manifest.metadata)
      return yield* toKubeError(one(kind, Requests.createRequest(kind, manifest)))
    }),
    apply: (kind, manifest, options) =>
      options?.dryRun === true ? dryRun(kind, manifest) : apply(kind, manifest),
    patch: (kind, ref, change, options) =>
      (options?.dryRun === true ? dryPatch : patch)(kind, ref, change, options),
    delete: Effect.fn(
      "k8s.delete",
      client,
    )(function* (kind, ref, options = {}) {
      yield* describeSpan(kind, ref)
      return yield* http.text(Requests.deleteRequest(kind, ref, options)).pipe(
        Effect.as(true),
        toKubeError,
        Effect.catchIf(absent, () => Effect.succeed(false)),
      )
    }),
    raw: Effect.fn(
      "k8s.raw",
      client,
    )(function* (path) {
      yield* Effect.annotateCurrentSpan({ "url.path": path })
      return yield* toKubeError(http.text({ method: "GET", path, accept: "*/*" }))
    }),
  }
}

const SelfSubjectReview = Schema.Struct({
  status: Schema.Struct({ userInfo: Schema.Struct({ username: Schema.String }) }),
})

/** The user name that the server knows this client by. */
export const whoAmI = (http: Http): Effect.Effect<string, KubeError> =>
  http.json(Requests.whoAmIRequest).pipe(
    Effect.flatMap((body) =>
      Effect.mapError(Schema.decodeUnknownEffect(SelfSubjectReview)(body), () =>
        unreadable(describeRequest("POST", Requests.whoAmIRequest.path), 200),
      ),
    ),
    Effect.map((review) => review.status.userInfo.username),
    toKubeError,
    Effect.withSpan("k8s.whoAmI", client),
  )

// What of a Helm release's objects is no longer as the release has made it. The engine compares a release's record
// and never its objects (contracts, seen), so nobody else notices. What an object would become when its manifest is
// applied, the server says itself, in a dry run: its defaults and its own notation are no differences then.
import { Effect, Equal, Option, Result, Schema } from "effect"
import { manifestOf, withoutNulls } from "../Helm/ReleaseRecord.ts"
import type {
  KubeError,
  KubeManifest,
  KubeObject,
  KubernetesClient,
  ObjectRef,
  ResourceKind,
} from "../Kubernetes/Kubernetes.ts"
import { type Replacement, replace, replacementOf } from "../Kubernetes/Replacement.ts"

export interface Drift {
  /** `Secret wasmcloud/hosts`: kind, namespace, name. */
  readonly object: string
  readonly how: "missing" | "edited"
  /** The server refuses an apply over the edit, and so Helm's: it is replaced by this first. */
  readonly replacement?: { readonly kind: ResourceKind; readonly ref: ObjectRef } & Replacement
}

/** An object of which the server refuses what the release says, in each way but to delete it. */
export interface Refused {
  readonly object: string
  /** What the server objects to, such as `spec.selector`. */
  readonly fields: ReadonlyArray<string>
}

/** An object of which nobody can say whether it is as the release has made it: who may look at it, or dry runs, are refused. */
export interface Uncompared {
  readonly object: string
  /** What the server calls the refusal, such as `Forbidden`. */
  readonly reason: string
}

/** What of a release is not as it says, or may not be. */
export interface Drifts {
  readonly found: ReadonlyArray<Drift>
  readonly refused: ReadonlyArray<Refused>
  readonly uncompared: ReadonlyArray<Uncompared>
}

type Look =
  | { readonly _tag: "AsItWas" }
  | { readonly _tag: "Drifted"; readonly drift: Drift }
  | { readonly _tag: "Refused"; readonly refused: Refused }
  | { readonly _tag: "Uncompared"; readonly uncompared: Uncompared }
const asItWas: Look = { _tag: "AsItWas" }

const StringRecord = Schema.Record(Schema.String, Schema.String)

const ApiResources = Schema.fromJsonString(
  Schema.Struct({
    resources: Schema.Array(
      Schema.Struct({ name: Schema.String, kind: Schema.String, namespaced: Schema.Boolean }),
    ),
  }),
)
const decodeResources = Schema.decodeUnknownOption(ApiResources)

/** The kinds of a group version, by their names; none when the server does not know it. */
const kindsOf = Effect.fnUntraced(function* (client: KubernetesClient, apiVersion: string) {
  const body = yield* client
    .raw(apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`)
    .pipe(
      Effect.asSome,
      Effect.catchIf(
        ({ code }) => code === 404,
        () => Effect.succeedNone,
      ),
    )
  const slash = apiVersion.indexOf("/")
  const resources = Option.flatMap(body, decodeResources).pipe(
    Option.match({ onNone: () => [], onSome: (list) => list.resources }),
  )
  return new Map(
    resources
      // `deployments/status` is no object of its own.
      .filter(({ name }) => !name.includes("/"))
      .map(({ name, kind, namespaced }): [string, ResourceKind] => [
        kind,
        {
          group: apiVersion.slice(0, Math.max(slash, 0)),
          version: apiVersion.slice(slash + 1),
          plural: name,
          kind,
          namespaced,
        },
      ]),
  )
})

/** Everything of an object that somebody can have written on purpose. */
export const comparable = ({ status: _, metadata, ...rest }: KubeObject) => {
  const { resourceVersion: _version, generation: _generation, ...written } = metadata
  return { ...rest, metadata: written }
}

const decodeExpiring = Schema.decodeUnknownOption(
  Schema.Struct({
    kind: Schema.Literal("Job"),
    spec: Schema.Struct({ ttlSecondsAfterFinished: Schema.Finite }),
  }),
)
/** A Job that goes away when it is done: gone is as it should be, and to make it again would be to run it again. */
const expires = (manifest: KubeManifest): boolean => Option.isSome(decodeExpiring(manifest))

/** Codes that say something of the server, and not of the object that was sent. */
const ofTheServer: ReadonlySet<number> = new Set([0, 401, 429, 503, 504])

const lookAt = Effect.fnUntraced(function* (
  client: KubernetesClient,
  kind: ResourceKind | undefined,
  manifest: KubeManifest,
): Effect.fn.Return<Look, KubeError> {
  const { name, namespace } = manifest.metadata
  const object = `${manifest.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`
  const missing: Look = { _tag: "Drifted", drift: { object, how: "missing" } }
  // Its CustomResourceDefinition is gone, and it with it.
  if (kind === undefined) return missing
  const live = yield* client.get(kind, manifest.metadata)
  if (Option.isNone(live)) return expires(manifest) ? asItWas : missing
  const isEdited = (becomes: KubeObject) => !Equal.equals(comparable(live.value), comparable(becomes))
  // With our own field manager: the one that Helm applied with would give up Helm's own labels in this.
  const applied = yield* Effect.result(client.apply(kind, manifest, { dryRun: true }))
  if (Result.isSuccess(applied))
    return isEdited(applied.success) ? { _tag: "Drifted", drift: { object, how: "edited" } } : asItWas
  const invalid = applied.failure.code === 422
  const replacement = invalid
    ? yield* Effect.result(replacementOf(client, kind, manifest))
    : Result.fail(applied.failure)
  if (Result.isSuccess(replacement) && Option.isSome(replacement.success)) {
    const replaced = replacement.success.value
    if (!isEdited(replaced.becomes)) return asItWas
    const ref: ObjectRef = namespace === undefined ? { name } : { namespace, name }
    return { _tag: "Drifted", drift: { object, how: "edited", replacement: { kind, ref, ...replaced } } }
  }
  const refusal = Result.isFailure(replacement) ? replacement.failure : applied.failure
  if (ofTheServer.has(refusal.code)) return yield* refusal
  // A field that cannot be changed is named; of a policy, or a webhook that knows no dry runs, nothing can be said about edits.
  const { reason, code, fields = [] } = refusal
  yield* Effect.logWarning("object of a Helm release inside the instance cannot be compared").pipe(
    Effect.annotateLogs({ object, reason, code, fields }),
  )
  return invalid && fields.length > 0
    ? { _tag: "Refused", refused: { object, fields } }
    : { _tag: "Uncompared", uncompared: { object, reason } }
})

/**
 * The objects of a release that are missing or edited, by the documents of its manifest, those that the server lets nobody
 * make what the manifest says, and those that it lets nobody compare. What somebody added beside the manifest's fields is no edit. `namespace` is the release's, for
 * objects that name none. Documents that are no objects are left out. Writes nothing.
 */
export const findDrift: (
  client: KubernetesClient,
  documents: ReadonlyArray<unknown>,
  namespace: string,
) => Effect.Effect<Drifts, KubeError> = Effect.fn("ReleaseDrift.find")(
  function* (client, documents, namespace) {
    const manifests = documents.flatMap((document) => Option.toArray(manifestOf(document)))
    const kinds = new Map<string, ReadonlyMap<string, ResourceKind>>()
    for (const { apiVersion } of manifests) {
      if (!kinds.has(apiVersion)) kinds.set(apiVersion, yield* kindsOf(client, apiVersion))
    }
    const looks = yield* Effect.forEach(
      manifests,
      (manifest) => {
        const kind = kinds.get(manifest.apiVersion)?.get(manifest.kind)
        const { namespace: named, ...metadata } = manifest.metadata
        return lookAt(client, kind, {
          ...manifest,
          metadata: kind?.namespaced === true ? { ...metadata, namespace: named ?? namespace } : metadata,
        })
      },
      { concurrency: 4 },
    )
    return {
      found: looks.flatMap((look) => (look._tag === "Drifted" ? [look.drift] : [])),
      refused: looks.flatMap((look) => (look._tag === "Refused" ? [look.refused] : [])),
      uncompared: looks.flatMap((look) => (look._tag === "Uncompared" ? [look.uncompared] : [])),
    }
  },
)

/**
 * Replaces what Helm cannot apply over, of these; gives those that were. It fails at nothing: what cannot be replaced is met by
 * Helm, too, which says why.
 */
export const replaceRefused = Effect.fn("ReleaseDrift.replaceRefused")(function* (
  client: KubernetesClient,
  drifts: ReadonlyArray<Drift>,
) {
  const replaced: Array<Drift> = []
  for (const drift of drifts) {
    if (drift.replacement === undefined) continue
    const { kind, ref } = drift.replacement
    const written = yield* Effect.option(replace(client, kind, ref, drift.replacement))
    if (Option.isNone(written)) continue
    replaced.push(drift)
    yield* Effect.logInfo(
      "replaced an object of a Helm release that the server does not let Helm apply",
    ).pipe(Effect.annotateLogs({ object: drift.object }))
  }
  return replaced
})

const decodeSecret = Schema.decodeUnknownOption(
  Schema.Struct({
    kind: Schema.Literal("Secret"),
    data: Schema.optionalKey(StringRecord),
    stringData: Schema.optionalKey(StringRecord),
  }),
)

/** The values of the Secrets among these documents: what must not be repeated of a program's words about them. */
export const secretValues = (documents: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  documents
    .flatMap((document) => Option.toArray(decodeSecret(withoutNulls(document))))
    .flatMap(({ data = {}, stringData = {} }) => [
      ...Object.values(stringData),
      ...Object.values(data).flatMap((value) => [value, Buffer.from(value, "base64").toString("utf8")]),
    ])

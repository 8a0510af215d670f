// What lets an object have the content of a manifest again where the server refuses an apply of it. What is applied is laid
// beside what others have written: a port that was given another number stays beside the one that comes back under the same
// name, another kind of probe or strategy beside the one of the manifest, and the server refuses the two (422), as often as it
// is tried. A merge patch has the lists of the manifest in place of the live ones. Nothing is deleted and made anew: where the
// server refuses that too, as it does for a field that cannot be changed, there is no replacement.
import { Effect, Option, Predicate, Result, Schema } from "effect"
import type {
  KubeError,
  KubeManifest,
  KubeObject,
  KubernetesClient,
  ObjectRef,
  Patch,
  ResourceKind,
} from "./Kubernetes.ts"
import { objectPath } from "./Paths.ts"
import { FIELD_MANAGER } from "./Requests.ts"

export interface Replacement {
  readonly patch: Patch
  /** What becomes of the object by it, as the server says. */
  readonly becomes: KubeObject
}

const INVALID = 422

/** `spec.strategy.rollingUpdate` as names; none for what lies in a list, which is replaced as a whole, or is not content. */
const namesOf = (field: string): ReadonlyArray<string> => {
  const names = field.split(".")
  return /[[\]]/.test(field) || names[0] === "metadata" || names[0] === "status" ? [] : names
}

const own = (value: unknown, name: string): unknown =>
  Predicate.isObject(value) && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

/** With `null` at that place: a merge patch takes away what is there. */
const withNull = (
  content: unknown,
  [name = "", ...rest]: ReadonlyArray<string>,
): Record<string, unknown> => ({
  ...(Predicate.isObject(content) ? content : {}),
  [name]: rest.length === 0 ? null : withNull(own(content, name), rest),
})

/**
 * Of a manifest whose apply the server has refused as invalid (422): the patch by which its object gets the manifest's content,
 * and what becomes of it. `None`: the server refuses that as well. What others have written beside the manifest's fields stays,
 * but for items of its lists, and for what the server says cannot stand beside them. Writes nothing.
 */
export const replacementOf = Effect.fn("Kubernetes.replacementOf")(function* (
  client: KubernetesClient,
  kind: ResourceKind,
  { metadata, apiVersion: _, kind: __, status: ___, ...content }: KubeManifest,
): Effect.fn.Return<Option.Option<Replacement>, KubeError> {
  const tryOut = Effect.fnUntraced(function* (wanted: Readonly<Record<string, unknown>>) {
    const patch: Patch = { type: "merge", patch: wanted }
    const becomes = yield* client.patch(kind, metadata, patch, { dryRun: true })
    return { patch, becomes } satisfies Replacement
  })
  const first = yield* Effect.result(tryOut(content))
  if (Result.isSuccess(first)) return Option.some(first.success)
  const refusal = first.failure
  if (refusal.code !== INVALID) return yield* refusal
  const foreign = (refusal.fields ?? [])
    .map(namesOf)
    .filter((names) => names.length > 0 && names.reduce<unknown>(own, content) === undefined)
  if (foreign.length === 0) return Option.none()
  const second = yield* Effect.result(
    tryOut(foreign.reduce<Readonly<Record<string, unknown>>>(withNull, content)),
  )
  if (Result.isSuccess(second)) return Option.some(second.success)
  return second.failure.code === INVALID ? Option.none() : yield* second.failure
})

const decodeOwners = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      metadata: Schema.Struct({
        managedFields: Schema.Array(
          Schema.Struct({
            manager: Schema.optionalKey(Schema.String),
            operation: Schema.optionalKey(Schema.String),
            subresource: Schema.optionalKey(Schema.String),
          }),
        ),
      }),
    }),
  ),
)

/**
 * Gives up what this operator has come to own by patches. Otherwise it would hold on to the items of the lists that it has put
 * back: whoever applies others later, as an upgrade does, leaves what somebody else owns as it is.
 */
const disown = Effect.fnUntraced(function* (client: KubernetesClient, kind: ResourceKind, ref: ObjectRef) {
  const owners = decodeOwners(yield* client.raw(objectPath(kind, ref))).pipe(
    Option.match({ onNone: () => [], onSome: ({ metadata }) => metadata.managedFields }),
  )
  const index = owners.findIndex(
    ({ manager, operation, subresource }) =>
      manager === FIELD_MANAGER && operation === "Update" && subresource === undefined,
  )
  if (index < 0) return Option.none<KubeObject>()
  const path = `/metadata/managedFields/${index}`
  const written = yield* client.patch(kind, ref, {
    type: "json",
    operations: [
      // Another writer may have moved it meanwhile.
      { op: "test", path: `${path}/manager`, value: FIELD_MANAGER },
      { op: "test", path: `${path}/operation`, value: "Update" },
      { op: "remove", path },
    ],
  })
  return Option.some(written)
})

/** Replaces an object's content, and leaves the ownership of it to whoever applies it next. Gives it as it was last written. */
export const replace = Effect.fn("Kubernetes.replace")(function* (
  client: KubernetesClient,
  kind: ResourceKind,
  ref: ObjectRef,
  { patch }: Replacement,
): Effect.fn.Return<KubeObject, KubeError> {
  const written = yield* client.patch(kind, ref, patch)
  const disowned = yield* Effect.option(disown(client, kind, ref))
  return Option.getOrElse(Option.flatten(disowned), () => written)
})

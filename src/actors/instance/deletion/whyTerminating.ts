// Why a namespace does not end, in words that lead a person to the object that holds it.
import { Effect, Option, Schema } from "effect"
import { type KubeObject, Kubernetes, type ResourceKind } from "../../../services/Kubernetes/Kubernetes.ts"

const NamespaceStatus = Schema.Struct({
  status: Schema.Struct({
    conditions: Schema.Array(
      Schema.Struct({
        type: Schema.String,
        status: Schema.String,
        message: Schema.optionalKey(Schema.String),
      }),
    ),
  }),
})
const decodeStatus = Schema.decodeUnknownOption(NamespaceStatus)

/** Those the namespace controller sets while something is in its way (1.35, seen). */
const telling = new Set([
  "NamespaceDeletionDiscoveryFailure",
  "NamespaceDeletionGroupVersionParsingFailure",
  "NamespaceDeletionContentFailure",
  "NamespaceContentRemaining",
  "NamespaceFinalizersRemaining",
])

const complaints = (
  namespace: KubeObject,
): ReadonlyArray<{ readonly type: string; readonly message: string }> =>
  Option.match(decodeStatus(namespace), {
    onNone: () => [],
    onSome: ({ status }) =>
      status.conditions.flatMap(({ type, status: value, message = "" }) =>
        value === "True" && telling.has(type) && message !== "" ? [{ type, message }] : [],
      ),
  })

/** `pods. has 1 resource instances`, `widgets.example.com has 2 resource instances`: the kinds that are left. */
const remainingKinds = (message: string) =>
  [...message.matchAll(/([a-z0-9-]+)\.([a-z0-9.-]*) has \d+ resource instances/g)].map(
    ([, plural = "", group = ""]) => ({ plural, group }),
  )

const GroupVersion = Schema.fromJsonString(
  Schema.Struct({ preferredVersion: Schema.Struct({ version: Schema.String }) }),
)
const decodeGroupVersion = Schema.decodeUnknownOption(GroupVersion)

/** As many as a message has room for. */
const named = 3

/** The objects of a kind that finalizers hold: `configmap x (finalizer example.com/hold)`. */
const heldObjects = Effect.fnUntraced(function* (
  namespace: string,
  { plural, group }: { readonly plural: string; readonly group: string },
) {
  const kubernetes = yield* Kubernetes
  const version =
    group === ""
      ? Option.some("v1")
      : Option.map(
          decodeGroupVersion(yield* kubernetes.raw(`/apis/${group}`)),
          ({ preferredVersion }) => preferredVersion.version,
        )
  if (Option.isNone(version)) return []
  const kind: ResourceKind = { group, version: version.value, plural, kind: plural, namespaced: true }
  const objects = yield* kubernetes.list(kind, { namespace, metadataOnly: true })
  return objects.flatMap(({ metadata: { name, finalizers = [] } }) =>
    finalizers.length === 0 ? [] : [`${plural}/${name} (finalizer ${finalizers.join(", ")})`],
  )
})

/** Nothing while it ends as it should. A kind that may not be listed is told by the controller's words alone. */
export const whyTerminating = Effect.fn("Deletion.whyTerminating")(function* (namespace: KubeObject) {
  const found = complaints(namespace)
  if (found.length === 0) return Option.none<string>()
  const kinds = found.flatMap(({ type, message }) =>
    type === "NamespaceContentRemaining" ? remainingKinds(message) : [],
  )
  const objects = yield* Effect.forEach(kinds, (kind) =>
    Effect.orElseSucceed(heldObjects(namespace.metadata.name, kind), (): ReadonlyArray<string> => []),
  )
  const holding = objects.flat()
  const names =
    holding.length > named
      ? `${holding.slice(0, named).join(", ")} and ${holding.length - named} more`
      : holding.join(", ")
  return Option.some(names === "" ? found.map(({ message }) => message).join("; ") : `it is held by ${names}`)
})

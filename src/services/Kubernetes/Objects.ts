// The border between the API's JSON and the operator's types. What the server sends is `unknown` until it has
// passed one of these decoders.
import { Option, Predicate, Schema } from "effect"
import type { KubeObject, ResourceKind } from "./Kubernetes.ts"
import { apiVersion } from "./Paths.ts"

const OwnerReferenceSchema = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  name: Schema.String,
  uid: Schema.String,
  controller: Schema.optionalKey(Schema.Boolean),
  blockOwnerDeletion: Schema.optionalKey(Schema.Boolean),
})

const StringRecord = Schema.Record(Schema.String, Schema.String)

/** What the operator reads of the metadata. The rest, `managedFields` above all, is not worth its memory. */
const ObjectMetaSchema = Schema.Struct({
  name: Schema.String,
  namespace: Schema.optionalKey(Schema.String),
  uid: Schema.String,
  resourceVersion: Schema.String,
  generation: Schema.optionalKey(Schema.Finite),
  creationTimestamp: Schema.optionalKey(Schema.String),
  deletionTimestamp: Schema.optionalKey(Schema.String),
  labels: Schema.optionalKey(StringRecord),
  annotations: Schema.optionalKey(StringRecord),
  finalizers: Schema.optionalKey(Schema.Array(Schema.String)),
  ownerReferences: Schema.optionalKey(Schema.Array(OwnerReferenceSchema)),
})

const KubeObjectSchema = Schema.StructWithRest(
  Schema.Struct({ apiVersion: Schema.String, kind: Schema.String, metadata: ObjectMetaSchema }),
  [Schema.Record(Schema.String, Schema.Unknown)],
)

const decodeKubeObject = Schema.decodeUnknownOption(KubeObjectSchema)

/**
 * An object of a kind. Items of a list come without `kind`, and partial metadata with the kind
 * `PartialObjectMetadata`: the result carries the kind that was asked for.
 */
export const decodeObject = (kind: ResourceKind, input: unknown): Option.Option<KubeObject> =>
  Predicate.isObject(input)
    ? decodeKubeObject({ ...input, apiVersion: apiVersion(kind), kind: kind.kind })
    : Option.none()

const decodeListShape = Schema.decodeUnknownOption(
  Schema.Struct({
    metadata: Schema.Struct({
      resourceVersion: Schema.optionalKey(Schema.String),
      continue: Schema.optionalKey(Schema.String),
    }),
    items: Schema.NullOr(Schema.Array(Schema.Unknown)),
  }),
)

/** One page of a list. */
export interface ListPage {
  readonly items: ReadonlyArray<KubeObject>
  readonly resourceVersion: string
  /** The token of the next page, when there is one. */
  readonly next: Option.Option<string>
}

export const decodeListPage = (kind: ResourceKind, input: unknown): Option.Option<ListPage> =>
  Option.gen(function* () {
    const list = yield* decodeListShape(input)
    const items = yield* Option.all((list.items ?? []).map((item) => decodeObject(kind, item)))
    return {
      items,
      resourceVersion: list.metadata.resourceVersion ?? "",
      next: Option.filter(Option.fromUndefinedOr(list.metadata.continue), (token) => token !== ""),
    }
  })

/** `metav1.Status`: the body of an error, and of an `ERROR` in a watch. */
export const StatusSchema = Schema.Struct({
  code: Schema.optionalKey(Schema.Finite),
  reason: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String),
  details: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        retryAfterSeconds: Schema.optionalKey(Schema.Finite),
        causes: Schema.optionalKey(
          Schema.Array(
            Schema.Struct({
              reason: Schema.optionalKey(Schema.String),
              field: Schema.optionalKey(Schema.String),
            }),
          ),
        ),
      }),
    ),
  ),
})
export type Status = typeof StatusSchema.Type

export const decodeStatus = Schema.decodeUnknownOption(StatusSchema)

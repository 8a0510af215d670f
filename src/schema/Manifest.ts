// What the API server makes of a manifest under the CRD: the strict counterpart of `decodePlatformInstance`, for
// tools, tests and anything that stands in for the server. Unknown fields are errors, as under fieldValidation=Strict.
import { Effect, Predicate, Schema } from "effect"
import { crd } from "./Crd.ts"
import { celRule, matches } from "./Fields.ts"
import { API_VERSION, KIND } from "./Names.ts"
import { nameRule } from "./PlatformInstance.ts"
import { PlatformInstanceSpec } from "./PlatformSpec.ts"
import { PlatformInstanceStatus } from "./PlatformStatus.ts"
import type { StructuralSchema } from "./StructuralSchema.ts"

const Strings = Schema.Record(Schema.String, Schema.String)
const anything = Schema.optionalKey(Schema.Unknown)

const { openAPIV3Schema } = crd.spec.versions[0].schema
const statusSchema = openAPIV3Schema.properties.status

/** The server drops a null where a field may not be null, before it looks for defaults and missing fields. */
const dropNulls = (value: unknown, schema: StructuralSchema): unknown => {
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? value : value.map((item) => dropNulls(item, items))
  }
  const { properties } = schema
  if (!Predicate.isObject(value) || properties === undefined) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, child]) => {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined
      if (property === undefined) return [[key, child]]
      return child === null ? [] : [[key, dropNulls(child, property)]]
    }),
  )
}

/** Where a value has fields its schema does not know. */
const unknownFields = (
  value: unknown,
  schema: StructuralSchema,
): ReadonlyArray<ReadonlyArray<string | number>> => {
  if (Array.isArray(value)) {
    const { items } = schema
    if (items === undefined) return []
    return value.flatMap((item, index) => unknownFields(item, items).map((path) => [index, ...path]))
  }
  const { properties } = schema
  if (!Predicate.isObject(value) || properties === undefined) return []
  return Object.entries(value).flatMap(([key, child]) => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    return property === undefined ? [[key]] : unknownFields(child, property).map((path) => [key, ...path])
  })
}

/** ObjectMeta as a user may write it; what the server fills in is accepted and not looked at. */
const ManifestMetadata = Schema.Struct({
  name: Schema.String.check(
    Schema.isMaxCodePoints(253),
    matches(
      "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
      "a name of lowercase letters, digits, hyphens and dots",
    ),
  ),
  namespace: Schema.optionalKey(Schema.String),
  labels: Schema.optionalKey(Strings),
  annotations: Schema.optionalKey(Strings),
  finalizers: Schema.optionalKey(Schema.Array(Schema.String)),
  ownerReferences: anything,
  uid: anything,
  resourceVersion: anything,
  generation: anything,
  creationTimestamp: anything,
  deletionTimestamp: anything,
  deletionGracePeriodSeconds: anything,
  generateName: anything,
  managedFields: anything,
  selfLink: anything,
})

export const Manifest = Schema.Struct({
  apiVersion: Schema.Literal(API_VERSION),
  kind: Schema.Literal(KIND),
  metadata: ManifestMetadata,
  spec: PlatformInstanceSpec,
  status: Schema.optionalKey(
    Schema.Unknown.check(
      Schema.makeFilter((status) =>
        unknownFields(status, statusSchema).map((path) => ({
          path,
          issue: "is not a field of a PlatformInstance",
        })),
      ),
    ),
  ),
}).check(celRule(nameRule))
export type Manifest = typeof Manifest.Type

const strict = { errors: "all", onExcessProperty: "error", reportInput: true } as const
const decode = Schema.decodeUnknownEffect(Manifest, strict)
const decodeStatus = Schema.decodeUnknownEffect(PlatformInstanceStatus, strict)

/**
 * The object as a create or an update would store it, with defaults; or everything the server would refuse. A status
 * that comes along is dropped by the server: only unknown fields in it are errors.
 */
export const decodeManifest = (manifest: unknown): Effect.Effect<Manifest, Schema.SchemaError> =>
  Effect.suspend(() => decode(dropNulls(manifest, openAPIV3Schema)))

/** A status as a write to the status subresource would store it. */
export const decodeManifestStatus = (
  status: unknown,
): Effect.Effect<PlatformInstanceStatus, Schema.SchemaError> =>
  Effect.suspend(() => decodeStatus(dropNulls(status, statusSchema)))

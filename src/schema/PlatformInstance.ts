// A PlatformInstance as the operator reads it from the API server.
import { Effect, Predicate, Schema } from "effect"
import { type CelRule, celRule, Int64 } from "./Fields.ts"
import type { InstanceKey } from "./InstanceKey.ts"
import { API_VERSION, KIND, MAX_INSTANCE_NAME } from "./Names.ts"
import { PlatformInstanceSpec } from "./PlatformSpec.ts"
import { PlatformInstanceStatus } from "./PlatformStatus.ts"
import { schemaIssues } from "./SchemaErrors.ts"
import { codePoints } from "./Text.ts"

const Strings = Schema.Record(Schema.String, Schema.String)

/** The part of ObjectMeta the operator uses. */
export const InstanceMetadata = Schema.Struct({
  name: Schema.String,
  namespace: Schema.String,
  uid: Schema.String,
  resourceVersion: Schema.String,
  generation: Int64,
  creationTimestamp: Schema.String,
  deletionTimestamp: Schema.optionalKey(Schema.String),
  labels: Schema.optionalKey(Strings),
  annotations: Schema.optionalKey(Strings),
  finalizers: Schema.optionalKey(Schema.Array(Schema.String)),
  ownerReferences: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        apiVersion: Schema.String,
        kind: Schema.String,
        name: Schema.String,
        uid: Schema.String,
        controller: Schema.optionalKey(Schema.Boolean),
        blockOwnerDeletion: Schema.optionalKey(Schema.Boolean),
      }),
    ),
  ),
})
export type InstanceMetadata = typeof InstanceMetadata.Type

/** At the root, where alone a CRD may speak of the name. */
export const nameRule: CelRule<{ readonly metadata: { readonly name: string } }> = {
  rule: `size(self.metadata.name) <= ${MAX_INSTANCE_NAME}`,
  message: `name must be at most ${MAX_INSTANCE_NAME} characters`,
  holds: ({ metadata }) => codePoints(metadata.name) <= MAX_INSTANCE_NAME,
}

export const PlatformInstance = Schema.Struct({
  apiVersion: Schema.Literal(API_VERSION),
  kind: Schema.Literal(KIND),
  metadata: InstanceMetadata,
  spec: PlatformInstanceSpec,
  status: Schema.optionalKey(PlatformInstanceStatus),
}).check(celRule(nameRule))
export type PlatformInstance = typeof PlatformInstance.Type

const decode = Schema.decodeUnknownEffect(PlatformInstance, { errors: "all", reportInput: true })

/** Without the fields of the status that do not decode; nothing when something else is wrong. */
const withoutBrokenStatus = (object: unknown, error: Schema.SchemaError): unknown => {
  const issues = schemaIssues(error)
  if (!Predicate.isObject(object) || !issues.every(({ path }) => path[0] === "status")) return undefined
  const { status, ...rest }: Readonly<Record<PropertyKey, unknown>> = object
  const broken = new Set(issues.map(({ path }) => path[1]))
  if (!Predicate.isObject(status)) return rest
  return { ...rest, status: Object.fromEntries(Object.entries(status).filter(([key]) => !broken.has(key))) }
}

/** What a cache holds is never changed in place, and is asked for at each pass: one object is decoded once. */
const decoded = new WeakMap<object, PlatformInstance>()

const decodeAnew = (object: unknown): Effect.Effect<PlatformInstance, Schema.SchemaError> =>
  decode(object).pipe(
    Effect.catch((error) => {
      const salvaged = withoutBrokenStatus(object, error)
      return salvaged === undefined ? Effect.fail(error) : decode(salvaged)
    }),
  )

/**
 * Decodes an object read from the server. Fields this version does not know are dropped (a newer operator may have
 * stored them). A field of the *status* that does not decode counts as lost, as after a restore: the operator's record
 * is there to write it again. Whatever else breaks a rule fails with every issue at once (`formatSchemaError` makes
 * one line of it).
 */
export const decodePlatformInstance = (
  object: unknown,
): Effect.Effect<PlatformInstance, Schema.SchemaError> => {
  if (!Predicate.isObject(object)) return decodeAnew(object)
  const known = decoded.get(object)
  if (known !== undefined) return Effect.succeed(known)
  return Effect.tap(decodeAnew(object), (instance) => Effect.sync(() => decoded.set(object, instance)))
}

export const instanceKey = (instance: {
  readonly metadata: { readonly namespace: string; readonly name: string }
}): InstanceKey => ({ namespace: instance.metadata.namespace, name: instance.metadata.name })

// A PlatformInstance as the operator reads it from the API server.
import { type Effect, Schema } from "effect"
import { type CelRule, celRule, Int64 } from "./Fields.ts"
import type { InstanceKey } from "./InstanceKey.ts"
import { API_VERSION, KIND, MAX_INSTANCE_NAME } from "./Names.ts"
import { PlatformInstanceSpec } from "./PlatformSpec.ts"
import { PlatformInstanceStatus } from "./PlatformStatus.ts"
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

/**
 * Decodes an object read from the server. Fields this version does not know are dropped (a newer operator may have
 * stored them); whatever breaks a rule fails with every issue at once (`formatSchemaError` makes one line of it).
 */
export const decodePlatformInstance: (
  object: unknown,
) => Effect.Effect<PlatformInstance, Schema.SchemaError> = Schema.decodeUnknownEffect(PlatformInstance, {
  errors: "all",
  reportInput: true,
})

export const instanceKey = (instance: {
  readonly metadata: { readonly namespace: string; readonly name: string }
}): InstanceKey => ({ namespace: instance.metadata.namespace, name: instance.metadata.name })

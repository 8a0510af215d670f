// An instance as this program looks at it: as much of it as can be read, whatever the operator's release.
import { Effect, Schema } from "effect"
import { getJson, Kubectl, type Where } from "./Kubectl.ts"

const Condition = Schema.Struct({
  type: Schema.String,
  status: Schema.String,
  reason: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String),
  lastTransitionTime: Schema.optionalKey(Schema.String),
  observedGeneration: Schema.optionalKey(Schema.Finite),
})
export type Condition = typeof Condition.Type

export const Instance = Schema.Struct({
  metadata: Schema.Struct({
    name: Schema.String,
    namespace: Schema.String,
    uid: Schema.String,
    generation: Schema.optionalKey(Schema.Finite),
    creationTimestamp: Schema.optionalKey(Schema.String),
    deletionTimestamp: Schema.optionalKey(Schema.String),
    annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
  spec: Schema.optionalKey(Schema.Struct({ version: Schema.optionalKey(Schema.String) })),
  status: Schema.optionalKey(
    Schema.Struct({
      phase: Schema.optionalKey(Schema.String),
      observedGeneration: Schema.optionalKey(Schema.Finite),
      installedVersion: Schema.optionalKey(Schema.String),
      lastRepair: Schema.optionalKey(Schema.String),
      endpoints: Schema.optionalKey(
        Schema.Struct({
          http: Schema.optionalKey(Schema.String),
          kubernetes: Schema.optionalKey(Schema.String),
        }),
      ),
      kubeconfigSecretRef: Schema.optionalKey(Schema.Struct({ name: Schema.String })),
      conditions: Schema.optionalKey(Schema.Array(Condition)),
    }),
  ),
})
export type Instance = typeof Instance.Type

export const conditionOf = ({ status }: Instance, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type)

/** Its short name is somebody else's in many clusters. */
export const RESOURCE = "platforminstances.platform.di-framework.dev"

export const getInstance = (where: Where, name: string) =>
  getJson(Instance, where, [RESOURCE, name]).pipe(
    Effect.map((instance) => ({ instance, where: { ...where, namespace: instance.metadata.namespace } })),
  )

/** `annotation`: `<name>=<value>`, or `<name>-` to take it away. */
export const annotateInstance = Effect.fnUntraced(function* (where: Where, name: string, annotation: string) {
  const kubectl = yield* Kubectl
  yield* kubectl.run(where, ["annotate", RESOURCE, name, "--overwrite", annotation])
})

// `status`: what the operator says about an instance.
import { Schema } from "effect"
import { DateTimeText, Int32, Int64, int64AtLeast, mapList, matches, upTo } from "./Fields.ts"

export const Phase = Schema.Literals(["Pending", "Provisioning", "Installing", "Ready", "Failed", "Deleting"])
export type Phase = typeof Phase.Type

const text = (description: string) => Schema.optionalKey(Schema.String.annotate({ description }))

/** metav1.Condition with the bounds Kubernetes gives it. */
const ConditionEntry = Schema.Struct({
  type: upTo(316)
    .check(
      matches(
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        "a condition type",
      ),
    )
    .annotate({ description: "What the condition is about." }),
  status: Schema.Literals(["True", "False", "Unknown"]).annotate({
    description: "Whether it is so.",
  }),
  observedGeneration: Schema.optionalKey(
    int64AtLeast(0).annotate({ description: "The generation the condition describes." }),
  ),
  lastTransitionTime: DateTimeText.annotate({ description: "When `status` last changed." }),
  reason: Schema.String.check(Schema.isMinCodePoints(1), Schema.isMaxCodePoints(1024))
    .check(matches("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "a CamelCase reason"))
    .annotate({ description: "Why, in one CamelCase word." }),
  message: upTo(32768).annotate({ description: "Why, for people." }),
})

export const Applied = Schema.Struct({
  generation: Int64.annotate({
    description: "Which `metadata.generation` it was.",
  }),
  tenants: Int32.annotate({ description: "Number of applied tenants." }),
  users: Int32.annotate({ description: "Number of applied users." }),
  tenantAuthIssuer: text("The issuer of `tenantAuth`; empty when there is none."),
  tenantHostImage: text(
    "The image of the tenant hosts; empty when it was left to the platform. Later installs go on with it while `spec.platform.tenantHostImage` is empty.",
  ),
}).annotate({ description: "The outcome of the last install that succeeded." })
export type Applied = typeof Applied.Type

export const TargetStatus = Schema.Struct({
  serviceUID: text(
    "The UID that `service/vcluster` had at the last install or resync. When it has another one, the garbage collector has taken what was synced, and a resync is due.",
  ),
  resyncServiceUID: text(
    "While a resync runs: the UID of the `service/vcluster` for which the control plane was started again.",
  ),
  resyncStarted: Schema.optionalKey(
    DateTimeText.annotate({
      description: "While a resync runs: when the control plane was started again.",
    }),
  ),
}).annotate({ description: "What is remembered of the target." })
export type TargetStatus = typeof TargetStatus.Type

export const PlatformInstanceStatus = Schema.Struct({
  phase: Schema.optionalKey(Phase.annotate({ description: "Coarse lifecycle state." })),
  observedGeneration: Schema.optionalKey(
    Int64.annotate({ description: "Which generation this status is about." }),
  ),
  installedVersion: text("The version that is installed: that of the last install that succeeded."),
  endpoints: Schema.optionalKey(
    Schema.Struct({
      kubernetes: text("The address of the instance's API, as the install gave it."),
      http: text("The gateway's address, as the install gave it."),
    }).annotate({ description: "Where the instance is reached." }),
  ),
  kubeconfigSecretRef: Schema.optionalKey(
    Schema.Struct({
      name: Schema.String.annotate({ description: "The Secret's name." }),
    }).annotate({
      description:
        "Where the admin kubeconfig lies: a Secret beside the instance, key `kubeconfig`. Here for as long as there is that Secret.",
    }),
  ),
  applied: Schema.optionalKey(Applied),
  lastRepair: Schema.optionalKey(
    DateTimeText.annotate({ description: "The end of the last periodic repair." }),
  ),
  target: Schema.optionalKey(TargetStatus),
  conditions: Schema.optionalKey(
    mapList(ConditionEntry, "type").annotate({
      description: "TargetReady, Installed, ConfigApplied, Ready and OwnerServiceProtected.",
    }),
  ),
}).annotate({ description: "What is. Written by the operator alone." })
export type PlatformInstanceStatus = typeof PlatformInstanceStatus.Type

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
    description: "The `metadata.generation` whose settings were applied.",
  }),
  tenants: Int32.annotate({ description: "Number of applied tenants." }),
  users: Int32.annotate({ description: "Number of applied users." }),
  tenantAuthIssuer: text("The applied `tenantAuth` issuer; empty without `tenantAuth`."),
  tenantHostImage: text(
    "The applied tenant host image; empty means the platform's own default. With `spec.platform.tenantHostImage` empty, later installs keep using it.",
  ),
}).annotate({ description: "What the last successful install applied." })
export type Applied = typeof Applied.Type

export const TargetStatus = Schema.Struct({
  serviceUID: text(
    "UID of the vCluster's `service/vcluster` when the platform was last installed or resynced. Another UID means that the synced state was garbage-collected and the instance needs a resync.",
  ),
  resyncServiceUID: text(
    "Set while a resync is running: the UID of the `service/vcluster` it restarted the vCluster control plane for.",
  ),
  resyncStarted: Schema.optionalKey(
    DateTimeText.annotate({
      description: "When the running resync restarted the vCluster control plane.",
    }),
  ),
}).annotate({ description: "What the operator recorded about the target cluster." })
export type TargetStatus = typeof TargetStatus.Type

export const PlatformInstanceStatus = Schema.Struct({
  phase: Schema.optionalKey(Phase.annotate({ description: "Coarse lifecycle state." })),
  observedGeneration: Schema.optionalKey(
    Int64.annotate({ description: "The generation the status describes." }),
  ),
  installedVersion: text("Platform version the last successful install applied."),
  endpoints: Schema.optionalKey(
    Schema.Struct({
      kubernetes: text("The instance's Kubernetes endpoint, from the install's outputs."),
      http: text("The gateway's public base URL, from the install's outputs."),
    }).annotate({ description: "Where the instance is reached." }),
  ),
  kubeconfigSecretRef: Schema.optionalKey(
    Schema.Struct({
      name: Schema.String.annotate({ description: "The Secret's name." }),
    }).annotate({
      description:
        "Secret in the PlatformInstance's namespace holding the instance's admin kubeconfig under the key `kubeconfig`. Kept while that Secret exists.",
    }),
  ),
  applied: Schema.optionalKey(Applied),
  lastRepair: Schema.optionalKey(
    DateTimeText.annotate({ description: "When the last periodic refresh and up finished." }),
  ),
  target: Schema.optionalKey(TargetStatus),
  conditions: Schema.optionalKey(
    mapList(ConditionEntry, "type").annotate({
      description: "TargetReady, Installed, ConfigApplied, Ready and OwnerServiceProtected.",
    }),
  ),
}).annotate({ description: "What is. Written by the operator alone." })
export type PlatformInstanceStatus = typeof PlatformInstanceStatus.Type

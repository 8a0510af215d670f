// What tells that something is installed, where the state directory does not say so itself: the record, the status, the
// target. An install without its state would begin with an empty one, and take what is there for somebody else's.
import { Effect, Option, type Redacted, Schema } from "effect"
import { ANNOTATION_FRESH_START } from "../../../schema/Names.ts"
import type { InstanceMetadata, PlatformInstance } from "../../../schema/PlatformInstance.ts"
import type { PlatformInstanceStatus } from "../../../schema/PlatformStatus.ts"
import { epochMillis } from "../../../schema/Time.ts"
import { Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import type { InstanceRecord } from "../../../services/StateStore/StateStore.ts"

const dayMillis = 24 * 60 * 60 * 1000

/** Somebody has asked for it, not longer than a day ago: an annotation that is forgotten, or comes back with a manifest, does nothing. */
export const wantsFreshStart = (
  { annotations }: Pick<InstanceMetadata, "annotations">,
  now: number,
): boolean => {
  const asked = annotations?.[ANNOTATION_FRESH_START]
  return asked !== undefined && Math.abs(now - epochMillis(asked)) < dayMillis
}

/** By this life, or by a predecessor that was retained; of a record that was lost the status still tells. */
export const everInstalled = (instance: PlatformInstance, record: Option.Option<InstanceRecord>): boolean =>
  Option.exists(record, ({ installed }) => installed !== undefined) ||
  instance.status?.installedVersion !== undefined

/** The record is older than what the status has shown, as after a restore of the state directory. */
export const isBehind = (status: PlatformInstanceStatus, record: InstanceRecord): boolean => {
  const { installed } = record
  if (installed === undefined) return status.installedVersion !== undefined
  return (
    (status.applied?.generation ?? 0) > installed.generation ||
    epochMillis(status.lastRepair ?? "") > epochMillis(installed.finishedAt)
  )
}

const decodeNamespaces = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      items: Schema.Array(
        Schema.Struct({
          metadata: Schema.Struct({
            name: Schema.String,
            managedFields: Schema.optionalKey(
              Schema.Array(Schema.Struct({ manager: Schema.optionalKey(Schema.String) })),
            ),
          }),
        }),
      ),
    }),
  ),
)

/** The field manager of Pulumi's Kubernetes provider, with a number of its own each time (seen: 4.25.0). */
const isPulumis = (manager: string | undefined): boolean => manager?.startsWith("pulumi-kubernetes") === true

/** A namespace inside the target that an engine has made, if there is one. */
export const madeInside = Effect.fn("Install.madeInside")(function* (kubeconfig: Redacted.Redacted) {
  const kubernetes = yield* Kubernetes
  const client = yield* kubernetes.connect(kubeconfig)
  const text = yield* client.raw("/api/v1/namespaces")
  return Option.flatMap(decodeNamespaces(text), ({ items }) =>
    Option.fromUndefinedOr(
      items.find(({ metadata }) => metadata.managedFields?.some(({ manager }) => isPulumis(manager)))
        ?.metadata.name,
    ),
  )
}, Effect.scoped)

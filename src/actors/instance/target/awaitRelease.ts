// Helm writes past the operator's client. What it has left is read live once and waited for in the caches: who decides
// from a record that still says `pending-install` removes a release that has just come up.
import { Effect, Option } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { hostNamespace } from "../../../schema/Names.ts"
import { parseTime } from "../../../schema/Time.ts"
import type { Helm } from "../../../services/Helm/Helm.ts"
import { Secret } from "../../../services/Kubernetes/Kinds.ts"
import {
  type KubeError,
  type KubeObject,
  Kubernetes,
  type ResourceKind,
} from "../../../services/Kubernetes/Kubernetes.ts"
import { Views } from "../Views.ts"
import { CONTROL_PLANE_SELECTOR, RELEASE_SELECTOR } from "./observeTarget.ts"
import {
  deployedRecord,
  kindOf,
  RELEASE_KINDS,
  readRelease,
  releaseNamespace,
  type StoredRelease,
} from "./releaseObjects.ts"
import type { SlotStep } from "./TargetState.ts"

/** What there is live, once the caches have shown it or a bounded time has passed. */
const shown = Effect.fnUntraced(function* (key: InstanceKey, kind: ResourceKind, labelSelector: string) {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const namespace = hostNamespace(key)
  const where = kind.namespaced ? { namespace } : {}
  const objects = yield* kubernetes.list(kind, { ...where, labelSelector, metadataOnly: true })
  const own = objects.filter((object) => kind.namespaced || releaseNamespace(object) === namespace)
  yield* Effect.forEach(own, (object) => views.awaitWrite(kind, object), {
    concurrency: "unbounded",
    discard: true,
  })
  return own
})

/** An install makes all its objects after its record, which names them: nothing older is waited for. */
const installed = Effect.fnUntraced(function* (
  key: InstanceKey,
  records: ReadonlyArray<KubeObject>,
  known: Option.Option<StoredRelease>,
) {
  const views = yield* Views
  const deployed = deployedRecord(key, records)
  const since = Option.flatMap(deployed, ({ record }) => parseTime(record.metadata.creationTimestamp ?? ""))
  if (Option.isNone(deployed) || Option.isNone(since)) return Option.none<StoredRelease>()
  const read = yield* readRelease(key, deployed.value, known).pipe(
    Effect.asSome,
    // The next look tells of one that cannot be read.
    Effect.catchTag("HelmError", () => Effect.succeedNone),
  )
  const objects = Option.match(read, { onNone: () => [], onSome: (stored) => stored.objects })
  yield* Effect.forEach(
    objects,
    (manifest) => {
      const kind = kindOf(manifest)
      return kind === undefined ? Effect.void : views.awaitMade(kind, manifest, since.value)
    },
    { concurrency: "unbounded", discard: true },
  )
  return read
})

/**
 * Waits, for a bounded time, until the caches show the release's records and objects as this step has left them. Gives the
 * deployed release where it was read, or is known.
 */
export const awaitRelease = Effect.fn("Target.awaitRelease")(function* (
  key: InstanceKey,
  step: SlotStep["_tag"],
  known: Option.Option<StoredRelease>,
): Effect.fn.Return<Option.Option<StoredRelease>, KubeError, Kubernetes | Views | Helm> {
  const records = yield* shown(key, Secret, RELEASE_SELECTOR)
  const made = step === "InstallRelease" ? yield* installed(key, records, known) : Option.none()
  if (Option.isSome(made)) return made
  yield* Effect.forEach(RELEASE_KINDS, (kind) => shown(key, kind, CONTROL_PLANE_SELECTOR), {
    concurrency: "unbounded",
    discard: true,
  })
  return known
})

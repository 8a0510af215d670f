// What a repair has set right is told: an Event, the span, a metric. A repair that has found nothing tells nothing.
import { Effect } from "effect"
import { Events } from "../../../services/Events/Events.ts"
import type { KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import { increment } from "../../../services/Metrics/Metrics.ts"

/** How many objects an Event names: its note holds 1,024 bytes. */
const named = 8

const listed = (names: ReadonlyArray<string>): string =>
  names.slice(0, named).join(", ") + (names.length > named ? ` and ${names.length - named} more` : "")

export const tellRestored = Effect.fnUntraced(function* (object: KubeObject, restored: ReadonlySet<string>) {
  if (restored.size === 0) return
  const list = listed([...restored])
  yield* Effect.annotateCurrentSpan({
    "platforminstance.restored.count": restored.size,
    "platforminstance.restored.objects": list,
  })
  yield* increment("platform_operator_restored_objects_total", {}, restored.size)
  const { namespace = "", name } = object.metadata
  yield* increment("platforminstance_restored_objects_total", { namespace, name }, restored.size)
  const events = yield* Events
  yield* events.emit(object, {
    type: "Normal",
    reason: "Repaired",
    action: "Install",
    note: `set right inside the instance: ${list}`,
  })
})

/** What it could not set right, because the server refuses it: somebody has to look. */
export const tellKept = (events: Events["Service"], object: KubeObject, kept: ReadonlyArray<string>) =>
  events.emit(object, {
    type: "Warning",
    reason: "NotRepaired",
    action: "Install",
    note: `left as it is inside the instance, because its API server refuses what the Helm release says of it: ${listed(kept)}`,
  })

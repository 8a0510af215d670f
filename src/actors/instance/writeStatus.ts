// Writes the status when it differs from what the server has, and only then.
import { Clock, DateTime, Effect, Equal } from "effect"
import { type InstanceMetadata, instanceKey } from "../../schema/PlatformInstance.ts"
import { formatTime } from "../../schema/Time.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import type { Memory } from "./Memory.ts"
import { type Facts, nextStatus } from "./report.ts"

/** The whole status is replaced, so that fields gone from it are gone; the UID keeps it off a successor. */
export const writeStatus = Effect.fn("Instance.writeStatus")(function* (
  memory: Memory,
  instance: { readonly metadata: InstanceMetadata },
  facts: Facts,
): Effect.fn.Return<void, KubeError, Kubernetes> {
  const now = DateTime.makeUnsafe(yield* Clock.currentTimeMillis)
  memory.status = nextStatus(memory.status, facts, formatTime(now))
  if (Equal.equals(memory.status, memory.written)) return
  const kubernetes = yield* Kubernetes
  const status = memory.status
  yield* kubernetes.patch(
    Instances,
    instanceKey(instance),
    {
      type: "json",
      operations: [
        { op: "test", path: "/metadata/uid", value: instance.metadata.uid },
        { op: "add", path: "/status", value: status },
      ],
    },
    { subresource: "status" },
  )
  memory.written = status
})

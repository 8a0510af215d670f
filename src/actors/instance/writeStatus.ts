// Writes the status when it differs from what the server has, and only then.
import { Clock, DateTime, Effect, Equal, Option, Schema } from "effect"
import { PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import { formatTime } from "../../schema/Time.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, type KubeObject, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import type { Facts } from "./Facts.ts"
import { internalErrorStatus } from "./internalError.ts"
import type { Memory } from "./Memory.ts"
import { nextStatus, unreadableStatus } from "./report.ts"
import { Views } from "./Views.ts"

type Subject = {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string }
}

/** The whole status is replaced, so that fields gone from it are gone; the UID keeps it off a successor. */
const replaceStatus = Effect.fn("Instance.writeStatus")(function* (
  { metadata }: Subject,
  status: PlatformInstanceStatus,
): Effect.fn.Return<void, KubeError, Kubernetes | Views> {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const written = yield* kubernetes.patch(
    Instances,
    { namespace: metadata.namespace, name: metadata.name },
    {
      type: "json",
      operations: [
        { op: "test", path: "/metadata/uid", value: metadata.uid },
        { op: "add", path: "/status", value: status },
      ],
    },
    { subresource: "status" },
  )
  // The next pass compares with what the cache shows: it must not see the status from before this write.
  yield* views.awaitWrite(Instances, written)
})

const timeNow = Effect.map(Clock.currentTimeMillis, (now) => formatTime(DateTime.makeUnsafe(now)))

export const writeStatus = Effect.fnUntraced(function* (memory: Memory, subject: Subject, facts: Facts) {
  memory.status = nextStatus(memory.status, facts, yield* timeNow)
  if (Equal.equals(memory.status, memory.written)) return
  const { status } = memory
  yield* replaceStatus(subject, status)
  memory.written = status
})

const StatusOnly = Schema.Struct({ status: Schema.optionalKey(PlatformInstanceStatus) })

/** Writes what becomes of the status of an object that nothing else is known of. Gives whether that is news. */
const amendStatus = Effect.fnUntraced(function* (
  object: KubeObject,
  amend: (before: PlatformInstanceStatus, now: string) => PlatformInstanceStatus,
) {
  const { metadata } = object
  const before = Option.getOrUndefined(Schema.decodeUnknownOption(StatusOnly)(object))?.status ?? {}
  const after = amend(before, yield* timeNow)
  if (Equal.equals(before, after)) return false
  yield* replaceStatus({ metadata: { ...metadata, namespace: metadata.namespace ?? "" } }, after)
  return true
})

/** Of an object that cannot be worked on at all: its spec or its record cannot be read. */
export const writeUnreadable = (object: KubeObject, message: string) =>
  amendStatus(object, (before, now) =>
    unreadableStatus(before, message, object.metadata.generation ?? 0, now),
  )

/** Of an instance whose actor keeps dying. */
export const writeInternalError = (object: KubeObject) =>
  amendStatus(object, (before, now) => {
    const { generation = 0, deletionTimestamp } = object.metadata
    return internalErrorStatus(before, { generation, deleting: deletionTimestamp !== undefined }, now)
  })

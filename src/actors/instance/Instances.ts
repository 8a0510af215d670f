// All instances: one supervised actor each, woken by the watches.
import { type Cause, Duration, Effect, FiberHandle, Option, Result, Stream } from "effect"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import { Events } from "../../services/Events/Events.ts"
import { PlatformInstance } from "../../services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import { increment } from "../../services/Metrics/Metrics.ts"
import { makeWorkQueue, WorkQueue } from "../../services/Metrics/WorkQueue.ts"
import { restartBackoff } from "../kit/Backoff.ts"
import { makeSupervisor } from "../kit/Supervisor.ts"
import { instanceActor } from "./InstanceActor.ts"
import { tidyPackages } from "./install/tidyPackages.ts"
import { deathsToTell, internalError } from "./internalError.ts"
import { InstanceMeter, makeInstanceMetrics } from "./metrics/InstanceMetrics.ts"
import { timedSlot } from "./metrics/operations.ts"
import type { Operation, OperationError, OperationResult } from "./Operation.ts"
import type { InstanceServices } from "./Pass.ts"
import { Settings } from "./Settings.ts"
import { Protection } from "./target/Protection.ts"
import { Views } from "./Views.ts"
import { writeInternalError } from "./writeStatus.ts"

/** The inverse of `formatKey`: neither part can hold a slash. */
const parseKey = (text: string): InstanceKey => {
  const slash = text.indexOf("/")
  return { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}

/** Counted, logged, an Event: a defect is never silent, and never the end of the process. */
const onDefect = Effect.fnUntraced(function* (
  key: string,
  cause: Cause.Cause<never>,
  died: number,
): Effect.fn.Return<void, never, Events | Views | Kubernetes> {
  yield* increment("platform_operator_actor_restarts_total", {})
  yield* Effect.logError("instance actor died, restarting it", cause).pipe(Effect.annotateLogs({ died }))
  const object = yield* (yield* Views).instance(parseKey(key))
  if (Option.isNone(object)) return
  yield* (yield* Events).emit(object.value, {
    type: "Warning",
    reason: "InternalError",
    action: "Reconcile",
    note: internalError,
  })
  if (died < deathsToTell) return
  yield* writeInternalError(object.value).pipe(
    Effect.catchTag("KubeError", (error) =>
      Effect.logWarning("telling of a defect failed").pipe(
        Effect.annotateLogs({ request: error.request, reason: error.reason, message: error.message }),
      ),
    ),
  )
})

/** Waits for the caches: nothing is judged missing before they are complete. */
export const awaitCaches = Effect.gen(function* () {
  const views = yield* Views
  yield* Effect.logInfo("waiting for the caches")
  yield* views.synced
  yield* Effect.logInfo("caches are complete")
})

/** Between two tries. */
const tryAgain = Duration.seconds(5)

/**
 * For as long as there is no instance their definition is not protected: it has to be said until the server has heard it. That
 * there is none is asked of the server itself: a cache may be that of a server that is behind.
 */
const letDefinitionGo = Effect.gen(function* () {
  const views = yield* Views
  const protection = yield* Protection
  const kubernetes = yield* Kubernetes
  const lift = Effect.gen(function* () {
    const live = yield* kubernetes.list(PlatformInstance, { metadataOnly: true })
    if (live.length === 0) yield* protection.letDefinitionGo
    return live.length === 0
  })
  while ((yield* views.instances).length === 0) {
    const lifted = yield* Effect.result(lift)
    if (Result.isSuccess(lifted)) {
      if (lifted.success) return
    } else {
      // A server without admission policies has none in the way.
      if (lifted.failure.code === 404) return
      const { request, reason, message } = lifted.failure
      yield* Effect.logWarning("the protection of the definition is not lifted").pipe(
        Effect.annotateLogs({ request, reason, message }),
      )
    }
    yield* Effect.sleep(tryAgain)
  }
})

/** Runs until interrupted, which ends all that was begun. The caches are complete. */
export const runInstances = Effect.gen(function* () {
  const views = yield* Views
  const { watchNamespaces } = yield* Settings
  const isServed = ({ namespace }: InstanceKey) =>
    watchNamespaces.length === 0 || watchNamespaces.includes(namespace)
  const queue = yield* makeWorkQueue
  const actor = instanceActor(parseKey)
  const supervisor = yield* makeSupervisor<Operation, OperationResult, OperationError, InstanceServices>({
    actor: (context) => actor({ ...context, slot: timedSlot(context.slot) }),
    restart: restartBackoff,
    onDefect,
    onWake: queue.woken,
  }).pipe(
    Effect.provideService(WorkQueue, queue),
    Effect.provideService(InstanceMeter, yield* makeInstanceMetrics),
  )
  yield* Effect.forkScoped(tidyPackages)
  const letting = yield* FiberHandle.make<void, never>()
  const follow = FiberHandle.run(letting, letDefinitionGo, { onlyIfMissing: true })
  yield* follow
  return yield* Stream.runForEach(views.wakeups, ({ key, reason }) =>
    Effect.gen(function* () {
      if (reason === "instance" && (yield* views.instances).length === 0) yield* follow
      if (isServed(key)) yield* supervisor.notify(formatKey(key), reason)
    }),
  )
}).pipe(Effect.scoped)

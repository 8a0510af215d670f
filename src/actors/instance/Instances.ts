// All instances: one supervised actor each, woken by the watches.
import { type Cause, Effect, Metric, Option, Stream } from "effect"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import { Events } from "../../services/Events/Events.ts"
import type { Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import { restartBackoff } from "../kit/Backoff.ts"
import { makeSupervisor } from "../kit/Supervisor.ts"
import { instanceActor } from "./InstanceActor.ts"
import { deathsToTell, internalError } from "./internalError.ts"
import type { Operation, OperationError, OperationResult } from "./Operation.ts"
import type { InstanceServices } from "./Pass.ts"
import { Views } from "./Views.ts"
import { writeInternalError } from "./writeStatus.ts"

const deaths = Metric.counter("platform_operator_actor_restarts_total", {
  description: "Instance actors that died of a defect and were restarted",
  incremental: true,
})

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
  yield* Metric.update(deaths, 1)
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

/** Runs until interrupted. `onReady` once the caches are complete: nothing is judged missing before that. */
export const runInstances = Effect.fnUntraced(function* (onReady: Effect.Effect<void>) {
  const views = yield* Views
  const supervisor = yield* makeSupervisor<Operation, OperationResult, OperationError, InstanceServices>({
    actor: instanceActor(parseKey),
    restart: restartBackoff,
    onDefect,
  })
  yield* Effect.logInfo("waiting for the caches")
  yield* views.synced
  yield* onReady
  yield* Effect.logInfo("caches are complete")
  return yield* Stream.runForEach(views.wakeups, ({ key, reason }) =>
    supervisor.notify(formatKey(key), reason),
  )
})

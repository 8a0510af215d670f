// The actor of one PlatformInstance. A pass is: observe -> plan -> act (at most one step that changes the world)
// -> report -> arm timers. Whatever takes long runs in the slot, so that the mailbox stays open.
import { Duration, Effect, Option, type Scope } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { decodePlatformInstance, type PlatformInstance } from "../../schema/PlatformInstance.ts"
import { formatSchemaError } from "../../schema/SchemaErrors.ts"
import { Events } from "../../services/Events/Events.ts"
import type { KubeError, KubeObject } from "../../services/Kubernetes/Kubernetes.ts"
import { StateStore, type StateStoreError } from "../../services/StateStore/StateStore.ts"
import { makeTimers } from "../kit/Timers.ts"
import { deletionPass } from "./deletionPass.ts"
import { livePass } from "./livePass.ts"
import { emptyMemory, type Memory } from "./Memory.ts"
import type { InstanceContext, InstanceServices, Pass } from "./Pass.ts"
import { Settings } from "./Settings.ts"
import { settle } from "./settle.ts"
import { makeProber } from "./target/Prober.ts"
import { Views } from "./Views.ts"

/** After a pass that failed (the API did not answer, a write was refused): look again this much later. */
const passRetry = Duration.seconds(1)

/** The object cannot be read by this version: say which field, leave it alone, wait for an edit. */
const undecodable = Effect.fnUntraced(function* (object: KubeObject, message: string) {
  const events = yield* Events
  yield* Effect.logError("PlatformInstance cannot be read").pipe(Effect.annotateLogs({ message }))
  yield* events.emit(object, { type: "Warning", reason: "InvalidSpec", action: "Decode", note: message })
})

/** Memory belongs to one UID: the slot of an earlier life has to end before this one remembers anything. */
const remember = Effect.fnUntraced(function* (
  context: InstanceContext,
  key: InstanceKey,
  instance: PlatformInstance,
  known: Memory | undefined,
): Effect.fn.Return<Memory, StateStoreError, StateStore> {
  if (known !== undefined && known.uid === instance.metadata.uid) return known
  if (known !== undefined) {
    yield* context.slot.stop
    yield* context.slot.acknowledge
  }
  const store = yield* StateStore
  return emptyMemory(instance.metadata.uid, instance.status ?? {}, yield* store.readRecord(key))
})

const onePass = Effect.fnUntraced(function* (
  pass: Pass,
): Effect.fn.Return<void, KubeError, InstanceServices> {
  const { context, memory, object } = pass
  const finished = context.slot.state()
  if (finished._tag === "Finished") {
    yield* settle(memory, object, finished.operation, finished.exit)
    yield* context.slot.acknowledge
  }
  yield* pass.instance.metadata.deletionTimestamp === undefined ? livePass(pass) : deletionPass(pass)
})

export const instanceActor =
  (keyOf: (key: string) => InstanceKey) =>
  (context: InstanceContext): Effect.Effect<void, never, InstanceServices | Scope.Scope> =>
    Effect.gen(function* () {
      const key = keyOf(context.key)
      const views = yield* Views
      const settings = yield* Settings
      const scope = yield* Effect.scope
      const timers = yield* makeTimers(context.mailbox)
      const prober = yield* makeProber(context.mailbox, settings.targetPoll)
      let memory: Memory | undefined
      while (true) {
        yield* context.mailbox.take
        const found = yield* views.instance(key)
        if (Option.isNone(found)) {
          // Gone: whatever still runs for it ends, and so does the actor.
          yield* context.slot.stop
          yield* context.slot.acknowledge
          return
        }
        const object = found.value
        yield* Effect.gen(function* () {
          const instance = yield* decodePlatformInstance(object)
          memory = yield* remember(context, key, instance, memory)
          yield* onePass({ context, timers, prober, scope, memory, object, instance })
        }).pipe(
          Effect.catchTags({
            SchemaError: (error) => undecodable(object, formatSchemaError(error)),
            KubeError: (error) =>
              Effect.logWarning("pass failed, trying again").pipe(
                Effect.annotateLogs({ request: error.request, reason: error.reason, message: error.message }),
                Effect.andThen(timers.arm("pass", passRetry)),
              ),
            StateStoreError: (error) =>
              Effect.logError("state directory cannot be read").pipe(
                Effect.annotateLogs({ path: error.path, message: error.message }),
                Effect.andThen(timers.arm("pass", settings.targetPoll)),
              ),
          }),
          Effect.withSpan("Instance", { root: true, attributes: { instance: context.key } }),
        )
      }
    })

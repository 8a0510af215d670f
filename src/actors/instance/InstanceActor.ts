// The actor of one PlatformInstance. A pass is: observe -> plan -> act (at most one step that changes the world)
// -> report -> arm timers. Whatever takes long runs in the slot, so that the mailbox stays open.
import { Duration, Effect, Option, type Scope } from "effect"
import { decodeDeletionView } from "../../schema/DeletionView.ts"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { decodePlatformInstance, type PlatformInstance } from "../../schema/PlatformInstance.ts"
import type { PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import { formatSchemaError } from "../../schema/SchemaErrors.ts"
import { Events } from "../../services/Events/Events.ts"
import type { KubeObject } from "../../services/Kubernetes/Kubernetes.ts"
import {
  type InstanceRecord,
  StateStore,
  type StateStoreError,
} from "../../services/StateStore/StateStore.ts"
import { makeTimers } from "../kit/Timers.ts"
import { deletionPass } from "./deletionPass.ts"
import { livePass } from "./livePass.ts"
import { emptyMemory, type Memory } from "./Memory.ts"
import type { AnyPass, InstanceContext, InstanceServices } from "./Pass.ts"
import { Settings } from "./Settings.ts"
import { settle } from "./settle.ts"
import { awaitRelease } from "./target/awaitRelease.ts"
import { makeProber } from "./target/Prober.ts"
import { Views } from "./Views.ts"
import { writeUnreadable } from "./writeStatus.ts"

/** After a pass that failed (the API did not answer, a write was refused): look again this much later. */
const passRetry = Duration.seconds(1)

/** The object or its record cannot be read: say which field or file, leave everything alone, wait. */
const unreadable = Effect.fnUntraced(function* (object: KubeObject, message: string) {
  const events = yield* Events
  yield* Effect.logError("instance cannot be read").pipe(Effect.annotateLogs({ message }))
  if (yield* writeUnreadable(object, message)) {
    yield* events.emit(object, { type: "Warning", reason: "InstallFailed", action: "Read", note: message })
  }
})

interface Life {
  readonly uid: string
  readonly deleting: boolean
  readonly status: PlatformInstanceStatus
}

/** Memory belongs to one UID: the slot of an earlier life has to end before this one remembers anything. */
const remember = Effect.fnUntraced(function* (
  context: InstanceContext,
  key: InstanceKey,
  life: Life,
  known: Memory | undefined,
): Effect.fn.Return<Memory, StateStoreError, StateStore> {
  if (known !== undefined && known.uid === life.uid) return known
  if (known !== undefined) {
    yield* context.slot.stop
    yield* context.slot.acknowledge
  }
  const store = yield* StateStore
  // Deleting goes on without a record that cannot be read; it says so where it would need it.
  const record = life.deleting
    ? yield* Effect.orElseSucceed(store.readRecord(key), Option.none<InstanceRecord>)
    : yield* store.readRecord(key)
  const halfDeleted = Option.exists(record, ({ deleting }) => deleting !== undefined && deleting !== life.uid)
  if (!halfDeleted) return emptyMemory(life.uid, life.status, record)
  // Somebody took the finalizer of a predecessor that was being deleted: nothing of its state may be built on.
  yield* store.drop(key)
  return emptyMemory(life.uid, life.status, Option.none())
})

/** Takes in what the slot has finished, before anything is decided. */
const takeExit = Effect.fnUntraced(function* ({ context, memory, object }: AnyPass, key: InstanceKey) {
  const finished = context.slot.state()
  if (finished._tag !== "Finished") return
  if (finished.operation._tag === "Target") yield* awaitRelease(key)
  // An install that failed has written, too, where it began.
  if (finished.operation._tag === "Install") {
    const { readRecord } = yield* StateStore
    memory.record = yield* Effect.orElseSucceed(readRecord(key), () => memory.record)
  }
  yield* settle(memory, object, finished.operation, finished.exit)
  yield* context.slot.acknowledge
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
        const begin = Effect.fnUntraced(function* (status: PlatformInstanceStatus) {
          memory = yield* remember(
            context,
            key,
            { uid: object.metadata.uid, deleting: object.metadata.deletionTimestamp !== undefined, status },
            memory,
          )
          const pass: AnyPass = { context, timers, prober, scope, memory, object }
          yield* takeExit(pass, key)
          return pass
        })
        yield* Effect.gen(function* () {
          if (object.metadata.deletionTimestamp === undefined) {
            const instance = yield* decodePlatformInstance(object)
            yield* livePass({ ...(yield* begin(instance.status ?? {})), instance })
            return yield* context.thrived
          }
          // Deleting must be possible for what this version cannot read any more, too.
          const subject = yield* decodeDeletionView(object)
          const { status = {} } = yield* decodePlatformInstance(object).pipe(
            Effect.catchTag("SchemaError", () => Effect.succeed<Partial<PlatformInstance>>({})),
          )
          yield* deletionPass({ ...(yield* begin(status)), subject })
          yield* context.thrived
        }).pipe(
          Effect.catchTags({
            SchemaError: (error) => unreadable(object, `read spec: ${formatSchemaError(error)}`),
            StateStoreError: (error) =>
              Effect.andThen(
                unreadable(object, `read record: ${error.message}`),
                timers.arm("pass", settings.targetPoll),
              ),
          }),
          Effect.catchTags({
            KubeError: (error) =>
              Effect.logWarning("pass failed, trying again").pipe(
                Effect.annotateLogs({ request: error.request, reason: error.reason, message: error.message }),
                Effect.andThen(timers.arm("pass", passRetry)),
              ),
          }),
          Effect.withSpan("Instance", { root: true, attributes: { instance: context.key } }),
        )
      }
    })

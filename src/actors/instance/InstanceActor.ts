// The actor of one PlatformInstance. A pass is: observe -> plan -> act (at most one step that changes the world)
// -> report -> arm timers. Whatever takes long runs in the slot, so that the mailbox stays open.
import { Duration, Effect, Option, Result, type Scope } from "effect"
import { decodeDeletionView } from "../../schema/DeletionView.ts"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { FINALIZER } from "../../schema/Names.ts"
import { plansOf } from "../../schema/Plan.ts"
import { decodePlatformInstance, type PlatformInstance } from "../../schema/PlatformInstance.ts"
import type { PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import { formatSchemaError } from "../../schema/SchemaErrors.ts"
import { Events } from "../../services/Events/Events.ts"
import type { History } from "../../services/History/History.ts"
import type { KubeError, KubeObject } from "../../services/Kubernetes/Kubernetes.ts"
import { WorkQueue } from "../../services/Metrics/WorkQueue.ts"
import {
  type InstanceRecord,
  restoringIn,
  StateStore,
  type StateStoreError,
} from "../../services/StateStore/StateStore.ts"
import { keepPass } from "../../services/Telemetry/Tracing.ts"
import { makeTimers, type Timers } from "../kit/Timers.ts"
import { addFinalizer } from "./act.ts"
import { adopt, noteAgreed, noteBehind } from "./adopt.ts"
import { deletionPass } from "./deletionPass.ts"
import { firstView } from "./firstView.ts"
import { recoverHistory, showPast } from "./history.ts"
import { livePass } from "./livePass.ts"
import { emptyMemory, type Memory } from "./Memory.ts"
import { InstanceMeter } from "./metrics/InstanceMetrics.ts"
import type { AnyPass, InstanceContext, InstanceServices } from "./Pass.ts"
import { Settings } from "./Settings.ts"
import { requestIn, settle } from "./settle.ts"
import { awaitRelease } from "./target/awaitRelease.ts"
import { makeProber } from "./target/Prober.ts"
import { TargetPermits } from "./target/TargetPermits.ts"
import { type InstanceTrace, makeInstanceTrace } from "./trace/InstanceTrace.ts"
import { Views } from "./Views.ts"
import { writeUnreadable } from "./writeStatus.ts"

/** After a pass that failed (the API did not answer, a write was refused): look again this much later. */
const passRetry = Duration.seconds(1)

const tryAgain = (timers: Timers, { request, reason, message }: KubeError) =>
  Effect.logWarning("pass failed, trying again").pipe(
    Effect.annotateLogs({ request, reason, message }),
    Effect.andThen(timers.arm("pass", passRetry)),
  )

/**
 * The object or its record cannot be read: say which field or file, leave everything alone, wait. A finalizer that somebody
 * took away while something of the instance is there is put back all the same: a deletion would leave it behind.
 */
const unreadable = Effect.fnUntraced(function* (
  object: KubeObject,
  key: InstanceKey,
  trace: InstanceTrace,
  message: string,
) {
  const events = yield* Events
  yield* Effect.logError("instance cannot be read").pipe(Effect.annotateLogs({ message }))
  const { deletionTimestamp, finalizers } = object.metadata
  if (deletionTimestamp === undefined && finalizers?.includes(FINALIZER) !== true) {
    const { hostNamespace } = yield* (yield* Views).read(key)
    if (Option.isSome(hostNamespace)) return yield* addFinalizer(object, trace)
  }
  if (yield* writeUnreadable(object, message)) {
    yield* events.emit(object, { type: "Warning", reason: "InstallFailed", action: "Read", note: message })
  }
})

interface Life {
  readonly uid: string
  /** None of one that is being deleted. */
  readonly instance: Option.Option<PlatformInstance>
  readonly status: PlatformInstanceStatus
  readonly requested: Option.Option<string>
}

/** As they were written down; none where they cannot be read. */
const readPlans = Effect.fnUntraced(function* (key: InstanceKey, uid: string) {
  const { readPlan } = yield* StateStore
  return Option.flatMap(yield* Effect.option(readPlan(key)), (text) => plansOf(text, uid))
})

const isHalfway = Effect.fnUntraced(function* (key: InstanceKey) {
  const { readOperation } = yield* StateStore
  return Option.isSome(yield* Effect.orElseSucceed(readOperation(key), Option.none))
})

/** Memory belongs to one UID: the slot of an earlier life has to end before this one remembers anything. */
const remember = Effect.fnUntraced(function* (
  context: InstanceContext,
  object: KubeObject,
  key: InstanceKey,
  life: Life,
  known: Memory | undefined,
): Effect.fn.Return<Memory, StateStoreError, StateStore | Events | History> {
  if (known !== undefined && known.uid === life.uid) return known
  if (known !== undefined) {
    yield* context.slot.stop
    yield* context.slot.acknowledge
  }
  // What runs while its actor was started again is no leftover.
  if (context.slot.state()._tag === "Idle") yield* recoverHistory(object)
  const store = yield* StateStore
  // Deleting goes on without a record that cannot be read; it says so where it would need it.
  const { uid, instance, status, requested } = life
  if (Option.isNone(instance)) {
    const record = yield* Effect.orElseSucceed(store.readRecord(key), Option.none<InstanceRecord>)
    return emptyMemory(uid, status, record, requested)
  }
  const adopted = yield* adopt(object, key, yield* store.readRecord(key))
  const noted = yield* noteBehind(object, instance.value, adopted)
  const memory = emptyMemory(uid, status, yield* noteAgreed(instance.value, noted), requested)
  memory.plans = yield* readPlans(key, uid)
  // An earlier process may have ended in between.
  memory.unshown = Option.some(0)
  memory.halfway = yield* isHalfway(key)
  return memory
})

/** Takes in what the slot has finished, before anything is decided. */
const takeExit = Effect.fnUntraced(function* ({ context, memory, object }: AnyPass, key: InstanceKey) {
  const finished = context.slot.state()
  if (finished._tag !== "Finished") return
  yield* keepPass
  const { operation } = finished
  if (operation._tag === "Target") memory.release = yield* awaitRelease(key, operation.step, memory.release)
  // An install that failed has written, too, where it began; the end of a predecessor takes its record.
  if (operation._tag !== "Uninstall") {
    const { readRecord } = yield* StateStore
    memory.record = yield* Effect.orElseSucceed(readRecord(key), () => memory.record)
  }
  if (operation._tag === "Plan" || operation._tag === "Install") {
    memory.plans = yield* readPlans(key, memory.uid)
  }
  if (operation._tag === "Install") memory.halfway = yield* isHalfway(key)
  yield* settle(memory, object, operation, finished.exit)
  yield* showPast({ memory, object })
  yield* context.slot.acknowledge
})

/** The end of a restore is written by its command, beside the operator. */
const followRestore = Effect.fnUntraced(function* (memory: Memory, key: InstanceKey) {
  if (Option.isNone(restoringIn(memory.record))) return
  const { readRecord } = yield* StateStore
  memory.record = yield* Effect.orElseSucceed(readRecord(key), () => memory.record)
})

export const instanceActor =
  (keyOf: (key: string) => InstanceKey) =>
  (given: InstanceContext): Effect.Effect<void, never, InstanceServices | Scope.Scope> =>
    Effect.gen(function* () {
      const trace = yield* makeInstanceTrace
      const { slot } = given
      const context: InstanceContext = {
        ...given,
        slot: { ...slot, start: (operation, effect) => slot.start(operation, trace.join(effect)) },
      }
      const key = keyOf(context.key)
      const views = yield* Views
      const settings = yield* Settings
      const scope = yield* Effect.scope
      const timers = yield* makeTimers(context.mailbox)
      const prober = yield* makeProber(context.mailbox, settings.targetPoll, trace.join)
      const permits = yield* TargetPermits
      yield* Effect.addFinalizer(() => permits.ended(context.key))
      const queue = yield* WorkQueue
      const meter = yield* InstanceMeter
      let memory: Memory | undefined
      /** The UID of the life that was looked at on the server. */
      let known: string | undefined
      let passes = 0
      while (true) {
        yield* context.mailbox.take
        const cached = yield* views.instance(key)
        const first = yield* Effect.result(
          Option.isNone(cached) ? Effect.succeedNone : firstView(key, cached.value, known),
        )
        if (Result.isFailure(first)) {
          yield* tryAgain(timers, first.failure)
          continue
        }
        const found = first.success
        if (Option.isNone(found)) {
          yield* trace.gone
          // Gone: whatever still runs for it ends, and so does the actor.
          queue.gone(context.key)
          yield* meter.gone(key)
          yield* context.slot.stop
          yield* context.slot.acknowledge
          return
        }
        const object = found.value
        known = object.metadata.uid
        passes += 1
        const begin = Effect.fnUntraced(function* (
          instance: Option.Option<PlatformInstance>,
          status: PlatformInstanceStatus,
        ) {
          memory = yield* remember(
            context,
            object,
            key,
            {
              uid: object.metadata.uid,
              instance,
              status,
              requested: requestIn(object.metadata),
            },
            memory,
          )
          const pass: AnyPass = { context, timers, prober, trace, scope, memory, object }
          yield* takeExit(pass, key)
          yield* followRestore(memory, key)
          return pass
        })
        let failed = false
        yield* Effect.gen(function* () {
          if (object.metadata.deletionTimestamp === undefined) {
            const instance = yield* decodePlatformInstance(object)
            yield* livePass({ ...(yield* begin(Option.some(instance), instance.status ?? {})), instance })
            return yield* context.thrived
          }
          // Deleting must be possible for what this version cannot read any more, too.
          const subject = yield* decodeDeletionView(object)
          const { status = {} } = yield* decodePlatformInstance(object).pipe(
            Effect.catchTag("SchemaError", () => Effect.succeed<Partial<PlatformInstance>>({})),
          )
          yield* deletionPass({ ...(yield* begin(Option.none(), status)), subject })
          yield* context.thrived
        }).pipe(
          Effect.tapError(() =>
            Effect.sync(() => {
              failed = true
            }),
          ),
          Effect.catchTags({
            SchemaError: (error) => unreadable(object, key, trace, `read spec: ${formatSchemaError(error)}`),
            StateStoreError: (error) =>
              Effect.andThen(
                unreadable(object, key, trace, `read record: ${error.message}`),
                timers.arm("pass", settings.targetPoll),
              ),
          }),
          Effect.catchTags({
            KubeError: (error) => tryAgain(timers, error),
          }),
          Effect.annotateLogs({ generation: object.metadata.generation, pass: passes }),
          trace.pass(object),
          Effect.andThen(
            Effect.map(timers.isArmed, (armed) => {
              if (failed) return "error"
              if (context.mailbox.isPending()) return "requeue"
              return armed ? "requeue_after" : "success"
            }),
          ),
          (pass) => queue.work(context.key, pass),
        )
        // As the server has it after what the pass has written.
        const now = Option.getOrElse(yield* views.instance(key), () => object)
        yield* meter.show(key, now, memory)
      }
    })

// A pass over an instance that is not being deleted.
import { Clock, Duration, Effect, Option } from "effect"
import { findCondition } from "../../schema/Conditions.ts"
import { FINALIZER } from "../../schema/Names.ts"
import { Events } from "../../services/Events/Events.ts"
import type { KubeError } from "../../services/Kubernetes/Kubernetes.ts"
import { act, installedBy, renderedConfig, runningIn } from "./act.ts"
import type { Decision } from "./Decision.ts"
import type { Facts } from "./Facts.ts"
import { look, type Seen } from "./look.ts"
import type { InstanceServices, Pass } from "./Pass.ts"
import { plan } from "./plan.ts"
import { Settings } from "./Settings.ts"
import { followGeneration, resetBackOff } from "./settle.ts"
import type { ProtectionState } from "./target/Protection.ts"
import { writeStatus } from "./writeStatus.ts"

const arm = Effect.fnUntraced(function* (pass: Pass, decision: Decision, now: number) {
  const wakes = decision._tag === "Wait" ? decision.wakes : []
  for (const timer of ["retry", "poll", "repair"] as const) {
    const wake = wakes.find((each) => each.timer === timer)
    yield* wake === undefined
      ? pass.timers.disarm(timer)
      : pass.timers.arm(timer, Duration.millis(Math.max(0, wake.at - now)))
  }
})

const factsOf = (pass: Pass, seen: Seen, decision: Decision): Facts => {
  const { memory, instance } = pass
  const { verdict } = seen
  const running = runningIn(pass)
  // While Helm is at work its own record says pending: what is told is what the step was started for.
  const atWork = Option.getOrUndefined(running)
  const seenNow = atWork?._tag === "Target" ? atWork : verdict
  const notReady = seenNow._tag === "Ready" ? Option.none() : Option.some(seenNow.condition)
  return {
    generation: instance.metadata.generation,
    deletion: Option.none(),
    targetUndetermined: seen.undetermined,
    targetNotReady: Option.isSome(notReady) ? Option.orElse(memory.targetFailure, () => notReady) : notReady,
    begun: decision._tag !== "AddFinalizer",
    protection: seen.protection,
    running,
    record: Option.filter(
      memory.record,
      ({ uid, installed }) => uid === instance.metadata.uid && installed?.generation !== 0,
    ),
    failure: memory.installFailure,
    kubeconfigSecret: seen.kubeconfigSecret,
  }
}

/** One Warning, when the condition is about to say so for the first time. */
const warnUnprotected = Effect.fnUntraced(function* (
  { memory, object }: Pass,
  protection: Option.Option<ProtectionState>,
) {
  if (Option.isNone(protection) || protection.value.installed) return
  if (findCondition(memory.status.conditions, "OwnerServiceProtected")?.status === "False") return
  const events = yield* Events
  yield* events.emit(object, {
    type: "Warning",
    reason: "AdmissionPolicyUnavailable",
    action: "Protect",
    note: protection.value.message,
  })
})

export const livePass = Effect.fn("Instance.pass")(function* (
  pass: Pass,
): Effect.fn.Return<void, KubeError, InstanceServices> {
  const { memory, instance } = pass
  const { generation } = instance.metadata
  const settings = yield* Settings
  // What the server has by now: a status that somebody else changed, or a restore brought back, is written again.
  memory.written = instance.status ?? {}
  yield* followGeneration(memory, generation)
  const seen = yield* look(pass)
  if (seen.verdict._tag === "Ready") {
    memory.targetFailure = Option.none()
    if (Option.isNone(memory.installFailure)) resetBackOff(memory)
  }
  const now = yield* Clock.currentTimeMillis
  const decision = plan({
    now,
    deleting: false,
    hasFinalizer: instance.metadata.finalizers?.includes(FINALIZER) ?? false,
    version: instance.spec.version,
    generation,
    target: seen.verdict,
    running: runningIn(pass),
    config: renderedConfig(pass),
    editedAt: memory.editedAt,
    superseded: memory.superseded,
    installed: installedBy(pass),
    resyncPending: Option.exists(memory.record, ({ resync }) => resync !== undefined),
    lastInstallFailed: Option.isSome(memory.installFailure),
    retryAt: memory.retryAt,
    retryOf: memory.retryOf,
    targetPollMillis: Duration.toMillis(settings.targetPoll),
    repairIntervalMillis: Duration.toMillis(settings.repairInterval),
  })
  // Over a pause, too: a step counts as in a row for as long as it is asked for.
  if (seen.verdict._tag !== "Act" || seen.verdict.step._tag !== memory.lastStep.tag) {
    memory.lastStep = { tag: "", times: 0 }
  }
  yield* warnUnprotected(pass, seen.protection)
  yield* act(pass, decision, seen.verdict)
  yield* writeStatus(memory, instance, factsOf(pass, seen, decision))
  yield* arm(pass, decision, now)
})

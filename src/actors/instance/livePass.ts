// A pass over an instance that is not being deleted.
import { Clock, Duration, Effect, Option, Schema } from "effect"
import { findCondition, isTrue, targetFailureReasons } from "../../schema/Conditions.ts"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { FINALIZER } from "../../schema/Names.ts"
import { instanceKey } from "../../schema/PlatformInstance.ts"
import { Events } from "../../services/Events/Events.ts"
import { Helm } from "../../services/Helm/Helm.ts"
import type { KubeError } from "../../services/Kubernetes/Kubernetes.ts"
import {
  act,
  installedBy,
  isAnotherCluster,
  isResyncPending,
  outstanding,
  renderedConfig,
  runningIn,
  urgency,
} from "./act.ts"
import { countingSpec, type Standing, standingOf } from "./approval.ts"
import type { Decision, Wake } from "./Decision.ts"
import { followAnnotations, followDrift, followStanding, isPlanUnseen } from "./dayTwo.ts"
import type { Facts } from "./Facts.ts"
import { tellFirstLook } from "./firstLook.ts"
import { type Closed, mayTake, type Rules, wordsOf } from "./gate.ts"
import { look, type Seen } from "./look.ts"
import { detectingOf, planningOf } from "./looks.ts"
import type { Memory } from "./Memory.ts"
import type { AnyPass, InstanceServices, Pass } from "./Pass.ts"
import { heldBack, installDue, lookAgainMillis, type PlanInput, plan } from "./plan.ts"
import { Settings } from "./Settings.ts"
import { followEdits, resetBackOff } from "./settle.ts"
import { longestStart } from "./target/ControlPlane.ts"
import type { ProtectionState } from "./target/Protection.ts"
import { repairPause } from "./target/repairs.ts"
import { TargetPermits } from "./target/TargetPermits.ts"
import { harmless, isInline, type TargetVerdict } from "./target/TargetState.ts"
import { takeTurn } from "./target/takeTurn.ts"
import { busy, endingOf } from "./trace/endings.ts"
import { Views } from "./Views.ts"
import { refuseDowngrade, upgradeWaits } from "./vclusterUpgrade.ts"
import { writeStatus } from "./writeStatus.ts"

const tryAgain = (at: number): Wake => ({ timer: "retry", at })

const arm = Effect.fnUntraced(function* (
  pass: Pass,
  decision: Decision,
  { upgradeOpensAt, upgradeQueued }: Seen,
  now: number,
) {
  const wakes = [
    ...(decision._tag === "Wait" || decision._tag === "Hold" ? decision.wakes : []),
    ...(isPlanUnseen(pass) ? Option.toArray(Option.map(pass.memory.unshown, tryAgain)) : []),
    ...Option.toArray(Option.map(upgradeOpensAt, (at) => tryAgain(Math.min(at, now + lookAgainMillis)))),
    // Nobody tells of a start that counts no more.
    ...Option.toArray(Option.map(upgradeQueued, () => tryAgain(now + longestStart))),
  ]
  for (const timer of ["retry", "poll", "repair"] as const) {
    const [wake] = wakes.filter((each) => each.timer === timer).toSorted((one, other) => one.at - other.at)
    yield* wake === undefined
      ? pass.timers.disarm(timer)
      : pass.timers.arm(timer, Duration.millis(Math.max(0, wake.at - now)))
  }
})

const isFailure = Schema.is(Schema.Literals(targetFailureReasons))

/** Why nothing begins: told for as long as an instance is paused or asleep, of a change that waits, and of an upgrade; of a repair that waits nobody is told. */
const heldBy = (input: PlanInput, decision: Decision, standing: Standing): Option.Option<string> => {
  const { version } = input
  const { pausedSince } = input.rules
  if (Option.isSome(pausedSince))
    return Option.some(wordsOf({ _tag: "Paused", since: pausedSince.value }, version))
  if (decision._tag === "Hold" && decision.closed._tag === "Asleep")
    return Option.some(wordsOf(decision.closed, version))
  if (standing._tag === "Waits") return Option.some(wordsOf(standing, version))
  if (Option.contains(installDue(input), "RepairDue")) return Option.none()
  return Option.map(closedBy(input, decision), (closed) => wordsOf(closed, version))
}

/** What keeps back what is due; a look beside it does not let it begin. */
const closedBy = (input: PlanInput, decision: Decision): Option.Option<Closed> => {
  if (decision._tag === "Hold") return Option.some(decision.closed)
  const looks = decision._tag === "Plan" || Option.exists(input.running, ({ _tag }) => _tag === "Plan")
  return looks && input.target._tag === "Ready" ? heldBack(input) : Option.none()
}

const factsOf = (
  pass: Pass,
  seen: Seen,
  decision: Decision,
  { held, upgradeWaits }: Pick<Facts, "held" | "upgradeWaits">,
): Facts => {
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
    dismantled: false,
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
    held,
    upgradeWaits,
    // Nothing is about to be installed of what is held back.
    outstanding: Option.isSome(held) ? Option.none() : outstanding(pass),
    kubeconfigSecret: seen.kubeconfigSecret,
  }
}

/**
 * The next pass comes at once, and has more to tell; what a resync is about to do is told before it is done, and so is what
 * a target that was ready has lost: the next pass may find it ready again, and nobody would know.
 */
const goesOn = ({ targetFailure, status }: Memory, decision: Decision): boolean =>
  decision._tag === "TargetStep" &&
  harmless(decision.step) &&
  Option.isNone(targetFailure) &&
  !isTrue(status.conditions, "TargetReady")

const isHelms = (decision: Decision): boolean => decision._tag === "TargetStep" && !isInline(decision.step)

/** Nothing of a release is seen that could be behind: its records alone say whether there is one. */
const isFirstInstall = (decision: Decision, { untouched }: Seen): boolean =>
  decision._tag === "TargetStep" && decision.step._tag === "InstallRelease" && untouched

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

/** One Warning when the condition is about to say that only somebody else, or time, can help. */
const warnStuck = Effect.fnUntraced(function* ({ memory, object }: Pass, { verdict }: Seen) {
  if (verdict._tag !== "Stuck") return
  const { reason, message } = verdict.condition
  if (!isFailure(reason)) return
  if (findCondition(memory.status.conditions, "TargetReady")?.reason === reason) return
  const events = yield* Events
  yield* events.emit(object, { type: "Warning", reason, action: "Target", note: message })
})

/** One Warning each time it has died: nobody else would say why nothing inside finds anything. */
const warnOfDns = Effect.fnUntraced(function* ({ memory, object, prober }: Pass) {
  const dead = prober.dnsIsDead()
  if (dead && !memory.dnsDead) {
    const events = yield* Events
    yield* events.emit(object, {
      type: "Warning",
      reason: "DnsUnavailable",
      action: "Probe",
      note: "the DNS inside the instance (kube-system/kube-dns) has no pod that is ready: names do not resolve there",
    })
  }
  memory.dnsDead = dead
})

export const livePass = Effect.fnUntraced(function* (
  given: AnyPass & Pick<Pass, "instance">,
): Effect.fn.Return<void, KubeError, InstanceServices> {
  const { memory, instance: wanted } = given
  const settings = yield* Settings
  // What the server has by now: a status that somebody else changed, or a restore brought back, is written again.
  memory.written = wanted.status ?? {}
  const followed = yield* followAnnotations(given)
  const installed = installedBy(given)
  const { record } = memory
  const standing = standingOf({ instance: wanted, record, installed, approval: followed.approval })
  const instance = countingSpec(wanted, standing, installed)
  const pass: Pass = { ...given, instance, wanted, standing }
  const rules: Rules = {
    ...followed.rules,
    undecided:
      standing._tag === "Waits" && Option.isNone(standing.instead) ? Option.some(standing) : Option.none(),
  }
  yield* followEdits(memory, instance.metadata)
  yield* tellFirstLook(pass)
  yield* followDrift(pass)
  yield* followStanding(pass)
  const observe = Effect.withSpan(look(pass, rules), "Instance.observe")
  let looked = yield* observe
  if (looked.verdict._tag === "Ready") {
    memory.targetFailure = Option.none()
    if (Option.isNone(memory.installFailure)) resetBackOff(memory)
  }
  const now = yield* Clock.currentTimeMillis
  memory.readySince =
    looked.verdict._tag === "Ready" ? Option.orElseSome(memory.readySince, () => now) : Option.none()
  const repairAt = mayTake(rules, now)("ReapplyRelease")
    ? yield* repairPause(pass, looked.verdict, now)
    : Option.none()
  const input: PlanInput = {
    now,
    deleting: false,
    hasFinalizer: instance.metadata.finalizers?.includes(FINALIZER) ?? false,
    version: instance.spec.version,
    generation: instance.metadata.generation,
    target: looked.verdict,
    rules,
    running: runningIn(pass),
    config: renderedConfig(pass),
    editedAt: memory.editedAt,
    superseded: memory.superseded,
    installed,
    // Nothing is there yet that it could be a plan over.
    planning: Option.isSome(installed) ? planningOf(pass, followed.asked, now) : Option.none(),
    detecting: detectingOf(pass),
    resyncPending: isResyncPending(pass) || isAnotherCluster(pass, looked.verdict),
    lastInstallFailed: Option.isSome(memory.installFailure),
    urgency: urgency(pass),
    readySince: Option.getOrElse(memory.readySince, () => now),
    retryAt: Option.orElse(repairAt, () => memory.retryAt),
    retryOf: Option.isSome(repairAt) ? "Target" : memory.retryOf,
    targetPollMillis: Duration.toMillis(settings.targetPoll),
    repairIntervalMillis: Duration.toMillis(settings.repairInterval),
  }
  const decide = (target: TargetVerdict) =>
    Effect.withSpan(
      Effect.sync(() => plan({ ...input, target })),
      "Instance.plan",
    )
  let planned = yield* decide(looked.verdict)
  const ask = Effect.suspend(() =>
    takeTurn(pass, looked.verdict, planned, {
      served: Option.isSome(looked.kubeconfigSecret),
      queued: Option.isSome(looked.upgradeQueued),
    }),
  )
  // Helm installs over what is there, and removes it: what it is called for must be so, and not in a cache alone.
  const lookPast = Effect.fnUntraced(function* (doubt: (key: InstanceKey) => Effect.Effect<void>) {
    yield* doubt(instanceKey(instance))
    looked = yield* observe
    planned = yield* decide(looked.verdict)
  })
  // Who waits for a turn was looked at when it began to wait, and is again when it has one.
  let turn = (yield* TargetPermits).waits(pass.context.key) ? yield* ask : Option.none()
  if (Option.isNone(turn)) {
    const views = yield* Views
    if (isFirstInstall(planned, looked)) yield* lookPast(views.doubtRecords)
    if (isHelms(planned) && !isFirstInstall(planned, looked)) yield* lookPast(views.doubt)
    turn = yield* ask
  }
  const poll: Wake = { timer: "poll", at: now + Duration.toMillis(settings.targetPoll) }
  const { decision, seen } = Option.match(turn, {
    onNone: () => ({ decision: planned, seen: looked }),
    onSome: (condition): { readonly decision: Decision; readonly seen: Seen } => ({
      decision: { _tag: "Wait", wakes: [poll] },
      seen: { ...looked, verdict: { _tag: "Wait", condition } },
    }),
  })
  // Nothing is due that somebody could wait for.
  if (decision._tag === "Wait" && decision.wakes.some(({ timer }) => timer === "repair")) {
    memory.awaited = false
  }
  yield* pass.trace.decides(decision, seen.verdict)
  // Over a pause, too: a step counts as in a row for as long as it is asked for.
  if (seen.verdict._tag !== "Act" || seen.verdict.step._tag !== memory.lastStep.tag) {
    memory.lastStep = { tag: "", about: "", times: 0 }
  }
  yield* refuseDowngrade(pass, seen.upgrade)
  yield* warnStuck(pass, seen)
  yield* warnOfDns(pass)
  yield* Effect.withSpan(act(pass, decision, seen.verdict), "Instance.act")
  yield* arm(pass, decision, seen, now)
  if (goesOn(memory, decision)) return yield* pass.trace.ends(busy)
  yield* warnUnprotected(pass, seen.protection)
  const held = heldBy(input, decision, standing)
  const { chartVersion } = yield* Helm
  const facts = factsOf(pass, seen, decision, { held, upgradeWaits: upgradeWaits(chartVersion, seen) })
  yield* Effect.withSpan(writeStatus(memory, instance, facts), "Instance.report")
  const { status } = memory
  const queued = Option.isSome(turn)
  yield* pass.trace.ends(endingOf({ facts, status, decision, verdict: seen.verdict, queued }))
})

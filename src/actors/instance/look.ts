// One look at an instance's target: the caches, the kubeconfig as it is now, the prober, and the verdict over them.
import { Clock, Duration, Effect, Option } from "effect"
import { hostNamespace } from "../../schema/Names.ts"
import { instanceKey } from "../../schema/PlatformInstance.ts"
import { Helm } from "../../services/Helm/Helm.ts"
import type { KubeError, KubeObject } from "../../services/Kubernetes/Kubernetes.ts"
import { mayTake, type Rules } from "./gate.ts"
import { markedRoot } from "./install/markedRoot.ts"
import type { Memory } from "./Memory.ts"
import type { InstanceServices, Pass } from "./Pass.ts"
import { Settings } from "./Settings.ts"
import { explainControlPlane } from "./target/hostEvents.ts"
import { workloadPolicies } from "./target/isolate.ts"
import { ownerOf, readKubeconfig, versionOf } from "./target/Kubeconfig.ts"
import { observeTarget } from "./target/observeTarget.ts"
import { Protection, type ProtectionState } from "./target/Protection.ts"
import { isQuotaApplied } from "./target/quota.ts"
import { lookAtRelease } from "./target/releaseObjects.ts"
import {
  judgeTarget,
  passingOver,
  type SleepState,
  type TargetStep,
  type TargetVerdict,
} from "./target/TargetState.ts"
import { upgradeTurn } from "./target/takeTurn.ts"
import { noUpgrade, type UpgradeState } from "./target/upgrade.ts"
import { type InstanceView, Views } from "./Views.ts"
import { isUpgrading, upgradeOpensAt, upgradeState } from "./vclusterUpgrade.ts"

/** What one look at the target gave. */
export interface Seen {
  readonly verdict: TargetVerdict
  /** Nothing is known of it yet in this life of the operator. */
  readonly undetermined: boolean
  readonly protection: Option.Option<ProtectionState>
  readonly kubeconfigSecret: Option.Option<string>
  readonly upgrade: UpgradeState
  /** Milliseconds since the epoch: when an upgrade that is due may begin, where it waits for its window. */
  readonly upgradeOpensAt: Option.Option<number>
  /** An upgrade that is due waits for its turn: in words. */
  readonly upgradeQueued: Option.Option<string>
  /** No object of a release is seen, and nothing says that there ever was one. */
  readonly untouched: boolean
}

/** One left over from an earlier Service is not this vCluster's. */
const ownSource = ({ services, sourceSecret }: InstanceView): Option.Option<KubeObject> => {
  const service = services.find(({ metadata }) => metadata.name === "vcluster")
  return Option.filter(sourceSecret, (source) =>
    Option.contains(ownerOf(source), service?.metadata.uid ?? ""),
  )
}

/** A vCluster writes its Secret within seconds of being ready; after this long only another start writes it. */
const secretPatienceMillis = 120_000

const isSecretOverdue = (memory: Memory, view: InstanceView, ready: boolean, now: number): boolean => {
  const missing = ready && Option.isNone(ownSource(view))
  memory.secretMissingSince = missing
    ? Option.orElseSome(memory.secretMissingSince, () => now)
    : Option.none()
  return Option.exists(memory.secretMissingSince, (since) => now - since >= secretPatienceMillis)
}

/** Holds the kubeconfig of the vCluster as it is now; one read for each version of its Secret. */
const followKubeconfig = Effect.fnUntraced(function* (pass: Pass, view: InstanceView, ready: boolean) {
  const { memory, prober } = pass
  const source = Option.getOrUndefined(ownSource(view))
  if (source === undefined) return
  if (!Option.exists(memory.kubeconfig, (held) => held.version === versionOf(source))) {
    memory.kubeconfig = yield* readKubeconfig(hostNamespace(instanceKey(pass.instance)))
  }
  // The Secret can be there before the API serves: until the control plane has been ready once there is nothing to
  // ask, and nothing to count as a failure.
  const serves = prober.state()._tag !== "Unknown" || ready
  if (Option.isSome(memory.kubeconfig) && serves) yield* prober.use(memory.kubeconfig.value)
})

/** Steps that a restarted operator takes once, because it cannot know what is there, or is a newer one: no sign of a loss. */
const isFirstLook = (memory: Memory, step: TargetStep): boolean =>
  step._tag === "ApplyProtection" ||
  step._tag === "MarkNamespace" ||
  step._tag === "IsolateWorkloads" ||
  step._tag === "ApplyQuota" ||
  (step._tag === "PublishKubeconfig" && Option.isNone(memory.published))

const sleepOf = ({ sleep }: Rules, { workloads }: Memory): Option.Option<SleepState> =>
  Option.map(sleep, ({ pods, since }) => ({
    noted: pods !== undefined,
    asleep: since !== undefined,
    workloads,
  }))

/** `rules`: what may not be mended now, and what the vCluster answers without, is passed over. */
export const look = Effect.fnUntraced(function* (
  pass: Pass,
  rules: Rules,
): Effect.fn.Return<Seen, KubeError, InstanceServices> {
  const { memory, instance } = pass
  const view = yield* (yield* Views).read(instanceKey(instance))
  const helm = yield* Helm
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  const watchedSince = Option.getOrElse(memory.watchedSince, () => now)
  memory.watchedSince = Option.some(watchedSince)
  const controlPlane = yield* explainControlPlane(memory, view, now, Duration.toMillis(settings.targetPoll))
  // What runs ends first.
  const idle = pass.context.slot.state()._tag === "Idle"
  const sleep = idle ? sleepOf(rules, memory) : Option.none()
  // Whoever comes up after an upgrade has to answer anew: what the one before said proves nothing.
  const comesUp = !controlPlane.ready && isUpgrading(memory)
  if (Option.isSome(sleep) || comesUp) yield* pass.prober.rest
  else yield* followKubeconfig(pass, view, controlPlane.ready)
  const protection = yield* (yield* Protection).state
  const release = yield* lookAtRelease(instanceKey(instance), view, memory.release)
  memory.release = release.stored
  const probe = pass.prober.state()
  const upgrade = idle
    ? upgradeState(memory, helm.chartVersion, {
        chartVersion: release.chartVersion,
        kubeSystemUID: probe._tag === "Answers" ? probe.kubeSystemUID : undefined,
        patience: settings.installTimeout,
        watchedSince,
      })
    : noUpgrade
  const observed = observeTarget(view, {
    key: instanceKey(instance),
    uid: instance.metadata.uid,
    record: memory.record,
    published: memory.published,
    abandoned: memory.abandoned,
    lost: release.lost,
    releaseProblem: release.problem,
    controlPlane,
    sleep,
    kubeconfigOverdue: isSecretOverdue(memory, view, controlPlane.ready, now),
    probe,
    protectionKnown: Option.isSome(protection),
    chartVersion: helm.chartVersion,
    upgrade,
    operatorNamespace: settings.operatorNamespace,
    workloadPolicies: yield* workloadPolicies(hostNamespace(instanceKey(instance)), view),
    quotaApplied: yield* isQuotaApplied(hostNamespace(instanceKey(instance)), view),
    storageRoot: yield* markedRoot(instance, memory.record),
    now,
    repairIntervalMillis: Duration.toMillis(settings.repairInterval),
  })
  const passed = passingOver(observed, mayTake(rules, now))
  const judged = judgeTarget(passed)
  const upgradeQueued = yield* upgradeTurn(pass, judged)
  const verdict = Option.isNone(upgradeQueued)
    ? judged
    : judgeTarget({ ...passed, upgrade: { ...passed.upgrade, due: false } })
  // Without a kubeconfig there is nobody to ask, and a step that has failed is an answer.
  const undetermined =
    Option.isNone(sleep) &&
    ((pass.prober.state()._tag === "Unknown" && Option.isSome(memory.kubeconfig) && !comesUp) ||
      (verdict._tag === "Act" && isFirstLook(memory, verdict.step) && Option.isNone(memory.targetFailure)))
  const kubeconfigSecret = Option.map(view.kubeconfigSecret, ({ metadata }) => metadata.name)
  const untouched =
    !observed.everServed &&
    [view.releaseSecrets, view.releaseObjects, view.controlPlanePods].every(({ length }) => length === 0)
  return {
    verdict,
    undetermined,
    protection,
    kubeconfigSecret,
    untouched,
    upgrade,
    upgradeOpensAt: upgradeOpensAt(upgrade, rules, now),
    upgradeQueued,
  }
})

// A pass over an instance that is not being deleted.
import { Clock, DateTime, Duration, Effect, Option } from "effect"
import { findCondition } from "../../schema/Conditions.ts"
import { FINALIZER, hostNamespace } from "../../schema/Names.ts"
import { platformConfig } from "../../schema/PlatformConfig.ts"
import { instanceKey } from "../../schema/PlatformInstance.ts"
import { parseTime } from "../../schema/Time.ts"
import { Events } from "../../services/Events/Events.ts"
import { Helm } from "../../services/Helm/Helm.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import { Pulumi } from "../../services/Pulumi/Pulumi.ts"
import type { Decision } from "./Decision.ts"
import { runInstall } from "./install/Install.ts"
import type { Memory } from "./Memory.ts"
import { type Operation, OperationError } from "./Operation.ts"
import type { InstanceServices, Pass } from "./Pass.ts"
import { type Installed, plan } from "./plan.ts"
import type { Facts } from "./report.ts"
import { Settings } from "./Settings.ts"
import { backOff, followGeneration, resetBackOff } from "./settle.ts"
import { controlPlaneState } from "./target/ControlPlane.ts"
import { runInline, runInSlot } from "./target/ensureTarget.ts"
import { ownerOf, readKubeconfig, versionOf } from "./target/Kubeconfig.ts"
import { observeTarget, targetServer } from "./target/observeTarget.ts"
import { Protection, type ProtectionState } from "./target/Protection.ts"
import {
  type InlineStep,
  isInline,
  judgeTarget,
  type TargetStep,
  type TargetVerdict,
} from "./target/TargetState.ts"
import { type InstanceView, Views } from "./Views.ts"
import { writeStatus } from "./writeStatus.ts"

/** What one look at the target gave. */
interface Seen {
  readonly verdict: TargetVerdict
  /** Nothing is known of it yet in this life of the operator. */
  readonly undetermined: boolean
  readonly protection: Option.Option<ProtectionState>
  readonly kubeconfigSecret: Option.Option<string>
}

/** Holds the kubeconfig of the vCluster as it is now; one read for each version of its Secret. */
const followKubeconfig = Effect.fnUntraced(function* (pass: Pass, view: InstanceView) {
  const { memory, prober } = pass
  const source = Option.getOrUndefined(view.sourceSecret)
  const service = view.services.find(({ metadata }) => metadata.name === "vcluster")
  // One left over from an earlier Service is not this vCluster's.
  if (source === undefined || service === undefined) return
  if (!Option.contains(ownerOf(source), service.metadata.uid)) return
  if (!Option.exists(memory.kubeconfig, (held) => held.version === versionOf(source))) {
    memory.kubeconfig = yield* readKubeconfig(hostNamespace(instanceKey(pass.instance)))
  }
  // The Secret can be there before the API serves: until the control plane has been ready once there is nothing to
  // ask, and nothing to count as a failure.
  const serves =
    prober.state()._tag !== "Unknown" || controlPlaneState(view.statefulSet, view.controlPlanePods).ready
  if (Option.isSome(memory.kubeconfig) && serves) yield* prober.use(memory.kubeconfig.value)
})

/** Steps that a restarted operator takes once, because it cannot know what is there: no sign of a loss. */
const isFirstLook = (memory: Memory, step: TargetStep): boolean =>
  step._tag === "ApplyProtection" || (step._tag === "PublishKubeconfig" && Option.isNone(memory.published))

const look = Effect.fnUntraced(function* (pass: Pass): Effect.fn.Return<Seen, KubeError, InstanceServices> {
  const { memory, instance } = pass
  const view = yield* (yield* Views).read(instanceKey(instance))
  yield* followKubeconfig(pass, view)
  const helm = yield* Helm
  const settings = yield* Settings
  const protection = yield* (yield* Protection).state
  const verdict = judgeTarget(
    observeTarget(view, {
      key: instanceKey(instance),
      uid: instance.metadata.uid,
      record: memory.record,
      published: memory.published,
      probe: pass.prober.state(),
      protectionKnown: Option.isSome(protection),
      chartVersion: helm.chartVersion,
      operatorNamespace: settings.operatorNamespace,
      now: yield* Clock.currentTimeMillis,
      repairIntervalMillis: Duration.toMillis(settings.repairInterval),
    }),
  )
  // Without a kubeconfig there is nobody to ask, and a step that has failed is an answer.
  const undetermined =
    (pass.prober.state()._tag === "Unknown" && Option.isSome(memory.kubeconfig)) ||
    (verdict._tag === "Act" && isFirstLook(memory, verdict.step) && Option.isNone(memory.targetFailure))
  const kubeconfigSecret = Option.map(view.kubeconfigSecret, ({ metadata }) => metadata.name)
  return { verdict, undetermined, protection, kubeconfigSecret }
})

/** What the record proves for this life; a predecessor's settings are applied anew, its version stands. */
const installedBy = (pass: Pass): Option.Option<Installed> =>
  Option.flatMap(pass.memory.record, ({ uid, installed }) =>
    installed === undefined
      ? Option.none()
      : Option.some({
          version: installed.version,
          generation: uid === pass.instance.metadata.uid ? installed.generation : 0,
          finishedAt: Option.match(parseTime(installed.finishedAt), {
            onNone: () => 0,
            onSome: DateTime.toEpochMillis,
          }),
        }),
  )

const runningIn = (pass: Pass): Option.Option<Operation> => {
  const state = pass.context.slot.state()
  return state._tag === "Running" ? Option.some(state.operation) : Option.none()
}

const isCancelling = (pass: Pass): boolean => {
  const state = pass.context.slot.state()
  return state._tag === "Running" && state.cancelling
}

const addFinalizer = Effect.fn("Instance.addFinalizer")(function* (pass: Pass) {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const { uid, resourceVersion, finalizers } = pass.object.metadata
  const written = yield* kubernetes.patch(Instances, instanceKey(pass.instance), {
    type: "merge",
    patch: { metadata: { uid, resourceVersion, finalizers: [...(finalizers ?? []), FINALIZER] } },
  })
  yield* views.awaitWrite(Instances, written)
})

/** How often a step may be taken in a row: the world may change under it, but not that often. */
const maxRepeats = 3

const countStep = (memory: Memory, { _tag: tag }: InlineStep): Effect.Effect<void, OperationError> => {
  memory.lastStep = { tag, times: memory.lastStep.tag === tag ? memory.lastStep.times + 1 : 1 }
  return memory.lastStep.times <= maxRepeats
    ? Effect.void
    : Effect.fail(
        new OperationError({
          reason: "TargetError",
          message: `${tag}: the step succeeds and takes no effect; something changes it back`,
          cancelled: false,
        }),
      )
}

/** A quick step that failed is remembered as `TargetError` and tried again after the backoff. */
const takeInlineStep = Effect.fnUntraced(function* (pass: Pass, step: InlineStep) {
  const { memory } = pass
  const failure = yield* runInline(pass.instance, memory.record, step).pipe(
    Effect.tap(() => countStep(memory, step)),
    Effect.map(({ record, published }) => {
      memory.record = Option.orElse(record, () => memory.record)
      memory.published = Option.orElse(published, () => memory.published)
      return Option.none<OperationError>()
    }),
    Effect.catchTag("OperationError", Effect.succeedSome),
  )
  if (Option.isSome(failure)) {
    yield* Effect.logWarning("target step failed").pipe(
      Effect.annotateLogs({ message: failure.value.message }),
    )
    memory.targetFailure = Option.some({ reason: "TargetError", message: failure.value.message })
    yield* backOff(memory, "Target")
    const events = yield* Events
    yield* events.emit(pass.object, {
      type: "Warning",
      reason: failure.value.reason,
      action: "Target",
      note: failure.value.message,
    })
  } else {
    memory.targetFailure = Option.none()
  }
  yield* pass.context.mailbox.wake("progress")
})

const takeStep = (
  pass: Pass,
  { step, condition }: Extract<TargetVerdict, { readonly _tag: "Act" }>,
): Effect.Effect<void, never, InstanceServices> =>
  isInline(step)
    ? takeInlineStep(pass, step)
    : pass.context.slot.start({ _tag: "Target", step: step._tag, condition }, runInSlot(pass.instance, step))

/** What the spec says to the platform's program; the operator's own part does not change with an edit. */
const renderedConfig = ({ instance }: Pass): ReadonlyMap<string, string> =>
  platformConfig(instance.spec, {
    storageRoot: instance.spec.platform?.storageRoot ?? "",
    kubernetesEndpoint: targetServer(instanceKey(instance)),
  })

/** A retained predecessor's platform is nothing that this instance has shown as installed yet. */
const overWhat = (pass: Pass, before: Installed | undefined) => {
  if (before === undefined || pass.memory.status.installedVersion === undefined) return "nothing"
  return before.version === pass.instance.spec.version ? "sameVersion" : "otherVersion"
}

const startInstall = Effect.fnUntraced(function* (
  pass: Pass,
  decision: Extract<Decision, { readonly _tag: "Install" }>,
  target: Extract<TargetVerdict, { readonly _tag: "Ready" }>,
) {
  const { memory, instance, context } = pass
  const { version } = instance.spec
  // One that is silent just now may be another cluster by the time it answers; the answer starts the next pass.
  if (Option.isNone(memory.kubeconfig) || pass.prober.state()._tag !== "Answers") return
  const before = Option.getOrUndefined(installedBy(pass))
  const operation: Operation = {
    _tag: "Install",
    reason: decision.reason,
    generation: instance.metadata.generation,
    version,
    over: overWhat(pass, before),
    config: renderedConfig(pass),
    superseding: memory.superseded,
  }
  yield* context.slot.start(
    operation,
    runInstall({
      object: pass.object,
      instance,
      reason: decision.reason,
      refresh: decision.refresh,
      record: memory.record,
      kubeconfig: memory.kubeconfig.value,
      server: targetServer(instanceKey(instance)),
      kubeSystemUID: target.kubeSystemUID,
      serviceUID: target.serviceUID,
    }),
  )
})

/** The package is fetched while the target comes up: time to Ready is the longer of the two, not their sum. */
const prefetch = Effect.fnUntraced(function* (pass: Pass) {
  const { version } = pass.instance.spec
  if (pass.memory.prefetched.has(version)) return
  pass.memory.prefetched.add(version)
  const pulumi = yield* Pulumi
  // A failure here is met again, and told, by the install that needs the package.
  yield* Effect.forkIn(Effect.ignore(pulumi.fetch(version)), pass.scope)
})

const act = Effect.fnUntraced(function* (
  pass: Pass,
  decision: Decision,
  verdict: TargetVerdict,
): Effect.fn.Return<void, KubeError, InstanceServices> {
  switch (decision._tag) {
    case "AddFinalizer":
      return yield* addFinalizer(pass)
    case "TargetStep":
      yield* prefetch(pass)
      return verdict._tag === "Act" ? yield* takeStep(pass, verdict) : undefined
    case "Install":
      return verdict._tag === "Ready" ? yield* startInstall(pass, decision, verdict) : undefined
    case "CancelOperation":
      if (isCancelling(pass)) return
      yield* Effect.logInfo("cancelling operation").pipe(Effect.annotateLogs({ because: decision.because }))
      if (
        Option.exists(runningIn(pass), (running) => running._tag === "Install") &&
        verdict._tag === "Ready"
      ) {
        pass.memory.superseded = true
      }
      return yield* pass.context.slot.cancel
    case "Delete":
    case "Wait":
      return
  }
})

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
  if (decision._tag !== "TargetStep") memory.lastStep = { tag: "", times: 0 }
  yield* warnUnprotected(pass, seen.protection)
  yield* act(pass, decision, seen.verdict)
  yield* writeStatus(memory, instance, factsOf(pass, seen, decision))
  yield* arm(pass, decision, now)
})

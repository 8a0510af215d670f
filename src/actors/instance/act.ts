// Carries out what the plan decided: at most one step that changes the world, or a start in the slot.
import { Clock, Effect, Option } from "effect"
import { FINALIZER } from "../../schema/Names.ts"
import { platformConfig } from "../../schema/PlatformConfig.ts"
import { instanceKey } from "../../schema/PlatformInstance.ts"
import type { PlatformInstanceStatus } from "../../schema/PlatformStatus.ts"
import { epochMillis } from "../../schema/Time.ts"
import { Events } from "../../services/Events/Events.ts"
import { PlatformInstance as Instances } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, type KubeObject, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import { Pulumi } from "../../services/Pulumi/Pulumi.ts"
import type { Decision } from "./Decision.ts"
import type { Outstanding } from "./Facts.ts"
import { startTold } from "./history.ts"
import { runInstall } from "./install/Install.ts"
import { runPlan } from "./install/runPlan.ts"
import { urgencyOf } from "./install/urgency.ts"
import { lookOf } from "./looks.ts"
import type { Memory } from "./Memory.ts"
import { type InstallOperation, type Operation, OperationError, type Urgency } from "./Operation.ts"
import type { InstanceServices, Pass } from "./Pass.ts"
import type { Installed } from "./plan.ts"
import { backOff } from "./settle.ts"
import { runSleepStep } from "./sleep.ts"
import { nothing, runInline, runInSlot, type StepResult } from "./target/ensureTarget.ts"
import { targetServer } from "./target/observeTarget.ts"
import {
  described,
  type InlineStep,
  isInline,
  isSleepOf,
  isUpgradeOf,
  type SlotStep,
  type TargetCondition,
  type TargetStep,
  type TargetVerdict,
} from "./target/TargetState.ts"
import type { InstanceTrace } from "./trace/InstanceTrace.ts"
import { Views } from "./Views.ts"
import { runUpgradeStep } from "./vclusterUpgrade.ts"

/** Of a record that was lost the status still tells; when that was is not known, and so a repair is due. */
const toldInstalled = ({ installedVersion, applied }: PlatformInstanceStatus): Option.Option<Installed> =>
  installedVersion === undefined
    ? Option.none()
    : Option.some({
        version: installedVersion,
        generation: applied?.generation ?? 0,
        finishedAt: Number.NEGATIVE_INFINITY,
        early: 0,
      })

/** What the record proves for this life; a predecessor's settings are applied anew, its version stands. */
export const installedBy = ({
  memory,
  instance,
}: Pick<Pass, "memory" | "instance">): Option.Option<Installed> =>
  Option.flatMap(memory.record, ({ uid, installed }) =>
    installed === undefined
      ? Option.none()
      : Option.some({
          version: installed.version,
          generation: uid === instance.metadata.uid ? installed.generation : 0,
          finishedAt: epochMillis(installed.finishedAt),
          early: installed.repairEarly ?? 0,
        }),
  ).pipe(Option.orElse(() => toldInstalled(memory.status)))

export const isResyncPending = ({ memory }: Pass): boolean =>
  Option.exists(memory.record, ({ resync, anew }) => resync !== undefined || anew !== undefined)

/** The target is not the cluster that the platform was installed into. */
export const isAnotherCluster = ({ memory }: Pass, verdict: TargetVerdict): boolean =>
  verdict._tag === "Ready" &&
  Option.exists(
    memory.record,
    ({ kubeSystemUID }) => kubeSystemUID !== undefined && kubeSystemUID !== verdict.kubeSystemUID,
  )

/**
 * What has the slot. One that has ended since the pass began has it still: its end wakes the actor, and the next pass takes
 * that in before anything is decided.
 */
export const runningIn = (pass: Pass): Option.Option<Operation> => {
  const state = pass.context.slot.state()
  return state._tag === "Idle" ? Option.none() : Option.some(state.operation)
}

/** What the spec asks for beyond what is installed; none where nothing is. */
export const outstanding = (pass: Pass): Option.Option<Outstanding> => {
  const { metadata, spec } = pass.instance
  return Option.flatMap(installedBy(pass), ({ version, generation }) => {
    if (version !== spec.version) return Option.some({ version: spec.version, over: "otherVersion" })
    return generation === metadata.generation ? Option.none() : Option.some({ version, over: "sameVersion" })
  })
}

/** Whether what the spec says is installed already. */
const isRepeated = (pass: Pass): boolean =>
  Option.isSome(installedBy(pass)) && Option.isNone(outstanding(pass))

/** How an install would ask for its permit now. */
export const urgency = (pass: Pass): Urgency =>
  urgencyOf({
    repeats: isRepeated(pass),
    resyncPending: isResyncPending(pass),
    requested: pass.memory.awaited,
    failedGeneration: Option.getOrUndefined(pass.memory.installFailure)?.generation,
    generation: pass.instance.metadata.generation,
  })

const isCancelling = (pass: Pass): boolean => {
  const state = pass.context.slot.state()
  return state._tag === "Running" && state.cancelling
}

/** The finalizer, on the very object that was looked at. */
export const addFinalizer = Effect.fn("Instance.addFinalizer")(function* (
  object: KubeObject,
  trace: InstanceTrace,
) {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const { uid, resourceVersion, finalizers, namespace = "", name } = object.metadata
  const written = yield* kubernetes.patch(
    Instances,
    { namespace, name },
    {
      type: "merge",
      patch: {
        metadata: {
          uid,
          resourceVersion,
          finalizers: [...(finalizers ?? []), FINALIZER],
          annotations: trace.annotations(),
        },
      },
    },
  )
  yield* trace.saved
  yield* views.awaitWrite(Instances, written)
})

/** How often a step may be taken in a row: the world may change under it, but not that often. */
const maxRepeats = 3

/** What a step follows that others may change as often as they like: another one then is no repetition. */
const followedBy = Effect.fnUntraced(function* (pass: Pass, { _tag: tag }: InlineStep) {
  if (tag !== "IsolateWorkloads") return ""
  const view = yield* (yield* Views).read(instanceKey(pass.instance))
  return JSON.stringify(view.innerNetworkPolicies)
})

/** `restart control plane`: the name of a step, as logs and messages have it. */
const wordsOfStep = (tag: TargetStep["_tag"]): string => tag.replace(/(?<!^)[A-Z]/g, " $&").toLowerCase()

const countStep = Effect.fnUntraced(function* (memory: Memory, { _tag: tag }: InlineStep, about: string) {
  const { lastStep } = memory
  const times = lastStep.tag === tag && lastStep.about === about ? lastStep.times + 1 : 1
  memory.lastStep = { tag, about, times }
  if (times <= maxRepeats) return
  return yield* new OperationError({
    reason: "TargetError",
    message: `${wordsOfStep(tag)}: the step succeeds and takes no effect; something changes it back`,
    cancelled: false,
  })
})

/** A quick step that failed is remembered as `TargetError` and tried again after the backoff. */
const takeInlineStep = Effect.fnUntraced(function* (pass: Pass, step: InlineStep) {
  const { memory } = pass
  const about = yield* Effect.orElseSucceed(followedBy(pass, step), () => "")
  const run: Effect.Effect<StepResult, OperationError, InstanceServices> = isSleepOf(step)
    ? Effect.as(runSleepStep(pass, step), nothing)
    : isUpgradeOf(step)
      ? Effect.as(runUpgradeStep(pass, step), nothing)
      : runInline(pass.instance, memory.record, step)
  const failure = yield* run.pipe(
    Effect.withSpan("Target.step", { attributes: { "platforminstance.step": step._tag } }),
    Effect.tap(() => countStep(memory, step, about)),
    Effect.map(({ record, published, abandoned }) => {
      memory.abandoned = Option.orElse(abandoned, () => memory.abandoned)
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

const takeSlotStep = (
  pass: Pass,
  step: SlotStep,
  condition: TargetCondition,
): Effect.Effect<void, never, InstanceServices> =>
  startTold(
    pass,
    {
      _tag: "Target",
      step: step._tag,
      condition,
      changes: step._tag === "ReapplyRelease" ? step.lost.map(described) : [],
    },
    runInSlot(pass.instance, step),
  )

const takeStep = (
  pass: Pass,
  { step, condition }: Extract<TargetVerdict, { readonly _tag: "Act" }>,
): Effect.Effect<void, never, InstanceServices> =>
  Effect.andThen(
    Effect.logInfo("target step").pipe(
      Effect.annotateLogs({ step: wordsOfStep(step._tag), message: condition.message }),
    ),
    isInline(step) ? takeInlineStep(pass, step) : takeSlotStep(pass, step, condition),
  )

/** What the spec says to the platform's program; the operator's own part does not change with an edit. */
export const renderedConfig = ({ instance }: Pass): ReadonlyMap<string, string> =>
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
  const { memory, instance, context, standing } = pass
  const { version } = instance.spec
  const { kubeconfig } = memory
  const plan = standing._tag === "Agreed" ? standing.plan : Option.none()
  // One that is silent just now may be another cluster by the time it answers; the answer starts the next pass.
  if (Option.isNone(kubeconfig) || pass.prober.state()._tag !== "Answers") return yield* pass.prober.hurry
  const before = Option.getOrUndefined(installedBy(pass))
  const operation: InstallOperation = {
    _tag: "Install",
    reason: decision.reason,
    generation: instance.metadata.generation,
    version,
    over: overWhat(pass, before),
    config: renderedConfig(pass),
    superseding: memory.superseded,
    planned: Option.isSome(plan),
    urgency: urgency(pass),
    progress: { stage: "preparing", movedAt: yield* Clock.currentTimeMillis, changed: new Set() },
  }
  yield* startTold(
    pass,
    operation,
    runInstall({
      object: pass.object,
      instance,
      reason: decision.reason,
      // As its plan has looked at it.
      refresh: decision.refresh || Option.isSome(plan),
      plan,
      repeats: isRepeated(pass),
      urgency: operation.urgency,
      progress: operation.progress,
      onStage: context.mailbox.wake("permit"),
      record: memory.record,
      kubeconfig: Effect.sync(() => Option.getOrElse(memory.kubeconfig, () => kubeconfig.value)),
      server: targetServer(instanceKey(instance)),
      kubeSystemUID: target.kubeSystemUID,
      serviceUID: target.serviceUID,
    }),
  )
})

const startPlan = Effect.fnUntraced(function* (
  pass: Pass,
  { _tag: _, ...subject }: Extract<Decision, { readonly _tag: "Plan" }>,
  target: Extract<TargetVerdict, { readonly _tag: "Ready" }>,
) {
  const { memory } = pass
  const { kubeconfig } = memory
  const { slot } = subject
  const instance = slot === "drift" ? pass.instance : pass.wanted
  if (Option.isNone(kubeconfig) || pass.prober.state()._tag !== "Answers") return yield* pass.prober.hurry
  yield* startTold(
    pass,
    { _tag: "Plan", ...subject },
    runPlan({
      instance: { ...instance, spec: { ...instance.spec, version: subject.version } },
      slot,
      record: memory.record,
      kubeconfig: Effect.sync(() => Option.getOrElse(memory.kubeconfig, () => kubeconfig.value)),
      server: targetServer(instanceKey(instance)),
      kubeSystemUID: target.kubeSystemUID,
      failing: lookOf(memory, slot, subject).failures > 0,
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
  yield* Effect.forkIn(pass.trace.join(Effect.ignore(pulumi.fetch(version))), pass.scope)
})

const hasBegun = (running: Operation): boolean =>
  running._tag === "Install" && running.progress.stage !== "waiting"

export const act = Effect.fnUntraced(function* (
  pass: Pass,
  decision: Decision,
  verdict: TargetVerdict,
): Effect.fn.Return<void, KubeError, InstanceServices> {
  switch (decision._tag) {
    case "AddFinalizer":
      return yield* addFinalizer(pass.object, pass.trace)
    case "TargetStep":
      yield* prefetch(pass)
      return verdict._tag === "Act" ? yield* takeStep(pass, verdict) : undefined
    case "Install":
      return verdict._tag === "Ready" ? yield* startInstall(pass, decision, verdict) : undefined
    case "Plan":
      return verdict._tag === "Ready" ? yield* startPlan(pass, decision, verdict) : undefined
    case "CancelOperation":
      if (isCancelling(pass)) return
      yield* Effect.logInfo("cancelling operation").pipe(Effect.annotateLogs({ because: decision.because }))
      // One that was still waiting for its permit has begun nothing that would have to be refreshed.
      if (Option.exists(runningIn(pass), hasBegun) && verdict._tag === "Ready") pass.memory.superseded = true
      return yield* pass.context.slot.cancel
    case "Delete":
    case "Hold":
    case "Wait":
      return
  }
})

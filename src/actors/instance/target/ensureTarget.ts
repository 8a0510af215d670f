// Carries out one step towards a target. Quick steps run in the pass; what Helm does runs in the slot.
import { Effect, Option } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { ANNOTATION_STORAGE_ROOT, hostNamespace, kubeconfigSecretName } from "../../../schema/Names.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { Helm, type ReleaseRef } from "../../../services/Helm/Helm.ts"
import type { History } from "../../../services/History/History.ts"
import { Namespace, NetworkPolicy, Secret } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeManifest, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import type { InstanceRecord, StateStore } from "../../../services/StateStore/StateStore.ts"
import { finishPredecessor } from "../deletion/finishPredecessor.ts"
import { markedRoot } from "../install/markedRoot.ts"
import { OperationError, type OperationResult } from "../Operation.ts"
import { Settings } from "../Settings.ts"
import { Views } from "../Views.ts"
import { applyWhole } from "./applyWhole.ts"
import { PRIORITY_CLASS } from "./controlPlanePriority.ts"
import { foreignNamespace, hostNamespaceManifest, namespaceState } from "./HostNamespace.ts"
import type { HostNetwork } from "./HostNetwork.ts"
import { counted, countRepaired } from "./helmMetrics.ts"
import { isolateWorkloads } from "./isolate.ts"
import { isOwnedBy, publishedManifest, readKubeconfig } from "./Kubeconfig.ts"
import { networkPolicyManifests } from "./NetworkPolicies.ts"
import { releaseRef } from "./observeTarget.ts"
import { Protection } from "./Protection.ts"
import type { Quotas } from "./Quotas.ts"
import { applyQuota } from "./quota.ts"
import { deployedRecord } from "./releaseObjects.ts"
import { replaceRefused } from "./replaceRefused.ts"
import { beginResync, restartControlPlane } from "./resync.ts"
import type { InlineStep, LostObject, SleepStep, SlotStep, UpgradeStep } from "./TargetState.ts"
import { vclusterValues } from "./VclusterValues.ts"
import { asWriter, findWriter, type OwnPod } from "./writer.ts"

/** `TargetError`, with the step's name in front of the cause. */
const targetError = (step: string, message: string, cancelled = false) =>
  new OperationError({ reason: "TargetError", message: `${step}: ${message}`, cancelled })

const failing =
  (step: string) =>
  (error: { readonly message: string }): OperationError =>
    targetError(step, error.message)

const createNamespace = Effect.fn("Target.createNamespace")(function* (
  instance: PlatformInstance,
  record: Option.Option<InstanceRecord>,
) {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const key = instanceKey(instance)
  const manifest = hostNamespaceManifest(key, yield* markedRoot(instance, record))
  const { name } = manifest.metadata
  const written = yield* kubernetes.create(Namespace, manifest).pipe(
    Effect.catchIf(
      (error) => error.reason === "AlreadyExists",
      () => adoptNamespace(key, manifest),
    ),
    Effect.catchTag("KubeError", (error) => Effect.fail(failing(`create host namespace ${name}`)(error))),
  )
  yield* views.awaitWrite(Namespace, written)
})

/** One from before there was a policy that reads it, or of an instance whose root is another one than was thought. */
const markNamespace = Effect.fn("Target.markNamespace")(function* (
  instance: PlatformInstance,
  record: Option.Option<InstanceRecord>,
) {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const name = hostNamespace(instanceKey(instance))
  const annotations = { [ANNOTATION_STORAGE_ROOT]: yield* markedRoot(instance, record) }
  const written = yield* kubernetes
    .patch(Namespace, { name }, { type: "merge", patch: { metadata: { annotations } } })
    .pipe(Effect.mapError(failing(`mark host namespace ${name}`)))
  yield* views.awaitWrite(Namespace, written)
})

/**
 * The watch sees labelled namespaces alone, so that one which is there and not seen is somebody else's, or has lost
 * its label. Ours gets the label back; anybody else's is never taken over.
 */
const adoptNamespace = Effect.fnUntraced(function* (key: InstanceKey, manifest: KubeManifest) {
  const kubernetes = yield* Kubernetes
  const { name } = manifest.metadata
  const found = yield* kubernetes.get(Namespace, { name })
  const state = namespaceState(key, found)
  if (state._tag === "Foreign")
    return yield* targetError("host namespace", foreignNamespace(name, state.owner))
  const uid = Option.getOrUndefined(found)?.metadata.uid
  return yield* kubernetes.apply(Namespace, {
    ...manifest,
    metadata: { ...manifest.metadata, ...(uid === undefined ? {} : { uid }) },
  })
})

const applyNetworkPolicies = Effect.fn("Target.applyNetworkPolicies")(function* (instance: PlatformInstance) {
  const views = yield* Views
  const settings = yield* Settings
  const namespace = hostNamespace(instanceKey(instance))
  for (const manifest of networkPolicyManifests(namespace, settings.operatorNamespace)) {
    const written = yield* applyWhole(NetworkPolicy, manifest).pipe(
      Effect.mapError(failing(`apply network policy ${manifest.metadata.name}`)),
    )
    yield* views.awaitWrite(NetworkPolicy, written)
  }
})

const publishKubeconfig = Effect.fn("Target.publishKubeconfig")(function* (instance: PlatformInstance) {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const key = instanceKey(instance)
  const step = "store kubeconfig"
  const name = kubeconfigSecretName(key)
  const ref = { namespace: key.namespace, name }
  const existing = yield* Effect.mapError(kubernetes.get(Secret, ref, { metadataOnly: true }), failing(step))
  if (Option.isSome(existing) && !isOwnedBy(existing.value, instance.metadata.uid)) {
    return yield* targetError(
      step,
      `Secret ${key.namespace}/${name} belongs to somebody else and is not overwritten; remove or rename it`,
    )
  }
  const kubeconfig = yield* Effect.mapError(readKubeconfig(hostNamespace(key)), failing(step))
  if (Option.isNone(kubeconfig)) return Option.none<string>()
  const manifest = publishedManifest(instance, kubeconfig.value)
  // One that somebody has made, or put in its place, since it was looked for is not overwritten either.
  const written = yield* Option.match(existing, {
    onNone: () => kubernetes.create(Secret, manifest),
    onSome: ({ metadata: { uid } }) =>
      kubernetes.apply(Secret, { ...manifest, metadata: { ...manifest.metadata, uid } }),
  }).pipe(Effect.mapError(failing(step)))
  yield* views.awaitWrite(Secret, written)
  return Option.some(written.metadata.resourceVersion)
})

/** What a quick step has to tell the actor's memory. */
export interface StepResult {
  /** The record, when the step wrote it. */
  readonly record: Option.Option<InstanceRecord>
  /** The resourceVersion of the published kubeconfig, when the step wrote it. */
  readonly published: Option.Option<string>
  /** The UID of the pending record whose writer is gone. */
  readonly abandoned: Option.Option<string>
}
export const nothing: StepResult = {
  record: Option.none(),
  published: Option.none(),
  abandoned: Option.none(),
}

/** Succeeds with the UID of the record once nobody writes it any more; who is alive is not pushed aside. */
const checkWriter = Effect.fn("Target.checkWriter")(function* (
  key: InstanceKey,
  { revision, status }: Extract<InlineStep, { readonly _tag: "CheckWriter" }>,
) {
  const found = yield* Effect.mapError(findWriter(key, revision), failing("check release"))
  if (Option.isNone(found.writer)) return found.recordUID
  const { who, since } = found.writer.value
  return yield* targetError(
    "check release",
    `revision ${revision} of vcluster is ${status}, held by ${who} since ${since}; it is not taken over while that may be alive`,
  )
})

/** Runs one quick step. */
export const runInline = Effect.fnUntraced(function* (
  instance: PlatformInstance,
  record: Option.Option<InstanceRecord>,
  step: Exclude<InlineStep, SleepStep | UpgradeStep>,
): Effect.fn.Return<
  StepResult,
  OperationError,
  Kubernetes | Views | Settings | Protection | HostNetwork | Quotas | StateStore | OwnPod
> {
  const key = instanceKey(instance)
  switch (step._tag) {
    case "CheckWriter":
      return { ...nothing, abandoned: yield* checkWriter(key, step) }
    case "CreateNamespace":
      yield* createNamespace(instance, record)
      return nothing
    case "MarkNamespace":
      yield* markNamespace(instance, record)
      return nothing
    case "ApplyProtection": {
      const protection = yield* Protection
      yield* Effect.mapError(protection.ensure, failing("apply admission policy"))
      return nothing
    }
    case "ApplyNetworkPolicies":
      yield* applyNetworkPolicies(instance)
      return nothing
    case "IsolateWorkloads":
      yield* Effect.mapError(isolateWorkloads(instance), failing("apply network policy"))
      return nothing
    case "ApplyQuota":
      yield* Effect.mapError(applyQuota(instance), failing("apply quota"))
      return nothing
    case "PublishKubeconfig":
      return { ...nothing, published: yield* publishKubeconfig(instance) }
    case "BeginResync": {
      const before = Option.getOrElse(
        record,
        (): InstanceRecord => ({ format: 1, uid: instance.metadata.uid }),
      )
      const begun = yield* Effect.mapError(beginResync(key, before), failing("begin resync"))
      return { ...nothing, record: begun }
    }
    case "RestartControlPlane":
      yield* Effect.mapError(restartControlPlane(key, step.podUID), failing("restart control plane"))
      return nothing
  }
})

/** Only new releases have it, and upgraded ones: another value restarts a control plane that is there. */
const priorityOfControlPlane = Effect.gen(function* () {
  const state = yield* (yield* Protection).state
  return Option.exists(state, ({ priority }) => priority) ? { priorityClassName: PRIORITY_CLASS } : {}
})

/** Of the deployed revision, which is the one that Helm applies once more. */
const replaceEdited = Effect.fnUntraced(
  function* (key: InstanceKey, lost: ReadonlyArray<LostObject>) {
    const views = yield* Views
    const edited = new Set(lost.filter(({ how }) => how === "edited").map(({ object }) => object))
    const { releaseSecrets } = yield* views.read(key)
    const deployed = deployedRecord(key, releaseSecrets)
    if (Option.isSome(deployed)) yield* replaceRefused(key, deployed.value.revision, edited)
  },
  // Helm meets the same server, and says what is wrong with it.
  (replaced) => Effect.ignore(replaced),
)

/** One that has begun nothing is tried again as any other step; where nobody can say, the next look at its records does. */
const failedUpgrade = Effect.fnUntraced(function* (
  release: ReleaseRef,
  { message }: { readonly message: string },
) {
  const helm = yield* Helm
  const begun = yield* helm.state(release).pipe(
    Effect.map(Option.exists(({ status }) => status !== "deployed")),
    Effect.orElseSucceed(() => false),
  )
  return yield* new OperationError({
    reason: "TargetError",
    message: `upgrade vcluster ${helm.chartVersion}: ${message}`,
    cancelled: false,
    begun,
  })
})

/** One Helm operation. `helm` waits for nothing: the gates do, on the watch. */
export const runInSlot = Effect.fn("Target.helm")(function* (
  instance: PlatformInstance,
  step: SlotStep,
): Effect.fn.Return<
  OperationResult,
  OperationError,
  Helm | History | Settings | Kubernetes | StateStore | Views | Protection | OwnPod
> {
  const helm = yield* Helm
  const settings = yield* Settings
  const key = instanceKey(instance)
  const release = releaseRef(key)
  yield* Effect.annotateCurrentSpan({
    "platforminstance.step": step._tag,
    "k8s.namespace.name": release.namespace,
  })
  const images = {
    ...Option.match(settings.images.vcluster, { onNone: () => ({}), onSome: (image) => ({ image }) }),
    ...Option.match(settings.images.kubernetes, {
      onNone: () => ({}),
      onSome: (kubernetesImage) => ({ kubernetesImage }),
    }),
    ...Option.match(settings.images.registry, {
      onNone: () => ({}),
      onSome: (imageRegistry) => ({ imageRegistry }),
    }),
  }
  const values = vclusterValues({
    hostNamespace: release.namespace,
    ...images,
    ...(yield* priorityOfControlPlane),
  })
  switch (step._tag) {
    case "FinishPredecessor":
      return yield* finishPredecessor(instance)
    case "InstallRelease":
      yield* helm
        .install(release, values)
        .pipe(
          counted("install"),
          asWriter(key),
          Effect.mapError(failing(`install vcluster ${helm.chartVersion}`)),
        )
      break
    case "UpgradeRelease":
      yield* Option.match(step.carryOn, {
        onNone: () => helm.upgrade(release, values),
        onSome: (revision) => helm.rollback(release, revision),
      }).pipe(
        counted("upgrade"),
        asWriter(key),
        Effect.catch((error) => failedUpgrade(release, error)),
      )
      break
    case "UninstallRelease":
      yield* helm
        .uninstall(release)
        .pipe(counted("uninstall"), Effect.mapError(failing("uninstall vcluster")))
      break
    case "RollbackRelease":
      yield* replaceRefused(key, step.revision)
      yield* helm
        .rollback(release, step.revision)
        .pipe(
          counted("rollback"),
          asWriter(key),
          Effect.mapError(failing(`roll back vcluster to revision ${step.revision}`)),
        )
      break
    case "ReapplyRelease":
      yield* replaceEdited(key, step.lost)
      yield* helm
        .reapply(release)
        .pipe(counted("repair"), asWriter(key), Effect.mapError(failing("repair vcluster")))
      yield* countRepaired(step.lost)
      break
  }
  return { _tag: "TargetStepDone" }
})

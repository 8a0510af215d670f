// One install or repair, start to end, as it runs in the slot: what can be settled first, then, with a permit, the
// engine. The record is written before the first `up` (what a cleanup must know) and again when the operation has
// proved what it proves.
import { Clock, DateTime, Effect, Equal, Option, Random } from "effect"
import type { InstallReason } from "../../../schema/Conditions.ts"
import { formatKey } from "../../../schema/InstanceKey.ts"
import type { Plan } from "../../../schema/Plan.ts"
import { platformConfig } from "../../../schema/PlatformConfig.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { formatTime } from "../../../schema/Time.ts"
import { Events } from "../../../services/Events/Events.ts"
import type { KubeObject, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import {
  type OperationOutputs,
  type OperationProgress,
  type OperationRequest,
  Pulumi,
} from "../../../services/Pulumi/Pulumi.ts"
import {
  type InstanceRecord,
  StateStore,
  type StateStoreError,
} from "../../../services/StateStore/StateStore.ts"
import { pastSpan } from "../../../services/Telemetry/Tracing.ts"
import { agreedRecord } from "../approval.ts"
import type { InstallProgress, OperationError, OperationResult, Urgency } from "../Operation.ts"
import { Settings } from "../Settings.ts"
import type { Kubeconfig } from "../target/Kubeconfig.ts"
import type { Views } from "../Views.ts"
import { outdateDrift, requireBasis } from "./basis.ts"
import { checkState } from "./checkState.ts"
import { hasAnotherPort } from "./gatewayPort.ts"
import { InstallPermits } from "./InstallPermits.ts"
import {
  fetchPackage,
  fromPulumi,
  installFailed,
  type Prepared,
  prepareInstall,
  resolveSecret,
} from "./prepare.ts"
import { tellKept, tellRestored } from "./restored.ts"

export interface InstallRequest {
  /** What Events are about. */
  readonly object: KubeObject
  readonly instance: PlatformInstance
  readonly reason: InstallReason
  readonly refresh: boolean
  /** Version and generation are installed already: whatever the engine changes was not as it should be. */
  readonly repeats: boolean
  readonly urgency: Urgency
  readonly progress: InstallProgress
  /** The status is to say how far it is. */
  readonly onStage: Effect.Effect<void>
  readonly record: Option.Option<InstanceRecord>
  /** What it has waited for: it begins from what that was made from. */
  readonly plan: Option.Option<Plan>
  /** As it is when the engine begins: it may have changed while a permit was waited for. */
  readonly kubeconfig: Effect.Effect<Kubeconfig>
  /** The in-cluster address of the target's API. */
  readonly server: string
  readonly kubeSystemUID: string
  readonly serviceUID: string
}

const fromStore =
  ({ instance }: InstallRequest) =>
  (error: StateStoreError) =>
    installFailed("write record", instance.spec.version, error.message)

/** The most by which a repair comes early, as a share of the interval: so that many instances do not repair in step. */
const mostEarly = 0.05

const begunRecord = (
  { instance, kubeSystemUID, server }: InstallRequest,
  before: InstanceRecord | undefined,
  { storageRoot }: Prepared,
): InstanceRecord => {
  const { uid } = instance.metadata
  return {
    ...before,
    // What a predecessor has installed is no generation of this life, whatever its number.
    ...(before?.installed === undefined || before.uid === uid
      ? {}
      : { installed: { ...before.installed, generation: 0 } }),
    format: 1,
    uid,
    storageRoot,
    kubeSystemUID,
    server,
  }
}

const provedRecord = Effect.fnUntraced(function* (
  { instance, reason, serviceUID }: InstallRequest,
  { resync: _, behind: __, anew: ___, unfinished: ____, ...begun }: InstanceRecord,
  { tenantHostImage }: Prepared,
  { endpoints }: OperationOutputs,
): Effect.fn.Return<InstanceRecord> {
  const finishedAt = formatTime(yield* DateTime.now)
  const { version, platform } = instance.spec
  const lastRepair = reason === "RepairDue" ? finishedAt : begun.installed?.lastRepair
  const httpNodePort = platform?.gateway?.httpNodePort ?? 0
  return {
    ...begun,
    serviceUID,
    ...(tenantHostImage === undefined ? {} : { tenantHostImage }),
    installed: {
      version,
      generation: instance.metadata.generation,
      reason,
      finishedAt,
      repairEarly: (yield* Random.next) * mostEarly,
      ...(httpNodePort === 0 ? {} : { httpNodePort }),
      tenants: platform?.tenants?.length ?? 0,
      users: platform?.users?.length ?? 0,
      ...(platform?.tenantAuth?.issuer === undefined ? {} : { issuer: platform.tenantAuth.issuer }),
      ...(lastRepair === undefined ? {} : { lastRepair }),
      endpoints,
    },
  }
})

/** The engine, with a permit. What is read anew here may have changed while it was waited for. */
const runEngine = Effect.fnUntraced(function* (
  request: InstallRequest,
  prepared: Prepared,
  state: OperationRequest["state"],
  noteBegun: Effect.Effect<void, OperationError, StateStore>,
  onProgress: (progress: OperationProgress) => Effect.Effect<void>,
) {
  const settings = yield* Settings
  const pulumi = yield* Pulumi
  const { instance, progress } = request
  const { storageRoot, tenantHostImage } = prepared
  const waited = progress.stage === "waiting"
  if (waited) yield* pastSpan("Wait.installPermit", progress.movedAt)
  progress.movedAt = yield* Clock.currentTimeMillis
  progress.stage = "preparing"
  if (waited) yield* request.onStage
  const platform = waited ? yield* fetchPackage(instance.spec.version) : prepared.platform
  const kubeconfig = yield* request.kubeconfig
  const secretConfig = yield* resolveSecret(instance)
  const config = platformConfig(instance.spec, {
    storageRoot: storageRoot.path,
    kubernetesEndpoint: request.server,
    ...(tenantHostImage === undefined ? {} : { tenantHostImage }),
  })
  if (Option.isSome(request.plan)) yield* requireBasis(instance, request.plan.value, platform, config)
  // From here on it is not taken back any more.
  progress.stage = "running"
  yield* noteBegun
  const run = (refresh: boolean) =>
    pulumi.run(
      {
        key: instanceKey(instance),
        generation: instance.metadata.generation,
        kind: request.reason,
        version: instance.spec.version,
        package: platform,
        refresh,
        config,
        secretConfig,
        kubeconfig: kubeconfig.text,
        clusterIdentifier: request.kubeSystemUID,
        ...(state === undefined ? {} : { state }),
        timeout: settings.installTimeout,
      },
      onProgress,
    )
  const outputs = yield* Effect.mapError(run(request.refresh), fromPulumi)
  // Whoever cannot see it is told nothing: the next repair comes to the same.
  if (!(yield* Effect.orElseSucceed(hasAnotherPort(instance), () => false))) return outputs
  yield* Effect.logInfo("the host gave the gateway another NodePort: set right by a refresh and an up")
  return yield* Effect.mapError(run(true), fromPulumi)
})

export const runInstall = Effect.fn("Install.run")(function* (
  given: InstallRequest,
): Effect.fn.Return<
  OperationResult,
  OperationError,
  Kubernetes | Pulumi | StateStore | Settings | InstallPermits | Events | Views
> {
  const store = yield* StateStore
  const permits = yield* InstallPermits
  const events = yield* Events
  const { instance, reason, progress } = given
  const key = instanceKey(instance)
  yield* Effect.annotateCurrentSpan({
    "platforminstance.reason": reason,
    "platforminstance.version": instance.spec.version,
  })

  const { request, state } = yield* checkState(given)
  const prepared = yield* prepareInstall(request)
  const begun = begunRecord(request, Option.getOrUndefined(request.record), prepared)
  yield* Effect.mapError(store.writeRecord(key, begun), fromStore(request))

  const restored = new Set<string>()
  const onProgress = Effect.fnUntraced(function* (said: OperationProgress) {
    progress.movedAt = yield* Clock.currentTimeMillis
    for (const each of [...(said.restored ?? []), ...(said.changed ?? [])]) progress.changed.add(each)
    for (const each of said.restored ?? []) restored.add(each)
    // What an install of something new changes is what was asked for.
    if (request.repeats) for (const each of said.changed ?? []) restored.add(each)
    if (said.low !== undefined) {
      yield* events.emit(request.object, {
        type: "Warning",
        reason: "DiskLow",
        action: "Install",
        note: said.low,
      })
    }
    if (said.kept !== undefined) yield* tellKept(events, request.object, said.kept)
    if (said.notice !== undefined) {
      yield* events.emit(request.object, {
        type: "Normal",
        reason: "Recovered",
        action: "Install",
        note: said.notice,
      })
    } else if (said.moved !== true) {
      yield* Effect.logInfo("install step").pipe(Effect.annotateLogs({ step: said.step, reason }))
    }
  })
  const onWait = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    progress.stage = "waiting"
    progress.movedAt = now
    return request.onStage
  })
  const next: InstanceRecord = { ...begun, agreed: agreedRecord(instance), unfinished: true }
  const noteBegun = Effect.gen(function* () {
    yield* outdateDrift(instance)
    if (!Equal.equals(next, begun)) yield* Effect.mapError(store.writeRecord(key, next), fromStore(request))
  })
  const outputs = yield* permits
    .withPermit(
      { key: formatKey(key), ...request.urgency },
      onWait,
      runEngine(request, prepared, state, noteBegun, onProgress),
    )
    // One that fails later has set this right all the same.
    .pipe(Effect.ensuring(tellRestored(request.object, restored)))

  const record = yield* provedRecord(request, next, prepared, outputs)
  yield* Effect.mapError(store.writeRecord(key, record), fromStore(request))
  return { _tag: "Installed", record }
})

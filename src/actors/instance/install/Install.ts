// One install or repair, start to end, as it runs in the slot: secret, storage root, package, tenant host image,
// then, with a permit, the engine. The record is written before the first `up` (what a cleanup must know) and
// again when the operation has proved what it proves.
import { DateTime, Effect, Option, type Redacted, Schedule } from "effect"
import type { InstallReason } from "../../../schema/Conditions.ts"
import { formatKey } from "../../../schema/InstanceKey.ts"
import { platformConfig } from "../../../schema/PlatformConfig.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { formatTime } from "../../../schema/Time.ts"
import { Events } from "../../../services/Events/Events.ts"
import type { KubeObject, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { wrapperConfig } from "../../../services/Pulumi/Layout.ts"
import { type PlatformPackage, Pulumi, type PulumiError } from "../../../services/Pulumi/Pulumi.ts"
import {
  type InstanceRecord,
  StateStore,
  type StateStoreError,
} from "../../../services/StateStore/StateStore.ts"
import { OperationError, type OperationResult } from "../Operation.ts"
import { Settings } from "../Settings.ts"
import { type Kubeconfig, readSecretKey } from "../target/Kubeconfig.ts"
import { chooseStorageRoot, chooseTenantHostImage } from "./choices.ts"
import { InstallPermits } from "./InstallPermits.ts"

export interface InstallRequest {
  /** What Events are about. */
  readonly object: KubeObject
  readonly instance: PlatformInstance
  readonly reason: InstallReason
  readonly refresh: boolean
  readonly record: Option.Option<InstanceRecord>
  readonly kubeconfig: Kubeconfig
  /** The in-cluster address of the target's API. */
  readonly server: string
  readonly kubeSystemUID: string
  readonly serviceUID: string
}

const fail = (reason: OperationError["reason"], message: string) =>
  new OperationError({ reason, message, cancelled: false })

const fromPulumi = (error: PulumiError) =>
  new OperationError({
    reason: "InstallFailed",
    message: `${error.step} (version ${error.version}): ${error.message}`,
    // An interrupted operation ends as an interruption; what arrives here as cancelled ran out of its time.
    cancelled: false,
  })

const fromStore = (error: StateStoreError) => fail("InstallFailed", `write record: ${error.message}`)

/** The client secret as it is now; read at each install and repair, so that a rotation arrives by itself. */
const resolveSecret = Effect.fn("Install.resolveSecret")(function* (
  instance: PlatformInstance,
): Effect.fn.Return<ReadonlyMap<string, Redacted.Redacted>, OperationError, Kubernetes> {
  const ref = instance.spec.platform?.tenantAuth?.clientSecretRef
  if (ref === undefined) return new Map()
  const { namespace } = instance.metadata
  const where = `key ${ref.key} of Secret ${namespace}/${ref.name}, named by spec.platform.tenantAuth.clientSecretRef,`
  const found = yield* readSecretKey(namespace, ref.name, ref.key).pipe(
    Effect.mapError((error) =>
      fail("TenantAuthSecretUnavailable", `${where} cannot be read: ${error.message}`),
    ),
  )
  if (Option.isNone(found)) {
    return yield* fail(
      "TenantAuthSecretUnavailable",
      `${where} is missing or empty; create it in namespace ${namespace}`,
    )
  }
  return new Map([[wrapperConfig.clientSecret, found.value]])
})

/** State must never meet a cluster that is not the one it was made in: everything would be dropped from it. */
const checkCluster = (request: InstallRequest) => {
  const recorded = Option.getOrUndefined(request.record)?.kubeSystemUID
  return recorded === undefined || recorded === request.kubeSystemUID
    ? Effect.void
    : fail(
        "InstallFailed",
        `compare cluster: the target at ${request.server} is another cluster (kube-system ${request.kubeSystemUID}) than the one this instance was installed into (${recorded}); nothing was applied. Restore the vCluster's volume, or delete the instance and create it again`,
      )
}

const chooseImage = (request: InstallRequest, platform: PlatformPackage, settings: Settings["Service"]) =>
  Effect.fromResult(
    chooseTenantHostImage({
      spec: request.instance.spec,
      record: request.record,
      everInstalled:
        Option.getOrUndefined(request.record)?.installed !== undefined ||
        request.instance.status?.installedVersion !== undefined,
      operatorDefault: settings.defaultTenantHostImage,
      approved: platform.approvedHostBuilds,
    }),
  ).pipe(Effect.mapError((problem) => fail("TenantHostImageUnsupported", problem)))

/** A missing registry is often a blip: a few quick tries before the install counts as failed. */
const fetchRetries = {
  schedule: Schedule.exponential("1 second").pipe(Schedule.upTo({ times: 2 })),
  while: (error: PulumiError) => error.final !== true,
}

export const runInstall = Effect.fn("Install.run")(function* (
  request: InstallRequest,
): Effect.fn.Return<
  OperationResult,
  OperationError,
  Kubernetes | Pulumi | StateStore | Settings | InstallPermits | Events
> {
  const settings = yield* Settings
  const store = yield* StateStore
  const pulumi = yield* Pulumi
  const permits = yield* InstallPermits
  const events = yield* Events
  const { instance, reason } = request
  const key = instanceKey(instance)
  const { uid, generation } = instance.metadata
  yield* Effect.annotateCurrentSpan({ instance: formatKey(key), reason, version: instance.spec.version })

  yield* checkCluster(request)
  const secretConfig = yield* resolveSecret(instance)
  const storageRoot = yield* Effect.fromResult(
    chooseStorageRoot(key, instance.spec, settings.storageRootBase, request.record),
  ).pipe(Effect.mapError((problem) => fail("InvalidStorageRoot", problem)))
  const platform = yield* pulumi
    .fetch(instance.spec.version)
    .pipe(Effect.retry(fetchRetries), Effect.mapError(fromPulumi))
  const tenantHostImage = yield* chooseImage(request, platform, settings)

  const before = Option.getOrUndefined(request.record)
  const begun: InstanceRecord = {
    ...before,
    // What a predecessor has installed is no generation of this life, whatever its number.
    ...(before?.installed === undefined || before.uid === uid
      ? {}
      : { installed: { ...before.installed, generation: 0 } }),
    format: 1,
    uid,
    storageRoot,
    kubeSystemUID: request.kubeSystemUID,
    server: request.server,
  }
  yield* Effect.mapError(store.writeRecord(key, begun), fromStore)

  const image = Option.getOrUndefined(tenantHostImage)
  const outputs = yield* permits
    .withPermit(
      pulumi.run(
        {
          key,
          generation,
          kind: reason,
          version: instance.spec.version,
          package: platform,
          refresh: request.refresh,
          config: platformConfig(instance.spec, {
            storageRoot: storageRoot.path,
            kubernetesEndpoint: request.server,
            ...(image === undefined ? {} : { tenantHostImage: image }),
          }),
          secretConfig,
          kubeconfig: request.kubeconfig.text,
          clusterIdentifier: request.kubeSystemUID,
          timeout: settings.installTimeout,
        },
        ({ step, notice }) =>
          notice === undefined
            ? Effect.logInfo("install step").pipe(Effect.annotateLogs({ step, reason }))
            : events.emit(request.object, {
                type: "Normal",
                reason: "Recovered",
                action: "Install",
                note: notice,
              }),
      ),
    )
    .pipe(Effect.mapError(fromPulumi))

  const finishedAt = formatTime(yield* DateTime.now)
  const { platform: spec } = instance.spec
  const lastRepair = reason === "RepairDue" ? finishedAt : begun.installed?.lastRepair
  const { resync: _, ...settled } = begun
  const record: InstanceRecord = {
    ...settled,
    serviceUID: request.serviceUID,
    ...(image === undefined ? {} : { tenantHostImage: image }),
    installed: {
      version: instance.spec.version,
      generation,
      reason,
      finishedAt,
      tenants: spec?.tenants?.length ?? 0,
      users: spec?.users?.length ?? 0,
      ...(spec?.tenantAuth?.issuer === undefined ? {} : { issuer: spec.tenantAuth.issuer }),
      ...(lastRepair === undefined ? {} : { lastRepair }),
      endpoints: outputs.endpoints,
    },
  }
  yield* Effect.mapError(store.writeRecord(key, record), fromStore)
  return { _tag: "Installed", record }
})

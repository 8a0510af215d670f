// What an install settles before it asks for its permit: client secret, storage root, package, tenant host image, and
// that nobody else has what it is to get.
import { Effect, Option, type Redacted, Schedule } from "effect"
import { MAX_MESSAGE } from "../../../schema/Conditions.ts"
import { ANNOTATION_FRESH_START } from "../../../schema/Names.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { keepEnds } from "../../../schema/Text.ts"
import type { Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { wrapperConfig } from "../../../services/Pulumi/Layout.ts"
import { type PlatformPackage, Pulumi, type PulumiError } from "../../../services/Pulumi/Pulumi.ts"
import type { StateStore } from "../../../services/StateStore/StateStore.ts"
import { OperationError } from "../Operation.ts"
import { Settings } from "../Settings.ts"
import { readSecretKey } from "../target/Kubeconfig.ts"
import type { Views } from "../Views.ts"
import { chooseStorageRoot, chooseTenantHostImage, gatewayProblem, type StorageChoice } from "./choices.ts"
import { conflictOf } from "./claims.ts"
import type { InstallRequest } from "./Install.ts"
import { everInstalled } from "./stateEvidence.ts"

const fail = (reason: OperationError["reason"], message: string) =>
  new OperationError({ reason, message, cancelled: false })

/** Fits a condition and an Event: those would cut off the end of a program's words, which says why. */
export const installFailed = (step: string, version: string, message: string) =>
  fail("InstallFailed", keepEnds(`${step} (version ${version}): ${message}`, MAX_MESSAGE))

/** The way out when there is no backup. */
export const freshStart = `Only if there is no backup: annotate the instance with ${ANNOTATION_FRESH_START}="$(date -Is)", and it is installed over what is there, its Helm releases anew`

/** An interrupted operation ends as an interruption; what arrives as an error of reason `Cancelled` ran out of its time. */
export const fromPulumi = ({ step, version, message }: PulumiError) =>
  installFailed(step, version, step === "check state" ? `${message}. ${freshStart}` : message)

/** The client secret as it is now; read at each install and repair, so that a rotation arrives by itself. */
export const resolveSecret = Effect.fn("Install.resolveSecret")(function* (
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

type Subject = Pick<InstallRequest, "instance" | "record">

const chooseImage = (request: Subject, platform: PlatformPackage, settings: Settings["Service"]) =>
  Effect.fromResult(
    chooseTenantHostImage({
      spec: request.instance.spec,
      record: request.record,
      told: request.instance.status?.applied?.tenantHostImage,
      everInstalled: everInstalled(request.instance, request.record),
      operatorDefault: settings.defaultTenantHostImage,
      approved: platform.approvedHostBuilds,
    }),
  ).pipe(Effect.mapError((problem) => fail("TenantHostImageUnsupported", problem)))

/** A missing registry is often a blip: a few quick tries before the install counts as failed. */
const fetchRetries = {
  schedule: Schedule.exponential("1 second").pipe(Schedule.upTo({ times: 2 })),
  while: (error: PulumiError) => error.final !== true,
}

/** The package as it lies there now: verified, or installed again. */
export const fetchPackage = Effect.fnUntraced(function* (version: string) {
  const pulumi = yield* Pulumi
  return yield* pulumi.fetch(version).pipe(Effect.retry(fetchRetries), Effect.mapError(fromPulumi))
})

export interface Prepared {
  readonly storageRoot: StorageChoice
  readonly platform: PlatformPackage
  /** Absent: the platform's own default. */
  readonly tenantHostImage: string | undefined
}

export const prepareInstall = Effect.fn("Install.prepare")(function* (
  request: Subject,
): Effect.fn.Return<Prepared, OperationError, Kubernetes | Pulumi | StateStore | Settings | Views> {
  const settings = yield* Settings
  const { instance, record } = request
  const { version } = instance.spec
  const problem = gatewayProblem(instance.spec)
  if (problem !== undefined) return yield* installFailed("check spec", version, problem)
  yield* resolveSecret(instance)
  const storageRoot = yield* Effect.fromResult(
    chooseStorageRoot({
      key: instanceKey(instance),
      spec: instance.spec,
      base: settings.storageRootBase,
      record,
      everInstalled: everInstalled(request.instance, request.record),
    }),
  ).pipe(Effect.mapError((problem) => fail("InvalidStorageRoot", problem)))
  const conflict = yield* conflictOf(instance, record).pipe(
    Effect.mapError((error) => installFailed("read records", version, error.message)),
  )
  if (conflict !== undefined) return yield* installFailed(conflict.step, version, conflict.message)
  const platform = yield* fetchPackage(version)
  const image = yield* chooseImage(request, platform, settings)
  return { storageRoot, platform, tenantHostImage: Option.getOrUndefined(image) }
})

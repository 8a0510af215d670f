// A plan: what an install of a version, with the spec as it is, would do to the platform that is there. As it runs in the
// slot; nothing of the instance is written but the plan itself.
import { Cause, DateTime, Effect, Option } from "effect"
import { MAX_MESSAGE } from "../../../schema/Conditions.ts"
import { formatKey } from "../../../schema/InstanceKey.ts"
import { ANNOTATION_PLAN } from "../../../schema/Names.ts"
import {
  type Found,
  type Plan,
  type PlanSlot,
  planOf,
  unreadablePlan,
  withPlan,
} from "../../../schema/Plan.ts"
import { platformConfig } from "../../../schema/PlatformConfig.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import type { PlatformInstanceSpec } from "../../../schema/PlatformSpec.ts"
import { keepEnds } from "../../../schema/Text.ts"
import { formatTime } from "../../../schema/Time.ts"
import type { Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { Pulumi } from "../../../services/Pulumi/Pulumi.ts"
import { type InstanceRecord, StateStore } from "../../../services/StateStore/StateStore.ts"
import { agreedIn } from "../approval.ts"
import { OperationError, type OperationResult } from "../Operation.ts"
import { Settings } from "../Settings.ts"
import type { Kubeconfig } from "../target/Kubeconfig.ts"
import type { Views } from "../Views.ts"
import { basisOf, keepPlans } from "./basis.ts"
import { InstallPermits } from "./InstallPermits.ts"
import { fromPulumi, installFailed, prepareInstall, resolveSecret } from "./prepare.ts"

export interface PlanRequest {
  /** With the version that is looked at. */
  readonly instance: PlatformInstance
  /** Where it is kept. */
  readonly slot: PlanSlot
  readonly record: Option.Option<InstanceRecord>
  /** As it is when the engine begins. */
  readonly kubeconfig: Effect.Effect<Kubeconfig>
  /** The in-cluster address of the target's API. */
  readonly server: string
  readonly kubeSystemUID: string
  /** The one before has failed: whoever else waits for a permit comes first. */
  readonly failing: boolean
}

const lookAt = Effect.fnUntraced(function* (
  request: PlanRequest,
): Effect.fn.Return<
  Found,
  OperationError,
  Kubernetes | Pulumi | StateStore | Settings | InstallPermits | Views
> {
  const settings = yield* Settings
  const pulumi = yield* Pulumi
  const permits = yield* InstallPermits
  const { instance, record, kubeSystemUID } = request
  const { version } = instance.spec
  const key = instanceKey(instance)
  const known = Option.getOrUndefined(record)?.kubeSystemUID
  if (known === undefined) {
    const { root } = (yield* StateStore).paths(key)
    return yield* installFailed(
      "check state",
      version,
      `nothing in ${root} says what is installed, so nothing can be compared. Put it back from a backup of the state claim`,
    )
  }
  if (known !== kubeSystemUID) {
    return yield* installFailed(
      "compare cluster",
      version,
      "the platform was not installed into the cluster that the target is now; the next install sets that right",
    )
  }
  const { storageRoot, tenantHostImage, platform } = yield* prepareInstall(request)
  const config = platformConfig(instance.spec, {
    storageRoot: storageRoot.path,
    kubernetesEndpoint: request.server,
    ...(tenantHostImage === undefined ? {} : { tenantHostImage }),
  })
  const preview = Effect.gen(function* () {
    const kubeconfig = yield* request.kubeconfig
    const secretConfig = yield* resolveSecret(instance)
    const found = yield* pulumi.preview(
      {
        key,
        version,
        package: platform,
        config,
        secretConfig,
        kubeconfig: kubeconfig.text,
        clusterIdentifier: kubeSystemUID,
        timeout: settings.installTimeout,
      },
      ({ step }) => Effect.logDebug("plan step").pipe(Effect.annotateLogs({ step })),
    )
    return { ...found, basis: yield* basisOf(instance, platform, config) }
  })
  // It takes what an install takes of the operator's memory. Somebody waits for it, but for a look in place of a repair.
  const urgent = request.slot !== "drift"
  return yield* permits
    .withPermit({ key: formatKey(key), urgent, failing: request.failing }, Effect.void, preview)
    .pipe(Effect.catchTag("PulumiError", (error) => Effect.fail(fromPulumi(error))))
})

const tenantsOf = ({ platform }: PlatformInstanceSpec): ReadonlyArray<string> =>
  (platform?.tenants ?? []).map(({ name }) => name)

/** A defect's own words stay in the log. */
const whyNone = (cause: Cause.Cause<OperationError>): string =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => "internal error; the operator's log has the details",
    onSome: ({ message }) => message,
  })

/** Of a version that is looked at because somebody has asked, the spec says nothing: what to correct is what asks. */
const askedBy =
  (slot: PlanSlot) =>
  (error: OperationError): OperationError =>
    slot === "version"
      ? new OperationError({
          reason: error.reason,
          cancelled: error.cancelled,
          // The longer words fit where the shorter ones did.
          message: keepEnds(
            error.message.replaceAll("spec.version", `annotation ${ANNOTATION_PLAN}`),
            MAX_MESSAGE,
          ),
        })
      : error

export const runPlan = Effect.fn("Plan.run")(function* (
  request: PlanRequest,
): Effect.fn.Return<
  OperationResult,
  OperationError,
  Kubernetes | Pulumi | StateStore | Settings | InstallPermits | Views
> {
  const { instance, slot, record } = request
  const { metadata, spec } = instance
  yield* Effect.annotateCurrentSpan({ "platforminstance.version": spec.version })
  const of = Effect.map(DateTime.now, (now) => ({
    uid: metadata.uid,
    version: spec.version,
    generation: metadata.generation,
    madeAt: formatTime(now),
    after: Option.getOrUndefined(record)?.installed?.finishedAt ?? "",
  }))
  const keep = (plan: Plan) =>
    Effect.map(
      keepPlans(instance, (plans) => withPlan(plans, slot, plan)),
      (before): OperationResult => ({ _tag: "Planned", plan, news: before[slot]?.id !== plan.id }),
    )
  const found = yield* lookAt(request).pipe(
    Effect.mapError(askedBy(slot)),
    // Whatever has gone wrong: the plan before says nothing of what is there now.
    Effect.onError((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.ignore(Effect.flatMap(of, (made) => keep(unreadablePlan(made, whyNone(cause))))),
    ),
  )
  const tenants = new Set(tenantsOf(spec))
  const before = Option.toArray(agreedIn(record, metadata.uid)).flatMap((agreed) => tenantsOf(agreed.spec))
  const takenOut = before.filter((name) => !tenants.has(name))
  return yield* keep(planOf(yield* of, found, takenOut))
})

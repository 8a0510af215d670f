// What a plan is made from. An install of it begins from the same, or not at all: what was waited for would be something else.
import { createHash } from "node:crypto"
import { Effect, Equal, Option, Schema } from "effect"
import { type Basis, noPlans, type Plan, type Plans, PlansText, plansOf } from "../../../schema/Plan.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { type PlatformPackage, Pulumi, type PulumiError } from "../../../services/Pulumi/Pulumi.ts"
import { StateStore, type StateStoreError } from "../../../services/StateStore/StateStore.ts"
import { OperationError } from "../Operation.ts"
import { fromPulumi, installFailed } from "./prepare.ts"

const encode = Schema.encodeSync(PlansText)
const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex")

export const basisOf = Effect.fnUntraced(function* (
  instance: PlatformInstance,
  platform: PlatformPackage,
  config: ReadonlyMap<string, string>,
): Effect.fn.Return<Basis, PulumiError, Pulumi> {
  const pulumi = yield* Pulumi
  return {
    package: platform.digest,
    config: digestOf(JSON.stringify([...config].toSorted())),
    state: yield* pulumi.stateDigest(instanceKey(instance), instance.spec.version),
  }
})

/** Those that are kept; a file that cannot be read is written anew, and says that what it knew is forgotten. */
export const keptPlans = Effect.fnUntraced(function* ({ metadata }: PlatformInstance) {
  const store = yield* StateStore
  const text = yield* store.readPlan(instanceKey({ metadata }))
  return Option.getOrElse(
    plansOf(text, metadata.uid),
    (): Plans => ({ ...noPlans(metadata.uid), forgotten: true }),
  )
})

/** Gives what was there before. */
export const keepPlans = Effect.fnUntraced(function* (
  instance: PlatformInstance,
  change: (plans: Plans) => Plans,
): Effect.fn.Return<Plans, OperationError, StateStore> {
  const store = yield* StateStore
  const failed = ({ message }: StateStoreError) => installFailed("write plan", instance.spec.version, message)
  const plans = yield* Effect.mapError(keptPlans(instance), failed)
  const text = encode(change(plans))
  yield* Effect.mapError(store.writePlan(instanceKey(instance), text), failed)
  return plans
})

/** Of an install that is about to begin: what was found to differ says nothing of what there is from now on. */
export const outdateDrift = Effect.fnUntraced(function* (
  instance: PlatformInstance,
): Effect.fn.Return<void, OperationError, StateStore> {
  const { drift } = yield* Effect.orElseSucceed(keptPlans(instance), () => noPlans(instance.metadata.uid))
  if (drift === undefined || drift.outdated !== undefined) return
  yield* keepPlans(instance, (plans) => ({ ...plans, drift: { ...drift, outdated: true } }))
})

/** Fails, as one that was cancelled, where what its plan was made from is not what is there; that plan is outdated then. */
export const requireBasis = Effect.fnUntraced(function* (
  instance: PlatformInstance,
  plan: Plan,
  platform: PlatformPackage,
  config: ReadonlyMap<string, string>,
): Effect.fn.Return<void, OperationError, Pulumi | StateStore> {
  // Who has approved one that could not be made has approved whatever it is.
  if (plan.basis === undefined) return
  const basis = yield* Effect.mapError(basisOf(instance, platform, config), fromPulumi)
  if (Equal.equals(basis, plan.basis)) return
  yield* keepPlans(instance, ({ spec, ...plans }) =>
    spec === undefined ? plans : { ...plans, spec: { ...spec, outdated: true } },
  )
  yield* Effect.logInfo("the plan is outdated: package, settings or state are others by now")
  return yield* new OperationError({
    reason: "InstallFailed",
    message: `plan ${plan.id} is outdated: package, settings or state are others by now`,
    cancelled: true,
  })
})

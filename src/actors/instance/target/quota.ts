// Keeps the quota of an instance's host namespace as it should be.
import { Effect, Option } from "effect"
import { hostNamespace } from "../../../schema/Names.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { Settings } from "../Settings.ts"
import { type InstanceView, Views } from "../Views.ts"
import { Quotas } from "./Quotas.ts"
import { quotaManifests } from "./quotaManifests.ts"

const wanted = Effect.fnUntraced(function* (
  namespace: string,
  { statefulSet, controlPlanePods }: InstanceView,
) {
  const { instanceQuota } = yield* Settings
  return quotaManifests(namespace, instanceQuota, statefulSet, controlPlanePods)
})

/** Also where it is not known yet what there should be. */
export const isQuotaApplied = Effect.fnUntraced(function* (namespace: string, view: InstanceView) {
  const quotas = yield* Quotas
  return yield* Option.match(yield* wanted(namespace, view), {
    onNone: () => Effect.succeed(true),
    onSome: (manifests) => quotas.areApplied(namespace, manifests),
  })
})

export const applyQuota = Effect.fn("Target.applyQuota")(function* (instance: PlatformInstance) {
  const quotas = yield* Quotas
  const key = instanceKey(instance)
  const namespace = hostNamespace(key)
  const manifests = yield* wanted(namespace, yield* (yield* Views).read(key))
  if (Option.isSome(manifests)) yield* quotas.apply(namespace, manifests.value)
})

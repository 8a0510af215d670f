// One operator a cluster: two would take each other's host namespaces for foreign ones, and answer the same instances. The
// admission policy is the cluster's one object that names its operator; whether that one lives, its Lease tells.

import { Clock, Data, Duration, Effect, Option, Schedule } from "effect"
import { VCLUSTER_POLICY_NAME } from "../schema/Names.ts"
import { Lease, ValidatingAdmissionPolicy } from "../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../services/Kubernetes/Kubernetes.ts"
import { leaseState, look, type Sighting } from "../services/LeaderElection/Lease.ts"
import { operatorOf } from "./instance/target/AdmissionPolicies.ts"

/** Another operator serves this cluster. */
export class AnotherOperator extends Data.TaggedError("AnotherOperator")<{ readonly message: string }> {}

/** Between two looks at a Lease: less than its holder takes to renew it. */
const every = Duration.seconds(2)

const namespaceOf = (user: string): Option.Option<string> =>
  Option.fromUndefinedOr(/^system:serviceaccount:([^:]+):[^:]+$/.exec(user)?.[1])

export interface SoleOperatorOptions {
  /** Of the operators' Leases. */
  readonly lease: string
  /** Whether the holder of a Lease of that namespace is proven to have ended. */
  readonly isDead: (namespace: string, holder: string) => Effect.Effect<boolean, never, Kubernetes>
}

/** Who renews the Lease before our eyes: nobody's clock is believed. Nobody does once it has stood still for its whole time. */
const livingHolder = Effect.fnUntraced(function* (
  ref: { readonly namespace: string; readonly name: string },
  isDead: SoleOperatorOptions["isDead"],
): Effect.fn.Return<Option.Option<string>, KubeError, Kubernetes> {
  const kubernetes = yield* Kubernetes
  let sighting: Sighting | undefined
  while (true) {
    const lease = yield* kubernetes.get(Lease, ref)
    if (Option.isNone(lease)) return Option.none()
    const state = leaseState(lease.value)
    if (state.holder === "" || (yield* isDead(ref.namespace, state.holder))) return Option.none()
    const now = yield* Clock.monotonicTimeNanos
    const seen = look(sighting, state, now)
    if (sighting !== undefined && seen !== sighting) return Option.some(state.holder)
    if (now - seen.since >= Duration.toNanosUnsafe(state.duration)) return Option.none()
    sighting = seen
    yield* Effect.sleep(every)
  }
})

const isAway = (error: AnotherOperator | KubeError): boolean =>
  error._tag === "KubeError" && (error.code === 0 || error.code === 429 || error.code >= 500)

/** Asks again for as long as the API is away. Whoever may not look says so, and goes on. */
const patiently = <R>(
  check: Effect.Effect<void, AnotherOperator | KubeError, R>,
): Effect.Effect<void, AnotherOperator, R> =>
  check.pipe(
    Effect.tapError((error) =>
      isAway(error) ? Effect.logWarning("looking for another operator", error) : Effect.void,
    ),
    Effect.retry({
      while: isAway,
      schedule: Schedule.spaced(every),
    }),
    Effect.catchTag("KubeError", ({ request, message }) =>
      Effect.logWarning(
        "whether another operator serves this cluster cannot be seen; the chart's ClusterRole grants it",
      ).pipe(Effect.annotateLogs({ request, message })),
    ),
  )

/**
 * Fails with `AnotherOperator` when the policy names another user whose Lease is being renewed. One that stands still is
 * waited out, up to its duration; then, or when there is no Lease to be found, the policy is taken over with the first
 * instance. An API server without admission policies knows no other operator.
 */
export const refuseBesideAnother = Effect.fn("SoleOperator.check")(function* ({
  lease,
  isDead,
}: SoleOperatorOptions): Effect.fn.Return<void, AnotherOperator | KubeError, Kubernetes> {
  const kubernetes = yield* Kubernetes
  const policy = yield* kubernetes.get(ValidatingAdmissionPolicy, { name: VCLUSTER_POLICY_NAME })
  const user = Option.flatMap(policy, operatorOf)
  if (Option.isNone(user) || user.value === (yield* kubernetes.whoAmI)) return
  const namespace = namespaceOf(user.value)
  if (Option.isNone(namespace)) return
  yield* Effect.logInfo("another operator has served this cluster; looking whether it still does").pipe(
    Effect.annotateLogs({ user: user.value }),
  )
  const ref = { namespace: namespace.value, name: lease }
  const holder = yield* livingHolder(ref, isDead)
  if (Option.isNone(holder)) {
    return yield* Effect.logInfo("that operator is gone: taking its policy over").pipe(
      Effect.annotateLogs({ user: user.value }),
    )
  }
  return yield* new AnotherOperator({
    message: `another operator serves this cluster: ${user.value}, which holds Lease ${namespace.value}/${lease} as ${holder.value}. A cluster has one operator: remove this one, or uninstall that one first`,
  })
}, patiently)

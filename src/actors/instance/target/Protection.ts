// Applies the admission policies, and the PriorityClass of control planes, and puts them back. One set for all instances.

import { Clock, Context, Duration, Effect, Layer, Option, Ref } from "effect"
import { INSTANCE_POLICY_NAME, POD_POLICY_NAME, SERVICE_POLICY_NAME } from "../../../schema/Names.ts"
import {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes, type ResourceKind } from "../../../services/Kubernetes/Kubernetes.ts"
import { Settings } from "../Settings.ts"
import {
  instancePolicyManifests,
  type PolicyManifests,
  podPolicyManifests,
  policyManifests,
  servicePolicyManifests,
} from "./AdmissionPolicies.ts"
import { applyWhole } from "./applyWhole.ts"
import { ensureControlPlanePriority, noPriority } from "./controlPlanePriority.ts"
import { makeRefusals, refusedFor } from "./refusals.ts"

export interface ProtectionState {
  readonly installed: boolean
  readonly message: string
  /** vClusters that are installed now get the control planes' PriorityClass. */
  readonly priority: boolean
}

const applyPolicy = Effect.fnUntraced(function* ([policy, binding]: PolicyManifests) {
  yield* applyWhole(ValidatingAdmissionPolicy, policy)
  yield* applyWhole(ValidatingAdmissionPolicyBinding, binding)
})

const remove = Effect.fnUntraced(function* (kind: ResourceKind, name: string) {
  const kubernetes = yield* Kubernetes
  const found = yield* kubernetes.get(kind, { name }, { metadataOnly: true })
  if (Option.isSome(found)) yield* kubernetes.delete(kind, { name }, { uid: found.value.metadata.uid })
})

/** The binding first: a policy that is not bound denies nothing. */
const removePolicy = Effect.fnUntraced(function* (name: string) {
  yield* remove(ValidatingAdmissionPolicyBinding, name)
  yield* remove(ValidatingAdmissionPolicy, name)
})

/** A role of an earlier release names the one policy it had: a Ready instance is not failed for want of the others. */
const unlessForbidden = <R>(effect: Effect.Effect<void, KubeError, R>) =>
  effect.pipe(
    Effect.catchIf(
      (error) => error.code === 403,
      ({ request, message }) =>
        Effect.logWarning("an admission policy may not be written; upgrade the operator's ClusterRole").pipe(
          Effect.annotateLogs({ request, message }),
        ),
    ),
  )

/** Applied by the first instance that needs it, and again after one of the objects was seen to change. */
export class Protection extends Context.Service<
  Protection,
  {
    /** What is known; `None` when it has to be applied (again). */
    readonly state: Effect.Effect<Option.Option<ProtectionState>>
    /** Applies all of them. An API server without admission policies is no failure, it is a state. */
    readonly ensure: Effect.Effect<ProtectionState, KubeError>
    /**
     * No instance is left: their definition may be deleted. An instance that comes meanwhile is no matter: the binding is seen
     * to go, and its next pass applies it again.
     */
    readonly letDefinitionGo: Effect.Effect<void, KubeError>
    /** A policy or its binding was changed or removed by somebody else, or the server has begun to have policies. */
    readonly invalidate: Effect.Effect<void>
  }
>()("platform-operator/Protection") {
  static readonly layer = Layer.effect(
    Protection,
    Effect.gen(function* () {
      const kubernetes = yield* Kubernetes
      const { allowPrivilegedInstances, controlPlanePriority, protectInstances } = yield* Settings
      /** Counts what was seen to change: what was applied before the last change is not known to be there any more. */
      const changes = yield* Ref.make(0)
      const known = yield* Ref.make(
        Option.none<{ readonly state: ProtectionState; readonly since: number; readonly changes: number }>(),
      )
      const refusals = makeRefusals("control planes that are installed now get no priority")
      const prioritise = controlPlanePriority
        ? Effect.provideService(ensureControlPlanePriority(refusals), Kubernetes, kubernetes)
        : Effect.succeed(noPriority)
      const apply = Effect.fn("Protection.ensure")(
        function* () {
          const user = yield* kubernetes.whoAmI
          yield* applyPolicy(policyManifests(user))
          yield* unlessForbidden(
            protectInstances ? applyPolicy(instancePolicyManifests()) : removePolicy(INSTANCE_POLICY_NAME),
          )
          const { above, available } = yield* prioritise
          yield* unlessForbidden(
            allowPrivilegedInstances
              ? removePolicy(POD_POLICY_NAME)
              : applyPolicy(podPolicyManifests({ priority: above })),
          )
          yield* unlessForbidden(
            allowPrivilegedInstances
              ? removePolicy(SERVICE_POLICY_NAME)
              : applyPolicy(servicePolicyManifests()),
          )
          return {
            installed: true,
            message: "an admission policy denies deleting service/vcluster",
            priority: available,
          }
        },
        Effect.provideService(Kubernetes, kubernetes),
      )
      return {
        state: Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const seen = yield* Ref.get(changes)
          const believed = Option.filter(
            yield* Ref.get(known),
            // A clock may have been set back meanwhile.
            (one) =>
              one.changes === seen &&
              ((one.state.installed && (one.state.priority || !controlPlanePriority)) ||
                Math.abs(now - one.since) < Duration.toMillis(refusedFor)),
          )
          return Option.map(believed, ({ state }) => state)
        }),
        ensure: Effect.gen(function* () {
          // Before anything is applied: a change in the middle of it is one that it has not seen.
          const seen = yield* Ref.get(changes)
          const state = yield* apply().pipe(
            Effect.catchIf(
              (error) => error.code === 404,
              () =>
                Effect.map(prioritise, ({ available }) => ({
                  installed: false,
                  message:
                    "this API server has no ValidatingAdmissionPolicy (Kubernetes 1.30 or later): service/vcluster is unprotected",
                  priority: available,
                })),
            ),
          )
          const since = yield* Clock.currentTimeMillis
          yield* Ref.set(known, Option.some({ state, since, changes: seen }))
          return state
        }),
        letDefinitionGo: remove(ValidatingAdmissionPolicyBinding, INSTANCE_POLICY_NAME).pipe(
          Effect.provideService(Kubernetes, kubernetes),
        ),
        invalidate: Ref.update(changes, (count) => count + 1),
      }
    }),
  )
}

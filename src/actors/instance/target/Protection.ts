// The admission policy that keeps service/vcluster from being deleted: deleting it would make the garbage
// collector remove everything the vCluster synced. One policy and binding for all instances.
import { Clock, Context, Duration, Effect, Layer, Option, Ref, Schema } from "effect"
import { LABEL_HOST_NAMESPACE } from "../../../schema/Names.ts"
import {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../../services/Kubernetes/Kinds.ts"
import { type KubeError, type KubeManifest, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { applyWhole } from "./applyWhole.ts"

export const POLICY_NAME = "platform-operator-protect-vcluster-service"

export interface ProtectionState {
  readonly installed: boolean
  readonly message: string
}

/**
 * So long it is believed that a server has no admission policies: one that is being upgraded, or one of several behind an
 * address, says so for a while.
 */
const unavailableFor = Duration.minutes(10)

/** A CEL string literal. */
const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

/**
 * The name is compared in CEL and not by `resourceNames`, because a DELETE of the collection carries no name and
 * would pass; a terminating namespace is exempt, or it could never be emptied (both seen on a real API server).
 */
export const policyManifests = (operatorUser: string): readonly [KubeManifest, KubeManifest] => [
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: POLICY_NAME },
    spec: {
      failurePolicy: "Fail",
      // With what the server has by default, so that anything beside it is somebody else's (`applyWhole`).
      matchConstraints: {
        matchPolicy: "Equivalent",
        namespaceSelector: { matchLabels: { [LABEL_HOST_NAMESPACE]: "true" } },
        objectSelector: {},
        resourceRules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["DELETE"],
            resources: ["services"],
            scope: "*",
          },
        ],
      },
      validations: [
        {
          expression: [
            "oldObject.metadata.name != 'vcluster'",
            `request.userInfo.username == ${quoted(operatorUser)}`,
            "(has(namespaceObject.status) && has(namespaceObject.status.phase) && namespaceObject.status.phase == 'Terminating')",
          ].join(" || "),
          message:
            "service/vcluster owns everything its vCluster synced to this namespace; to remove it, delete the PlatformInstance",
        },
      ],
    },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: POLICY_NAME },
    spec: { policyName: POLICY_NAME, validationActions: ["Deny"] },
  },
]

const UserExpression = Schema.Struct({
  spec: Schema.Struct({ validations: Schema.Array(Schema.Struct({ expression: Schema.String })) }),
})
const decodeUserExpression = Schema.decodeUnknownOption(UserExpression)

/** The user that a policy of this name exempts: the operator that applied it. The inverse of `policyManifests`. */
export const operatorOf = (policy: unknown): Option.Option<string> =>
  Option.flatMap(decodeUserExpression(policy), ({ spec }) =>
    Option.fromUndefinedOr(
      spec.validations
        .map(({ expression }) => /request\.userInfo\.username == '((?:[^'\\]|\\.)*)'/.exec(expression)?.[1])
        .find((user) => user !== undefined),
    ).pipe(Option.map((user) => user.replaceAll(/\\(.)/g, "$1"))),
  )

/** One policy for all instances: applied by the first that needs it, and again after it was seen to change. */
export class Protection extends Context.Service<
  Protection,
  {
    /** What is known; `None` when it has to be applied (again). */
    readonly state: Effect.Effect<Option.Option<ProtectionState>>
    /** Applies both objects. An API server without admission policies is no failure, it is a state. */
    readonly ensure: Effect.Effect<ProtectionState, KubeError>
    /** The policy or its binding was changed or removed by somebody else, or the server has begun to have policies. */
    readonly invalidate: Effect.Effect<void>
  }
>()("platform-operator/Protection") {
  static readonly layer = Layer.effect(
    Protection,
    Effect.gen(function* () {
      const kubernetes = yield* Kubernetes
      const known = yield* Ref.make(
        Option.none<{ readonly state: ProtectionState; readonly since: number }>(),
      )
      const apply = Effect.fn("Protection.ensure")(
        function* () {
          const user = yield* kubernetes.whoAmI
          const [policy, binding] = policyManifests(user)
          yield* applyWhole(ValidatingAdmissionPolicy, policy)
          yield* applyWhole(ValidatingAdmissionPolicyBinding, binding)
          return { installed: true, message: "an admission policy denies deleting service/vcluster" }
        },
        Effect.provideService(Kubernetes, kubernetes),
      )
      return {
        state: Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const believed = Option.filter(
            yield* Ref.get(known),
            // A clock may have been set back meanwhile.
            ({ state, since }) =>
              state.installed || Math.abs(now - since) < Duration.toMillis(unavailableFor),
          )
          return Option.map(believed, ({ state }) => state)
        }),
        ensure: apply().pipe(
          Effect.catchIf(
            (error) => error.code === 404,
            () =>
              Effect.succeed({
                installed: false,
                message:
                  "this API server has no ValidatingAdmissionPolicy (Kubernetes 1.30 or later): service/vcluster is unprotected",
              }),
          ),
          Effect.tap((state) =>
            Effect.flatMap(Clock.currentTimeMillis, (since) => Ref.set(known, Option.some({ state, since }))),
          ),
        ),
        invalidate: Ref.set(known, Option.none()),
      }
    }),
  )
}

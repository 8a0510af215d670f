// Whether names resolve inside an instance: whether its DNS has a pod that is ready. Nothing of the operator needs it, so a
// dead one is no condition of the target; whoever runs something inside wants to know all the same.
import { Effect, Option, Schema } from "effect"
import { EndpointSlice } from "../../../services/Kubernetes/Kinds.ts"
import type { KubeError, KubeObject, KubernetesClient } from "../../../services/Kubernetes/Kubernetes.ts"
import { increment } from "../../../services/Metrics/Metrics.ts"

/** Checks without a ready pod, in a row, before the DNS counts as dead: one that is replaced is away for a while. */
const deadAfter = 3

const decode = Schema.decodeUnknownOption(
  Schema.Struct({
    endpoints: Schema.NullOr(
      Schema.Array(
        Schema.Struct({
          conditions: Schema.optionalKey(
            Schema.Struct({ ready: Schema.optionalKey(Schema.NullOr(Schema.Boolean)) }),
          ),
        }),
      ),
    ),
  }),
)

/** An endpoint that does not say whether it is ready is (the API's own rule). */
const serves = (slice: KubeObject): boolean =>
  Option.exists(decode(slice), ({ endpoints }) =>
    (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false),
  )

export interface InnerDns {
  readonly dead: () => boolean
  /** Looks once; true when that has changed the answer. */
  readonly check: (client: KubernetesClient) => Effect.Effect<boolean, KubeError>
}

export const makeInnerDns = (): InnerDns => {
  let misses = 0
  const dead = () => misses >= deadAfter
  return {
    dead,
    check: Effect.fn("Target.dns")(function* (client) {
      const before = dead()
      const slices = yield* client.list(EndpointSlice, {
        namespace: "kube-system",
        labelSelector: "kubernetes.io/service-name=kube-dns",
      })
      misses = slices.some(serves) ? 0 : misses + 1
      if (dead() && !before) yield* increment("platform_operator_target_dns_lost_total", {})
      return dead() !== before
    }),
  }
}

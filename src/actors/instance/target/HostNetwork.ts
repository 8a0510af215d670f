// What of the host's network no policy can select by label: the ranges of its pods, and where its API server answers. Read
// once; what may not be seen is asked for again, rarer and rarer. An operator that is restarted reads all of it again.
import { Clock, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { isUnavailable } from "../../../services/Kubernetes/changesWhereAllowed.ts"
import { EndpointSlice, Node, Service } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeError, type KubeObject, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { delayAfter, retryBackoff } from "../../kit/Backoff.ts"
import { Settings } from "../Settings.ts"

export interface HostNetworkFacts {
  /** In CIDR notation; none where nobody has said them. */
  readonly podRanges: ReadonlyArray<string>
  /** Addresses of the API server, with the port it answers at. */
  readonly apiServers: ReadonlyArray<{ readonly address: string; readonly port: number }>
  /** Addresses of the Service `kubernetes`. */
  readonly apiServices: ReadonlyArray<string>
}

const texts = Schema.optionalKey(Schema.Array(Schema.String))
const NodeShape = Schema.Struct({
  spec: Schema.optionalKey(Schema.Struct({ podCIDRs: texts })),
  status: Schema.optionalKey(
    Schema.Struct({
      addresses: Schema.optionalKey(
        Schema.Array(Schema.Struct({ type: Schema.String, address: Schema.String })),
      ),
    }),
  ),
})
const SliceShape = Schema.Struct({
  endpoints: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Struct({ addresses: texts })))),
  ports: Schema.optionalKey(
    Schema.NullOr(Schema.Array(Schema.Struct({ port: Schema.optionalKey(Schema.Finite) }))),
  ),
})
const ServiceShape = Schema.Struct({ spec: Schema.Struct({ clusterIPs: texts }) })

const decodeNode = Schema.decodeUnknownOption(NodeShape)
const decodeSlice = Schema.decodeUnknownOption(SliceShape)
const decodeService = Schema.decodeUnknownOption(ServiceShape)

const ips = new Set(["InternalIP", "ExternalIP"])

/** Pure. An API server that answers at one address of a node answers at the others of it, too. */
export const hostNetworkFacts = (
  nodes: ReadonlyArray<KubeObject>,
  slices: ReadonlyArray<KubeObject>,
  services: ReadonlyArray<KubeObject>,
): HostNetworkFacts => {
  const found = nodes.flatMap((node) => Option.toArray(decodeNode(node)))
  const nodesAddresses = found.map(({ status }) =>
    (status?.addresses ?? []).flatMap(({ type, address }) => (ips.has(type) ? [address] : [])),
  )
  const apiServers = slices.flatMap((slice) =>
    Option.toArray(decodeSlice(slice)).flatMap(({ endpoints, ports }) =>
      (ports ?? []).flatMap(({ port }) =>
        (endpoints ?? []).flatMap(({ addresses }) =>
          (addresses ?? []).flatMap((own) => {
            const all = nodesAddresses.filter((addresses) => addresses.includes(own)).flat()
            return port === undefined ? [] : [...new Set([own, ...all])].map((address) => ({ address, port }))
          }),
        ),
      ),
    ),
  )
  return {
    podRanges: [...new Set(found.flatMap(({ spec }) => spec?.podCIDRs ?? []))].toSorted(),
    apiServers: apiServers.toSorted((one, other) => one.address.localeCompare(other.address)),
    apiServices: services.flatMap((service) =>
      Option.toArray(decodeService(service)).flatMap(({ spec }) => spec.clusterIPs ?? []),
    ),
  }
}

/** What an older role does not let it see, or an API server lacks, is not known: `whole` is false then. */
const orNothing = <R>(look: Effect.Effect<ReadonlyArray<KubeObject>, KubeError, R>) =>
  look.pipe(
    Effect.map((found) => ({ found, whole: true })),
    Effect.catchIf(isUnavailable, ({ request, message }) =>
      Effect.as(
        Effect.logWarning("a part of the host's network is not known").pipe(
          Effect.annotateLogs({ request, message }),
        ),
        { found: [], whole: false },
      ),
    ),
  )

export class HostNetwork extends Context.Service<
  HostNetwork,
  { readonly facts: Effect.Effect<HostNetworkFacts, KubeError> }
>()("platform-operator/HostNetwork") {
  static readonly layer = Layer.effect(
    HostNetwork,
    Effect.gen(function* () {
      const kubernetes = yield* Kubernetes
      const { podRanges } = yield* Settings
      let known: { readonly facts: HostNetworkFacts; readonly until: number } | undefined
      let failures = 0
      const read = Effect.gen(function* () {
        const ofApi = { namespace: "default", labelSelector: "kubernetes.io/service-name=kubernetes" }
        const nodes = yield* orNothing(kubernetes.list(Node))
        const slices = yield* orNothing(kubernetes.list(EndpointSlice, ofApi))
        const service = yield* orNothing(
          Effect.map(kubernetes.get(Service, { namespace: "default", name: "kubernetes" }), Option.toArray),
        )
        const found = hostNetworkFacts(nodes.found, slices.found, service.found)
        const facts = podRanges.length === 0 ? found : { ...found, podRanges }
        if (facts.podRanges.length === 0) {
          yield* Effect.logWarning(
            "no node says its pods' address range, and --pod-ranges is not set: pods of instances are not kept from each other",
          )
        }
        const whole = nodes.whole && slices.whole && service.whole
        failures = whole ? 0 : failures + 1
        const wait = whole ? Duration.infinity : yield* delayAfter(retryBackoff, failures)
        known = { facts, until: (yield* Clock.currentTimeMillis) + Duration.toMillis(wait) }
        return facts
      })
      return {
        facts: Effect.flatMap(Clock.currentTimeMillis, (now) =>
          known === undefined || now >= known.until ? read : Effect.succeed(known.facts),
        ),
      }
    }),
  )
}

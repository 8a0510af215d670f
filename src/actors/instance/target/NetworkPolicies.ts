// The network policies of a host namespace. The control plane's API admits the operator's namespace and the instance's own
// pods. Workloads are kept from other instances, the operator, the host's API server and the metadata services of clouds, as
// far as policies that can only allow can do it: what an instance's own NetworkPolicies say of their pods, these leave alone.
import { isDeepStrictEqual } from "node:util"
import { Schema } from "effect"
import { LABEL_HOST_NAMESPACE } from "../../../schema/Names.ts"
import type { KubeManifest, KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import type { HostNetworkFacts } from "./HostNetwork.ts"
import { MANAGED_BY } from "./ownership.ts"

const NAME = "platform-operator-control-plane"
export const WORKLOAD_POLICIES = {
  Ingress: "platform-operator-workloads-in",
  Egress: "platform-operator-workloads-out",
} as const
type Direction = keyof typeof WORKLOAD_POLICIES
const directions: ReadonlyArray<Direction> = ["Ingress", "Egress"]

/** The port the vCluster's API listens on, behind the Service's 443. */
const API_PORT = 8443
/** vCluster's DNS listens on 1053, not 53. */
const DNS_PORT = 1053

/** What vCluster (0.36.1) writes on what it has synced to the host: that it did, and from which namespace inside. */
export const SYNCED_LABEL = "vcluster.loft.sh/managed-by"
const SYNCED_FROM_LABEL = "vcluster.loft.sh/namespace"

export const networkPolicyManifests = (
  hostNamespace: string,
  operatorNamespace: string,
): ReadonlyArray<KubeManifest> => [
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: NAME, namespace: hostNamespace, labels: MANAGED_BY },
    spec: {
      podSelector: { matchLabels: { app: "vcluster", release: "vcluster" } },
      policyTypes: ["Ingress"],
      ingress: [
        {
          from: [
            { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": operatorNamespace } } },
            { podSelector: {} },
          ],
          ports: [{ protocol: "TCP", port: API_PORT }],
        },
        {
          from: [{ podSelector: {} }],
          ports: [
            { protocol: "UDP", port: DNS_PORT },
            { protocol: "TCP", port: DNS_PORT },
          ],
        },
      ],
    },
  },
]

/**
 * Where clouds answer a pod with its node's credentials: the address nearly all have, those of EKS and ECS beside it, Alibaba's,
 * and those of AWS and Google in IPv6 (their documentation, 2026).
 */
const metadataServices = [
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "100.100.100.200",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd20:ce::254",
]

const isSix = (address: string): boolean => address.includes(":")
const single = (address: string): string => `${address}/${isSix(address) ? 128 : 32}`

/** Every address of both families but these ranges. */
const allBut = (ranges: ReadonlyArray<string>) =>
  [false, true].map((six) => {
    const except = [...new Set(ranges.filter((range) => isSix(range) === six))].toSorted()
    return { ipBlock: { cidr: six ? "::/0" : "0.0.0.0/0", ...(except.length === 0 ? {} : { except }) } }
  })

const noInstance = { key: LABEL_HOST_NAMESPACE, operator: "DoesNotExist" }

/** Whoever is no other instance's pod; what comes through a NodePort comes from outside, or from the node. */
const ingress = ({ podRanges }: HostNetworkFacts) => [
  {
    from: [
      { podSelector: {} },
      { namespaceSelector: { matchExpressions: [noInstance] } },
      ...allBut(podRanges),
    ],
  },
]

/** Every port but this one. */
const portsBut = (port: number) => [
  ...(port > 1 ? [{ protocol: "TCP", port: 1, endPort: port - 1 }] : []),
  ...(port < 65_535 ? [{ protocol: "TCP", port: port + 1, endPort: 65_535 }] : []),
  { protocol: "UDP", port: 1, endPort: 65_535 },
]

const dnsPorts = [
  { protocol: "UDP", port: 53 },
  { protocol: "TCP", port: 53 },
]

const egress = ({ podRanges, apiServers, apiServices }: HostNetworkFacts, operatorNamespace: string) => [
  {
    to: [
      { podSelector: {} },
      {
        namespaceSelector: {
          matchExpressions: [
            noInstance,
            { key: "kubernetes.io/metadata.name", operator: "NotIn", values: [operatorNamespace] },
          ],
        },
      },
      ...allBut([
        ...podRanges,
        ...[...metadataServices, ...apiServices, ...apiServers.map(({ address }) => address)].map(single),
      ]),
    ],
  },
  // A cloud's resolver can have the same address.
  { to: metadataServices.map((address) => ({ ipBlock: { cidr: single(address) } })), ports: dnsPorts },
  // The node has other things to offer beside its API server, such as what it publishes.
  ...apiServers.map(({ address, port }) => ({
    to: [{ ipBlock: { cidr: single(address) } }],
    ports: portsBut(port),
  })),
]

const Inner = Schema.Struct({
  metadata: Schema.Struct({ labels: Schema.Record(Schema.String, Schema.String) }),
  spec: Schema.Struct({ policyTypes: Schema.Array(Schema.String) }),
})
const isInner = Schema.is(Inner)

/** The namespaces inside that have a policy of their own for this direction. */
const governed = (inner: ReadonlyArray<KubeObject>, direction: Direction): ReadonlyArray<string> =>
  [
    ...new Set(
      inner.flatMap((policy) => {
        if (!isInner(policy) || !policy.spec.policyTypes.includes(direction)) return []
        return policy.metadata.labels[SYNCED_FROM_LABEL] ?? []
      }),
    ),
  ].toSorted()

/**
 * Policies add up: one that allows would undo what a policy made inside forbids. So each direction leaves out the pods of
 * the namespaces inside that have policies of their own for it.
 */
export const workloadPolicyManifests = (options: {
  readonly hostNamespace: string
  readonly operatorNamespace: string
  readonly facts: HostNetworkFacts
  /** What vCluster has synced of the NetworkPolicies inside. */
  readonly inner: ReadonlyArray<KubeObject>
}): ReadonlyArray<KubeManifest> =>
  directions.map((direction) => {
    const values = governed(options.inner, direction)
    return {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: WORKLOAD_POLICIES[direction], namespace: options.hostNamespace, labels: MANAGED_BY },
      spec: {
        podSelector: {
          matchExpressions: [
            { key: SYNCED_LABEL, operator: "Exists" },
            ...(values.length === 0 ? [] : [{ key: SYNCED_FROM_LABEL, operator: "NotIn", values }]),
          ],
        },
        policyTypes: [direction],
        ...(direction === "Ingress"
          ? { ingress: ingress(options.facts) }
          : { egress: egress(options.facts, options.operatorNamespace) }),
      },
    }
  })

/** Names of workload policies that are there though they should not be. */
export const superfluous = (
  found: ReadonlyArray<KubeObject>,
  wanted: ReadonlyArray<KubeManifest>,
): ReadonlyArray<string> =>
  Object.values(WORKLOAD_POLICIES).filter(
    (name) =>
      found.some(({ metadata }) => metadata.name === name) &&
      !wanted.some(({ metadata }) => metadata.name === name),
  )

/** Whether every policy is there as it was written: the API server adds nothing to these specs. */
export const networkPoliciesApplied = (
  found: ReadonlyArray<KubeObject>,
  wanted: ReadonlyArray<KubeManifest>,
): boolean =>
  wanted.every((manifest) => {
    const live = found.find((policy) => policy.metadata.name === manifest.metadata.name)
    return live !== undefined && isDeepStrictEqual(live.spec, manifest.spec)
  })

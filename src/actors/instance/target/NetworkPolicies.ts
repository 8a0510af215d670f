// The network policy of a host namespace. Only the control plane's pods are closed: its API admits the
// operator's namespace and the instance's own pods; workloads keep their gateway NodePort and their egress.
import { isDeepStrictEqual } from "node:util"
import type { KubeManifest, KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import { MANAGED_BY } from "./ownership.ts"

const NAME = "platform-operator-control-plane"

/** The port the vCluster's API listens on, behind the Service's 443. */
const API_PORT = 8443
/** vCluster's DNS listens on 1053, not 53. */
const DNS_PORT = 1053

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

/** Whether every policy is there as it was written: the API server adds nothing to these specs. */
export const networkPoliciesApplied = (
  found: ReadonlyArray<KubeObject>,
  wanted: ReadonlyArray<KubeManifest>,
): boolean =>
  wanted.every((manifest) => {
    const live = found.find((policy) => policy.metadata.name === manifest.metadata.name)
    return live !== undefined && isDeepStrictEqual(live.spec, manifest.spec)
  })

import { assert, describe, it } from "@effect/vitest"
import {
  networkPoliciesApplied,
  networkPolicyManifests,
  superfluous,
  workloadPolicyManifests,
} from "../../../../src/actors/instance/target/NetworkPolicies.ts"
import type { KubeManifest, KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"

const wanted = networkPolicyManifests("host", "platform-operator")

/** As the API server gives it back: in its own order of keys, with what it fills in. */
const stored = (manifest: KubeManifest, spec: unknown = manifest.spec): KubeObject => ({
  ...manifest,
  metadata: { ...manifest.metadata, uid: "u", resourceVersion: "1", generation: 1 },
  spec: JSON.parse(JSON.stringify(spec, (_, value: unknown) => sorted(value))),
})
const sorted = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? 1 : -1)))
    : value

describe("the network policies of a host namespace", () => {
  it("close the control plane's pods but to the operator's namespace and their own, and leave workloads open", () => {
    const [policy] = wanted
    assert.deepInclude(policy?.metadata, { namespace: "host" })
    assert.deepInclude(policy?.spec, {
      podSelector: { matchLabels: { app: "vcluster", release: "vcluster" } },
      policyTypes: ["Ingress"],
    })
    assert.include(JSON.stringify(policy?.spec), '"kubernetes.io/metadata.name":"platform-operator"')
  })

  it("are there when they are as they were written, whatever the order of their keys", () => {
    assert.isTrue(
      networkPoliciesApplied(
        wanted.map((each) => stored(each)),
        wanted,
      ),
    )
  })

  it("are not there when one is missing, even though another one is", () => {
    const other = wanted.map((each) => stored({ ...each, metadata: { ...each.metadata, name: "other" } }))
    assert.isFalse(networkPoliciesApplied([], wanted))
    assert.isFalse(networkPoliciesApplied(other, wanted))
  })

  it("are not there when one was edited", () => {
    for (const edit of [
      { ingress: [{}] },
      { podSelector: {} },
      { policyTypes: ["Ingress", "Egress"] },
      { egress: [] },
    ]) {
      const edited = wanted.map((each) => stored(each, Object.assign({}, each.spec, edit)))
      assert.isFalse(networkPoliciesApplied(edited, wanted), JSON.stringify(edit))
    }
  })

  it("are not there when the operator has moved to another namespace", () => {
    const moved = networkPolicyManifests("host", "elsewhere")
    assert.isFalse(
      networkPoliciesApplied(
        wanted.map((each) => stored(each)),
        moved,
      ),
    )
  })
})

const facts = {
  podRanges: ["10.244.0.0/16", "fd00:10:244::/56"],
  apiServers: [{ address: "10.240.0.1", port: 6443 }],
  apiServices: ["10.96.0.1"],
}
/** As vCluster syncs it from a namespace inside. */
const inner = (from: string, policyTypes: ReadonlyArray<string>): KubeObject => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: {
    name: `p-x-${from}-x-vcluster`,
    namespace: "host",
    uid: "u",
    resourceVersion: "1",
    labels: { "vcluster.loft.sh/managed-by": "vcluster", "vcluster.loft.sh/namespace": from },
  },
  spec: { podSelector: {}, policyTypes },
})
const workloads = (given: ReadonlyArray<KubeObject> = [], of: typeof facts = facts) =>
  workloadPolicyManifests({
    hostNamespace: "host",
    operatorNamespace: "platform-operator",
    facts: of,
    inner: given,
  })
const synced = { key: "vcluster.loft.sh/managed-by", operator: "Exists" }

describe("the network policies of workloads", () => {
  it("let in whoever is no other instance's pod", () => {
    const [into] = workloads()
    assert.deepStrictEqual(into?.spec, {
      podSelector: { matchExpressions: [synced] },
      policyTypes: ["Ingress"],
      ingress: [
        {
          from: [
            { podSelector: {} },
            {
              namespaceSelector: {
                matchExpressions: [
                  { key: "platform.di-framework.dev/host-namespace", operator: "DoesNotExist" },
                ],
              },
            },
            { ipBlock: { cidr: "0.0.0.0/0", except: ["10.244.0.0/16"] } },
            { ipBlock: { cidr: "::/0", except: ["fd00:10:244::/56"] } },
          ],
        },
      ],
    })
  })

  it("let nothing out to other pods, the operator, metadata services and the API server's port", () => {
    const [, out] = workloads()
    const text = JSON.stringify(out?.spec)
    for (const range of [
      "10.244.0.0/16",
      "10.96.0.1/32",
      "10.240.0.1/32",
      "169.254.169.254/32",
      "fd00:ec2::254/128",
    ])
      assert.match(text, new RegExp(`"except":\\[[^\\]]*"${range}"`))
    assert.include(text, '"operator":"NotIn","values":["platform-operator"]')
    assert.include(
      text,
      JSON.stringify({
        to: [{ ipBlock: { cidr: "10.240.0.1/32" } }],
        ports: [
          { protocol: "TCP", port: 1, endPort: 6442 },
          { protocol: "TCP", port: 6444, endPort: 65_535 },
          { protocol: "UDP", port: 1, endPort: 65_535 },
        ],
      }),
    )
  })

  it("leave to the namespaces inside that have policies what those say, each direction by itself", () => {
    const [into, out] = workloads([
      inner("b", ["Ingress"]),
      inner("a", ["Ingress", "Egress"]),
      inner("b", ["Ingress"]),
    ])
    const without = (...values: ReadonlyArray<string>) => ({
      matchExpressions: [synced, { key: "vcluster.loft.sh/namespace", operator: "NotIn", values }],
    })
    assert.deepInclude(into?.spec, { podSelector: without("a", "b") })
    assert.deepInclude(out?.spec, { podSelector: without("a") })
  })

  it("are allowed by the API server where nothing is known of the network: no empty list of exceptions", () => {
    const [into] = workloads([], { podRanges: [], apiServers: [], apiServices: [] })
    assert.include(JSON.stringify(into?.spec), '{"ipBlock":{"cidr":"0.0.0.0/0"}}')
  })

  it("are one too many where there should be none", () => {
    const found = [...wanted, ...workloads()].map((each) => stored(each))
    assert.deepStrictEqual(superfluous(found, []), [
      "platform-operator-workloads-in",
      "platform-operator-workloads-out",
    ])
    assert.isEmpty(superfluous(found, workloads()))
    assert.isEmpty(superfluous([], []))
  })
})

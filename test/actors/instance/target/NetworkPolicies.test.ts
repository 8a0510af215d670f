import { assert, describe, it } from "@effect/vitest"
import {
  networkPoliciesApplied,
  networkPolicyManifests,
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

import { Option } from "effect"
import { assert, describe, it } from "vitest"
import { quotaManifests } from "../../../../src/actors/instance/target/quotaManifests.ts"
import { parseQuota } from "../../../../src/schema/Quota.ts"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"

const statefulSet = (spec: object = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "vcluster", namespace: "host", uid: "u", resourceVersion: "1" },
  spec: {
    replicas: 1,
    template: {
      spec: {
        initContainers: [
          { resources: { requests: { cpu: "40m", memory: "64Mi" }, limits: { memory: "256Mi" } } },
        ],
        containers: [
          {
            resources: {
              requests: { cpu: "200m", memory: "256Mi", "ephemeral-storage": "1Gi" },
              limits: { memory: "4Gi", "ephemeral-storage": "10Gi" },
            },
          },
        ],
      },
    },
    volumeClaimTemplates: [{ spec: { resources: { requests: { storage: "5Gi" } } } }],
    ...spec,
  },
})
const pod = (metadata: object = {}, spec: object = { nodeName: "n" }, phase = "Running"): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "vcluster-0", namespace: "host", uid: "p", resourceVersion: "1", ...metadata },
  spec,
  status: { phase },
})
const specs = (
  text: string,
  found: Option.Option<KubeObject> = Option.some(statefulSet()),
  pods: ReadonlyArray<KubeObject> = [pod()],
) =>
  Option.map(quotaManifests("host", Option.getOrThrow(parseQuota(text)), found, pods), (manifests) =>
    manifests.map(({ kind, spec }) => [kind, spec]),
  )

describe("the quota of an instance", () => {
  it("leaves the vCluster what it takes itself, whatever else there is", () => {
    const given =
      "pods=10,requests.cpu=1,requests.memory=1Gi,limits.memory=2Gi,requests.storage=1Gi,persistentvolumeclaims=3"
    const [, [, quota] = []] = Option.getOrThrow(specs(given))
    assert.deepStrictEqual(quota, {
      hard: {
        pods: "11",
        "requests.cpu": "1200m",
        "requests.memory": "1280Mi",
        "limits.memory": "6Gi",
        "requests.storage": "6Gi",
        persistentvolumeclaims: "4",
      },
    })
  })

  it("says for pods what it would otherwise refuse them for, and a limit only where limits are counted", () => {
    const [requests] = Option.getOrThrow(specs("requests.cpu=1"))
    assert.deepStrictEqual(requests, [
      "LimitRange",
      { limits: [{ type: "Container", defaultRequest: { cpu: "50m" } }] },
    ])
    const [limits] = Option.getOrThrow(specs("limits.memory=1Gi"))
    assert.deepStrictEqual(limits, [
      "LimitRange",
      { limits: [{ type: "Container", default: { memory: "256Mi" }, defaultRequest: { memory: "64Mi" } }] },
    ])
    assert.deepStrictEqual(
      Option.getOrThrow(specs("pods=1,services=2")).map(([kind]) => kind),
      ["ResourceQuota"],
    )
  })

  it("counts for a control plane that says nothing what is said for it", () => {
    const template = { spec: { containers: [{}, { resources: { limits: { memory: "1Gi" } } }] } }
    const [, [, quota] = []] = Option.getOrThrow(
      specs("requests.memory=1Gi", Option.some(statefulSet({ template }))),
    )
    assert.deepStrictEqual(quota, { hard: { "requests.memory": `${1024 + 64 + 1024}Mi` } })
  })

  it("waits for the control plane, to know what that takes, and is nothing where none is asked for", () => {
    assert.isTrue(Option.isNone(specs("pods=1", Option.none())))
    assert.deepStrictEqual(specs("", Option.none()), Option.some([]))
  })

  it.each([
    ["there is none", []],
    ["it waits for a node", [pod({}, {}, "Pending")]],
    ["it ends", [pod({ deletionTimestamp: "2026-01-01T00:00:00Z" })]],
    ["it has failed", [pod({}, { nodeName: "n" }, "Failed")]],
    ["another one is there", [pod({ name: "vcluster-1" })]],
  ])("is not in the way of the control plane's pod: no quota while %s", (_, pods) => {
    const kinds = Option.getOrThrow(specs("pods=1,requests.cpu=1", undefined, pods)).map(([kind]) => kind)
    assert.deepStrictEqual(kinds, ["LimitRange"])
  })
})

import { assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { vclusterValues } from "../../../src/actors/instance/target/VclusterValues.ts"
import { at, chart, render, runHelm, values } from "./Chart.ts"

const namespace = "pi-team-one-abcdefghijkl"

describe("the chart, rendered by helm", () => {
  it("passes helm's lint", () => {
    assert.include(runHelm(["lint", "--strict", chart]), "0 chart(s) failed")
  })

  it("makes the eight objects of a vCluster, and nothing outside of its namespace", () => {
    const objects = render(namespace)
    assert.sameMembers(
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      [
        "ServiceAccount vc-vcluster",
        "ServiceAccount vc-workload-vcluster",
        "Secret vc-config-vcluster",
        "Role vc-vcluster",
        "RoleBinding vc-vcluster",
        "Service vcluster",
        "Service vcluster-headless",
        "StatefulSet vcluster",
      ],
    )
    for (const { metadata } of objects) {
      assert.strictEqual(metadata.namespace, namespace)
      assert.include(metadata.labels, {
        app: "vcluster",
        chart: "vcluster-0.37.3",
        release: "vcluster",
        heritage: "Helm",
      })
    }
  })

  it("hands all of its values to the process, those of the instance over its own", () => {
    const secret = render(namespace, vclusterValues({ hostNamespace: namespace })).find(
      ({ kind }) => kind === "Secret",
    )
    const config: unknown = parse(Buffer.from(secret?.data?.["config.yaml"] ?? "", "base64").toString())
    assert.hasAllKeys(config, Object.keys(values))
    assert.deepStrictEqual(at(config, "/exportKubeConfig/server"), `https://vcluster.${namespace}.svc:443`)
    assert.deepStrictEqual(at(config, "/controlPlane/proxy/extraSANs"), [`vcluster.${namespace}.svc`])
  })

  const images = (input: unknown) =>
    JSON.stringify(render(namespace, input).find(({ kind }) => kind === "StatefulSet")?.spec).match(
      /"image":"[^"]+"/g,
    )

  it("takes images, digests and the registry that are set", () => {
    assert.deepStrictEqual(images({}), [
      '"image":"ghcr.io/loft-sh/kubernetes:v1.36.0"',
      '"image":"ghcr.io/loft-sh/vcluster-oss:0.37.3"',
    ])
    const set = { image: "r.io/vc@sha256:abcd", kubernetesImage: "r.io/k8s:v1.35.4" }
    assert.deepStrictEqual(images(vclusterValues({ hostNamespace: "h", ...set })), [
      '"image":"r.io/k8s:v1.35.4"',
      '"image":"r.io/vc@sha256:abcd"',
    ])
    assert.deepStrictEqual(images(vclusterValues({ hostNamespace: "h", imageRegistry: "m.io:5000" })), [
      '"image":"m.io:5000/loft-sh/kubernetes:v1.36.0"',
      '"image":"m.io:5000/loft-sh/vcluster-oss:0.37.3"',
    ])
  })

  it("asks for cluster-wide rights only when nodes are synced, under a name that keeps the namespace whole", () => {
    const longest = "n".repeat(49)
    const objects = render(longest, { sync: { fromHost: { nodes: { enabled: true } } } })
    const role = objects.find(({ kind }) => kind === "ClusterRole")
    assert.strictEqual(role?.metadata.name, `vc-vcluster-v-${longest}`)
    assert.strictEqual(objects.length, 10)
  })

  it("starts another pod for another configuration, and not for the same one", () => {
    const hash = (input: unknown) =>
      JSON.stringify(render(namespace, input)).match(/"vClusterConfigHash":"\w+"/)?.[0]
    assert.isDefined(hash({}))
    assert.strictEqual(hash({}), hash({}))
    assert.notStrictEqual(hash({}), hash({ logging: { encoding: "json" } }))
  })

  it("refuses a value that nothing would read", () => {
    assert.throws(
      () => render(namespace, { controlPlane: { ingress: { enabled: true } } }),
      /additional properties 'ingress' not allowed/,
    )
  })
})

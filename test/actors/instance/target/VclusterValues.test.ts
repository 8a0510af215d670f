import { assert, describe, it } from "@effect/vitest"
import { imageParts, vclusterValues } from "../../../../src/actors/instance/target/VclusterValues.ts"

describe("an image reference", () => {
  for (const [reference, registry, repository, tag] of [
    ["ghcr.io/loft-sh/vcluster-oss:0.36.1", "ghcr.io", "loft-sh/vcluster-oss", "0.36.1"],
    ["registry:5000/a/b/c:1", "registry:5000", "a/b/c", "1"],
    ["localhost/vcluster:1", "localhost", "vcluster", "1"],
    ["loft-sh/vcluster-oss:1", "", "loft-sh/vcluster-oss", "1"],
    ["vcluster", "", "vcluster", "latest"],
    ["registry:5000/vcluster", "registry:5000", "vcluster", "latest"],
    ["ghcr.io/x/y@sha256:abcd", "ghcr.io", "x/y@sha256", "abcd"],
    ["ghcr.io/x/y:1.0@sha256:abcd", "ghcr.io", "x/y", "1.0@sha256:abcd"],
  ] as const) {
    it(`${reference} comes in parts that a chart puts together again`, () => {
      assert.deepStrictEqual(imageParts(reference), { registry, repository, tag })
    })
  }
})

describe("the values of an instance", () => {
  it("name its own host, in the kubeconfig and in the certificate", () => {
    const values = vclusterValues({ hostNamespace: "pi-a-b-c" })
    assert.deepStrictEqual(values.exportKubeConfig, { server: "https://vcluster.pi-a-b-c.svc:443" })
    assert.deepInclude(values.controlPlane, { proxy: { extraSANs: ["vcluster.pi-a-b-c.svc"] } })
  })

  it("choose the open-source build, no telemetry, and claims that are kept, whichever chart they meet", () => {
    const values = vclusterValues({ hostNamespace: "h" })
    assert.deepStrictEqual(values.telemetry, { enabled: false })
    assert.deepInclude(values.controlPlane, {
      statefulSet: {
        image: { registry: "ghcr.io", repository: "loft-sh/vcluster-oss" },
        persistence: { volumeClaim: { enabled: true, retentionPolicy: "Retain" } },
      },
    })
  })

  it("leave images and registry to the chart unless they are set", () => {
    assert.notProperty(vclusterValues({ hostNamespace: "h" }).controlPlane, "distro")
    assert.notProperty(vclusterValues({ hostNamespace: "h" }).controlPlane, "advanced")
    const set = vclusterValues({
      hostNamespace: "h",
      image: "r.io/vc:1",
      kubernetesImage: "r.io/k8s:v1.35.4",
      imageRegistry: "mirror.example",
    })
    assert.deepInclude(set.controlPlane, {
      distro: { k8s: { image: { registry: "r.io", repository: "k8s", tag: "v1.35.4" } } },
      advanced: { defaultImageRegistry: "mirror.example" },
    })
  })
})

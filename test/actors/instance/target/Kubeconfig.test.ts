import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import {
  isOwnedBy,
  ownerOf,
  publishedManifest,
  readKubeconfig,
  readSecretKey,
  versionOf,
} from "../../../../src/actors/instance/target/Kubeconfig.ts"
import { type KubeObject, Kubernetes } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { decoded, storedAs } from "../../support/instances.ts"

const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64")
const source = (data: Readonly<Record<string, string>> | undefined): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "vc-vcluster",
    namespace: "host",
    uid: "secret",
    resourceVersion: "7",
    ownerReferences: [{ apiVersion: "v1", kind: "Service", name: "vcluster", uid: "service" }],
  },
  ...(data === undefined ? {} : { data }),
})
const reading = (found: Option.Option<KubeObject>) =>
  Layer.mock(Kubernetes, { get: () => Effect.succeed(found) })

describe("the vCluster's kubeconfig", () => {
  it.effect("is read with the version of its Secret, and is no plain text", () =>
    Effect.gen(function* () {
      const read = Option.getOrThrow(yield* readKubeconfig("host"))
      assert.strictEqual(read.version, "secret.7")
      assert.strictEqual(Redacted.value(read.text), "clusters: [ü]")
      assert.notInclude(JSON.stringify(read), "clusters")
    }).pipe(Effect.provide(reading(Option.some(source({ config: base64("clusters: [ü]") }))))),
  )

  for (const [what, found] of [
    ["a Secret that is missing", Option.none<KubeObject>()],
    ["a Secret without data", Option.some(source(undefined))],
    ["a Secret without the key", Option.some(source({ other: base64("x") }))],
    ["an empty key", Option.some(source({ config: "" }))],
  ] as const) {
    it.effect(`is not there in ${what}`, () =>
      Effect.gen(function* () {
        assert.isTrue(Option.isNone(yield* readKubeconfig("host")))
        assert.isTrue(Option.isNone(yield* readSecretKey("host", "vc-vcluster", "config")))
      }).pipe(Effect.provide(reading(found))),
    )
  }

  it("belongs to the Service that owns it", () => {
    assert.deepStrictEqual(ownerOf(source(undefined)), Option.some("service"))
    const { ownerReferences: _, ...unowned } = source(undefined).metadata
    assert.deepStrictEqual(ownerOf({ ...source(undefined), metadata: unowned }), Option.none())
    assert.strictEqual(versionOf(source(undefined)), "secret.7")
  })
})

describe("the published kubeconfig", () => {
  it("lies beside the instance, is owned by it, and says which version of the source it holds", () => {
    const instance = decoded(storedAs("life"))
    const manifest = publishedManifest(instance, {
      version: "secret.7",
      text: Redacted.make("clusters: []"),
    })
    assert.deepInclude(manifest.metadata, { name: "one-kubeconfig", namespace: "team-a" })
    assert.deepStrictEqual(manifest.metadata.annotations, {
      "platform.di-framework.dev/kubeconfig-source": "secret.7",
    })
    assert.deepStrictEqual(manifest.data, { kubeconfig: base64("clusters: []") })
    const live: KubeObject = {
      ...manifest,
      metadata: { ...manifest.metadata, uid: "u", resourceVersion: "1" },
    }
    assert.isTrue(isOwnedBy(live, "life"))
    assert.isFalse(isOwnedBy(live, "another life"))
    assert.isFalse(isOwnedBy(source(undefined), "life"))
    // The owner does not wait for it: deleting an instance in the foreground must not hang on a Secret.
    assert.deepInclude(manifest.metadata.ownerReferences?.[0], { blockOwnerDeletion: false })
  })
})

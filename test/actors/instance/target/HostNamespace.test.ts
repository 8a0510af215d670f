import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import {
  foreignNamespace,
  hostNamespaceManifest,
  namespaceState,
} from "../../../../src/actors/instance/target/HostNamespace.ts"
import { hostNamespace } from "../../../../src/schema/Names.ts"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"

const key = { namespace: "team-a", name: "shop.eu" }
const manifest = hostNamespaceManifest(key, "/base/team-a/shop.eu")
const found = (metadata: Partial<KubeObject["metadata"]> = {}) =>
  Option.some<KubeObject>({
    ...manifest,
    metadata: { ...manifest.metadata, uid: "u", resourceVersion: "1", ...metadata },
  })

describe("a host namespace", () => {
  it("is marked as one, as the instance's, and as a place for pods with volumes of the node", () => {
    assert.deepStrictEqual(manifest.metadata, {
      name: hostNamespace(key),
      labels: {
        "platform.di-framework.dev/host-namespace": "true",
        "pod-security.kubernetes.io/enforce": "privileged",
      },
      annotations: {
        "platform.di-framework.dev/instance": "team-a/shop.eu",
        "platform.di-framework.dev/storage-root": "/base/team-a/shop.eu",
      },
    })
  })

  it("is the instance's by its annotation, not by its name", () => {
    assert.deepStrictEqual(namespaceState(key, found()), { _tag: "Ours" })
    assert.deepStrictEqual(namespaceState(key, Option.none()), { _tag: "Missing" })
    const other = { "platform.di-framework.dev/instance": "team-a/shop-eu" }
    assert.deepStrictEqual(namespaceState(key, found({ annotations: other })), {
      _tag: "Foreign",
      owner: Option.some("team-a/shop-eu"),
    })
    assert.deepStrictEqual(namespaceState(key, found({ annotations: {} })), {
      _tag: "Foreign",
      owner: Option.none(),
    })
  })

  it("that ends is waited for when it is the instance's, and is somebody else's to the end when it is not", () => {
    const deletionTimestamp = "2026-01-01T00:00:00Z"
    assert.deepStrictEqual(namespaceState(key, found({ deletionTimestamp })), { _tag: "Terminating" })
    assert.strictEqual(namespaceState(key, found({ deletionTimestamp, annotations: {} }))._tag, "Foreign")
  })

  it("that is somebody else's is told with its owner and the way out", () => {
    assert.match(
      foreignNamespace("pi-x", Option.some("team-b/two")),
      /^pi-x belongs to team-b\/two and is not taken over; remove it/,
    )
    assert.match(foreignNamespace("pi-x", Option.none()), /belongs to nobody this operator knows/)
  })
})

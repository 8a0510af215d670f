import { assert, describe, it } from "@effect/vitest"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { describeRequest, objectPath } from "../../../src/services/Kubernetes/Paths.ts"
import * as Requests from "../../../src/services/Kubernetes/Requests.ts"

const query = (request: { readonly path: string }) =>
  Object.fromEntries(new URL(request.path, "http://api").searchParams)

describe("paths", () => {
  it("follow group, scope and subresource", () => {
    assert.strictEqual(objectPath(Kinds.Namespace, { name: "a" }), "/api/v1/namespaces/a")
    assert.strictEqual(objectPath(Kinds.Pod, { namespace: "n", name: "a" }), "/api/v1/namespaces/n/pods/a")
    assert.strictEqual(
      objectPath(Kinds.PlatformInstance, { namespace: "n", name: "a" }, "status"),
      "/apis/platform.di-framework.dev/v1alpha1/namespaces/n/platforminstances/a/status",
    )
    assert.strictEqual(
      objectPath(Kinds.ClusterRole, { name: "system:node" }),
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
    )
  })

  it("are told without root and query", () => {
    assert.strictEqual(describeRequest("GET", "/api/v1/namespaces/x?a=b"), "GET namespaces/x")
    assert.strictEqual(describeRequest("GET", "/apis/apps/v1/deployments"), "GET apps/v1/deployments")
    assert.strictEqual(describeRequest("GET", "/readyz"), "GET /readyz")
  })
})

describe("a list", () => {
  it("asks for 500 objects a page and for the state it wants", () => {
    const first = Requests.listRequest(
      Kinds.Pod,
      { labelSelector: "a=b" },
      { from: { _tag: "Any" }, paged: true },
    )
    assert.deepStrictEqual(query(first), { labelSelector: "a=b", limit: "500", resourceVersion: "0" })
    const later = Requests.listRequest(
      Kinds.Pod,
      {},
      { from: { _tag: "NotOlderThan", version: "zeta" }, paged: true },
    )
    assert.deepStrictEqual(query(later), {
      limit: "500",
      resourceVersion: "zeta",
      resourceVersionMatch: "NotOlderThan",
    })
  })

  it("asks for a further page by its token alone: the server refuses a version beside it", () => {
    const next = Requests.listRequest(Kinds.Pod, {}, { from: { _tag: "Any" }, paged: true, next: "token" })
    assert.deepStrictEqual(query(next), { limit: "500", continue: "token" })
  })
})

describe("a watch", () => {
  it("takes bookmarks, tells the server when to end it, and can ask for metadata only", () => {
    const request = Requests.watchRequest(
      Kinds.Secret,
      { namespace: "n", metadataOnly: true },
      { version: "zeta", timeoutSeconds: 333 },
    )
    assert.deepStrictEqual(query(request), {
      watch: "1",
      allowWatchBookmarks: "true",
      timeoutSeconds: "333",
      resourceVersion: "zeta",
    })
    assert.strictEqual(request.accept, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
  })
})

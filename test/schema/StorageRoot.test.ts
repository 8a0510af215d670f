import { assert, describe, it } from "@effect/vitest"
import {
  defaultStorageRoot,
  normalisePath,
  storageRootProblem,
  storageRootsOverlap,
} from "../../src/schema/StorageRoot.ts"

const base = "/var/lib/kubesolo/instances"

describe("normalisePath", () => {
  it.each([
    ["/data", "/data"],
    ["/data/", "/data"],
    ["//data///one//", "/data/one"],
    ["/data/./one/.", "/data/one"],
    ["/data/../other", "/other"],
    ["/../../..", "/"],
    ["/data/one/../..", "/"],
    ["data", "/data"],
    ["", "/"],
    ["/..data/...", "/..data/..."],
  ])("makes %j %j", (path, expected) => assert.strictEqual(normalisePath(path), expected))
})

describe("defaultStorageRoot", () => {
  it("lies under the base, by namespace and name", () => {
    assert.strictEqual(
      defaultStorageRoot(`${base}/`, { namespace: "team-a", name: "one" }),
      `${base}/team-a/one`,
    )
  })
})

describe("storageRootProblem", () => {
  it.each([
    base,
    `${base}/`,
    `${base}/team-a/one`,
    `${base}/team-a/../../instances/x`,
    `/var//lib/kubesolo/./instances/x`,
  ])("refuses %s: inside the base", (root) =>
    assert.include(storageRootProblem(root, base), "lies inside the operator's --storage-root-base"),
  )

  it.each(["/", "//", "/..", "/data/.."])("refuses %s: the root of the node", (root) =>
    assert.include(storageRootProblem(root, base), "is the root of the node's file system"),
  )

  it.each([
    ["/data", "/data/di-tenants", "di-tenants"],
    ["/data", "/data/di-tenants/instances", "di-tenants"],
    ["/data/", "/data/x/../di-framework/a/b/", "di-framework"],
  ])("refuses %s when the base is %s: in its %s tree", (root, base, tree) =>
    assert.include(storageRootProblem(root, base), `in its own ${tree} tree`),
  )

  it.each([
    ["/data", base],
    ["/var/lib/kubesolo", base],
    ["/var", base],
    [`${base}-other`, base],
    ["/data", "/data/di-tenants-old/instances"],
    ["/data", "/data/x/di-tenants/instances"],
    ["/data/di-tenants", "/data/instances"],
  ])("allows %s when the base is %s", (root, base) => assert.isUndefined(storageRootProblem(root, base)))

  it("names the path as written and as it reads, and the way out", () => {
    const problem = storageRootProblem("/data/..", base)
    assert.include(problem, "/data/.. (/)")
    assert.include(problem, "recreate the instance with another storageRoot")
  })
})

describe("storageRootsOverlap", () => {
  it("sees equal and nested roots, whichever comes first", () => {
    assert.isTrue(storageRootsOverlap("/data", "/data/"))
    assert.isTrue(storageRootsOverlap("/data/one", "/data"))
    assert.isTrue(storageRootsOverlap("/data", "/data/one"))
  })

  it("lets siblings be", () => {
    assert.isFalse(storageRootsOverlap("/data/one", "/data/two"))
    assert.isFalse(storageRootsOverlap("/data/one", "/data/one-more"))
  })
})

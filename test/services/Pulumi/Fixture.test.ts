// The stand-in for the platform package throws where the real one throws (contract of the stack config), and is packed
// as each of its versions.
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as pulumi from "@pulumi/pulumi"
import { approvedHostBuilds } from "../../../src/services/Pulumi/ApprovedHostBuilds.ts"
import { packVersion, versions, writeVersion } from "../../fixtures/platform/pack.mts"
import { repository } from "./harness.ts"

const require = createRequire(import.meta.url)
const { readConfig } = require(path.join(repository, "test/fixtures/platform/dist/config.js"))
const { approvedTenantHostImages } = require(path.join(repository, "test/fixtures/platform"))

const read = (own: Readonly<Record<string, unknown>>) => {
  const config = { kubeconfig: "/k", networkPolicyEngine: "existing", ...own }
  const entries = Object.entries(config).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [[`project:${key}`, typeof value === "string" ? value : JSON.stringify(value)]],
  )
  pulumi.runtime.setAllConfig(Object.fromEntries(entries))
  return readConfig()
}

const digest = `@sha256:${"a".repeat(64)}`
const auth = { image: `auth${digest}`, issuer: "https://id", oauthClient: { id: "console", secretName: "s" } }

it("fills in the defaults of the contract", () => {
  const config = read({})
  assert.strictEqual(config.namespace, "wasmcloud")
  assert.strictEqual(config.storageRoot, "/var/lib/kubesolo")
  assert.strictEqual(config.httpNodePort, 0)
  assert.strictEqual(config.tenantHostImagePullPolicy, "IfNotPresent")
  assert.isTrue(
    approvedTenantHostImages.some((image: string) =>
      /wash:2\.8\.0-wasi-tls-exclusive@sha256:[0-9a-f]{64}$/.test(image),
    ),
  )
})

const refused: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>]> = [
  ["no kubeconfig", { kubeconfig: undefined }],
  ["another network policy engine", { networkPolicyEngine: "calico" }],
  ["a bad tenant name", { tenants: [{ name: "Acme" }] }],
  ["a tenant name that is too long", { tenants: [{ name: "a".repeat(41) }] }],
  ["a duplicate tenant", { tenants: [{ name: "a" }, { name: "a" }] }],
  ["tenants that are no JSON", { tenants: "[" }],
  [
    "a membership outside of the tenants",
    { users: [{ name: "u", memberships: [{ tenant: "a", role: "viewer" }] }] },
  ],
  [
    "a duplicate user",
    {
      users: [
        { name: "u", memberships: [] },
        { name: "u", memberships: [] },
      ],
    },
  ],
  [
    "a duplicate membership",
    {
      tenants: [{ name: "a" }],
      users: [
        {
          name: "u",
          memberships: [
            { tenant: "a", role: "viewer" },
            { tenant: "a", role: "developer" },
          ],
        },
      ],
    },
  ],
  ["a tenant auth image without a digest", { tenantAuth: { ...auth, image: "auth:1" } }],
  [
    "a registry component without a digest",
    { tenantAuth: { ...auth, registry: { component: "registry:1" } } },
  ],
]

for (const [name, config] of refused) it(`throws at ${name}`, () => assert.throws(() => read(config)))

it("takes a whole config", () => {
  const config = read({
    tenants: [{ name: "acme", runtime: { replicas: 2 } }],
    users: [{ name: "dev", memberships: [{ tenant: "acme", role: "developer" }] }],
    tenantAuth: auth,
    httpEndpoint: "http://127.0.0.1:30080",
  })
  assert.strictEqual(config.tenants[0].runtime.replicas, 2)
  assert.strictEqual(config.routeUrlPattern, "http://{route}.localhost:30080")
})

describe("a packed version", () => {
  let root: string
  beforeAll(() => {
    root = mkdtempSync(path.join(tmpdir(), "fixture-"))
    for (const version of versions) writeVersion(version, path.join(root, version))
  })
  afterAll(() => rmSync(root, { recursive: true }))

  it("is called by its version, and has every entrypoint of the contract", () => {
    for (const version of versions) {
      const manifest = require(path.join(root, version, "package.json"))
      assert.include(manifest, { name: "@di-framework/platform", version })
      assert.sameMembers(Object.keys(manifest.exports), [".", "./local", "./existing", "./package.json"])
      for (const file of Object.values<string>(manifest.exports)) {
        assert.isTrue(existsSync(path.join(root, version, file)), `${version} ${file}`)
      }
      assert.isFalse(existsSync(path.join(root, version, "variants")))
    }
  })

  it("approves the operator's default host build, but for the one from before there was such a list", () => {
    const [hostBuild] = approvedTenantHostImages
    const approving = versions.filter((version) => {
      const approved = approvedHostBuilds({
        entrypoint: require(path.join(root, version)).approvedTenantHostImages,
        manifest: require(path.join(root, version, "package.json")).diFramework?.approvedTenantHostImages,
      })
      return approved.includes(hostBuild)
    })
    assert.deepStrictEqual(approving, ["6.0.21", "6.0.22", "6.0.90", "6.0.91", "6.0.92"])
  })

  it("is known by its content: the same each time it is packed, and no other's", () => {
    const contents = versions.map((version) => packVersion(version).manifest.fixtureContent)
    assert.deepStrictEqual(
      contents,
      versions.map((version) => packVersion(version).manifest.fixtureContent),
    )
    assert.strictEqual(new Set(contents).size, versions.length)
  })

  it("differs from the next one in its number alone, where it is whole", () => {
    assert.deepStrictEqual(packVersion("6.0.21").files, packVersion("6.0.22").files)
  })

  it("is not there when nobody has described it", () => {
    assert.throws(() => packVersion("6.0.99"), "no version 6.0.99")
  })
})

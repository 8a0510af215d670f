// The stand-in for the platform package throws where the real one throws (contract of the stack config).
import { createRequire } from "node:module"
import path from "node:path"
import { assert, it } from "@effect/vitest"
import * as pulumi from "@pulumi/pulumi"
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

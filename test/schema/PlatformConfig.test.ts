import { assert, describe, it } from "@effect/vitest"
import { Effect, Predicate } from "effect"
import { decodeManifest } from "../../src/schema/Manifest.ts"
import { platformConfig, type SuppliedConfig } from "../../src/schema/PlatformConfig.ts"
import { Platform } from "../../src/schema/PlatformSpec.ts"
import { type StructuralSchema, structuralSchema } from "../../src/schema/StructuralSchema.ts"

const digest = `sha256:${"a".repeat(64)}`
const supplied: SuppliedConfig = {
  storageRoot: "/var/lib/kubesolo/instances/team-a/one",
  kubernetesEndpoint: "https://vcluster.pi-team-a-one.svc:443",
}

/** What every instance gets. */
const always = {
  networkPolicyEngine: "existing",
  storageRoot: supplied.storageRoot,
  httpNodePort: "0",
  kubernetesEndpoint: supplied.kubernetesEndpoint,
}

const configOf = (platform: unknown, extra: Partial<SuppliedConfig> = {}) =>
  decodeManifest({
    apiVersion: "platform.di-framework.dev/v1alpha1",
    kind: "PlatformInstance",
    metadata: { name: "one" },
    spec: {
      version: "6.0.22",
      target: { type: "vcluster" },
      ...(platform === undefined ? {} : { platform }),
    },
  }).pipe(Effect.map(({ spec }) => Object.fromEntries(platformConfig(spec, { ...supplied, ...extra }))))

const tenants = (fields: object) => ({ tenants: [{ name: "acme", ...fields }] })
const tenantsConfig = (fields: object) => ({ tenants: JSON.stringify([{ name: "acme", ...fields }]) })
const image = `ghcr.io/di-framework/tenant-auth@${digest}`
const auth = (fields: object) => ({ tenantAuth: { image, ...fields } })
const authConfig = (fields: object) => ({ tenantAuth: JSON.stringify({ image, ...fields }) })
const registry = (fields: object) => ({ registry: { component: `oci@${digest}`, ...fields } })

describe("platformConfig", () => {
  it.effect.each<readonly [title: string, platform: unknown, config: Readonly<Record<string, string>>]>([
    ["no platform", undefined, {}],
    ["an empty platform", {}, {}],
    ["an empty gateway", { gateway: {} }, {}],
    ["networkPolicyEngine", { networkPolicyEngine: "kube-router" }, { networkPolicyEngine: "kube-router" }],
    ["storageRoot, which the operator settles", { storageRoot: "/data" }, {}],
    ["gateway.httpNodePort", { gateway: { httpNodePort: 30080 } }, { httpNodePort: "30080" }],
    [
      "gateway.httpEndpoint",
      { gateway: { httpEndpoint: "http://{tenant}.apps.example" } },
      { httpEndpoint: "http://{tenant}.apps.example" },
    ],
    ["tenantHostImage", { tenantHostImage: "w:2" }, { tenantHostImage: "w:2" }],
    [
      "tenantHostImagePullPolicy",
      { tenantHostImagePullPolicy: "Never" },
      { tenantHostImagePullPolicy: "Never" },
    ],
    ["no tenants", { tenants: [] }, { tenants: "[]" }],
    ["tenants[].name", tenants({}), tenantsConfig({})],
    ["tenants[].suspended", tenants({ suspended: false }), tenantsConfig({ suspended: false })],
    [
      "tenants[].deletionPolicy",
      tenants({ deletionPolicy: "Retain" }),
      tenantsConfig({ deletionPolicy: "Retain" }),
    ],
    ["an empty tenants[].runtime", tenants({ runtime: {}, resources: {} }), tenantsConfig({})],
    [
      "tenants[].runtime, in whatever order it was written",
      tenants({ runtime: { coreInstances: 100, replicas: 2 } }),
      tenantsConfig({ runtime: { replicas: 2, coreInstances: 100 } }),
    ],
    [
      "tenants[].resources",
      tenants({
        resources: {
          cpu: "1.5",
          memory: "512Mi",
          workloads: 1,
          backingServices: 2,
          serviceBindings: 3,
          apiKeys: 4,
        },
      }),
      tenantsConfig({
        resources: {
          cpu: "1.5",
          memory: "512Mi",
          workloads: 1,
          backingServices: 2,
          serviceBindings: 3,
          apiKeys: 4,
        },
      }),
    ],
    [
      "users",
      {
        tenants: [{ name: "acme" }],
        users: [
          { name: "dev", memberships: [{ role: "developer", tenant: "acme" }] },
          { name: "gone", suspended: true, memberships: [] },
        ],
      },
      {
        tenants: '[{"name":"acme"}]',
        users:
          '[{"name":"dev","memberships":[{"tenant":"acme","role":"developer"}]},{"name":"gone","suspended":true,"memberships":[]}]',
      },
    ],
    ["tenantAuth.image alone", auth({}), authConfig({})],
    [
      "tenantAuth's OAuth client, the secret by the name the operator gives it",
      auth({
        issuer: "https://id.example",
        clientId: "console",
        clientSecretRef: { name: "tenant-auth-oauth", key: "secret" },
      }),
      authConfig({
        issuer: "https://id.example",
        oauthClient: { id: "console", secretName: "platform-operator-tenant-auth" },
      }),
    ],
    [
      "tenantAuth's addresses",
      auth({
        controllerPublicUrl: "https://api.example/{tenant}",
        consolePublicUrl: "https://{tenant}.example",
        issuerIp: "10.0.0.1",
        issuerUpstreamPodPort: 5556,
        issuerUpstream: "dex.auth.svc:5556",
      }),
      authConfig({
        issuerUpstream: "dex.auth.svc:5556",
        issuerUpstreamPodPort: 5556,
        issuerIp: "10.0.0.1",
        consolePublicUrl: "https://{tenant}.example",
        controllerPublicUrl: "https://api.example/{tenant}",
      }),
    ],
    ["tenantAuth.registry", auth(registry({})), authConfig(registry({}))],
    [
      "tenantAuth.registry in full",
      auth(
        registry({
          limits: { maxConcurrent: 2, maxBodyBytes: 1, upstreamTimeoutMs: 4, uploadIdleTimeoutMs: 3 },
          publicUrl: "https://r.example",
        }),
      ),
      authConfig(
        registry({
          publicUrl: "https://r.example",
          limits: { maxBodyBytes: 1, maxConcurrent: 2, uploadIdleTimeoutMs: 3, upstreamTimeoutMs: 4 },
        }),
      ),
    ],
  ])("%s", ([, platform, config]) =>
    Effect.map(configOf(platform), (made) => assert.deepStrictEqual(made, { ...always, ...config })),
  )

  it.effect("uses the recorded tenant host image when the spec names none, and the spec's when it does", () =>
    Effect.gen(function* () {
      const recorded = { tenantHostImage: "recorded:1" }
      assert.strictEqual((yield* configOf({}, recorded)).tenantHostImage, "recorded:1")
      assert.strictEqual((yield* configOf({ tenantHostImage: "own:1" }, recorded)).tenantHostImage, "own:1")
    }),
  )
})

/** Each field there is. */
const full: Platform = {
  networkPolicyEngine: "existing",
  storageRoot: "/data",
  gateway: { httpNodePort: 30080, httpEndpoint: "http://apps.example" },
  tenants: [
    {
      name: "acme",
      suspended: true,
      deletionPolicy: "Retain",
      runtime: { replicas: 2, coreInstances: 100 },
      resources: {
        cpu: "1",
        memory: "1Gi",
        workloads: 1,
        backingServices: 1,
        serviceBindings: 1,
        apiKeys: 1,
      },
    },
  ],
  users: [{ name: "dev", suspended: true, memberships: [{ tenant: "acme", role: "viewer" }] }],
  tenantAuth: {
    image,
    issuer: "https://id.example",
    clientId: "console",
    clientSecretRef: { name: "oauth", key: "secret" },
    issuerUpstream: "dex.auth.svc:5556",
    issuerUpstreamPodPort: 5556,
    issuerIp: "10.0.0.1",
    consolePublicUrl: "https://console.example",
    controllerPublicUrl: "https://api.example",
    registry: {
      component: image,
      publicUrl: "https://r.example",
      limits: { maxBodyBytes: 1, maxConcurrent: 1, uploadIdleTimeoutMs: 1, upstreamTimeoutMs: 1 },
    },
  },
  tenantHostImage: "wash:2",
  tenantHostImagePullPolicy: "Never",
}

type Path = ReadonlyArray<string>
/** Where values lie in an object of this schema, its lists with one entry. */
const leaves = ({ properties, items }: StructuralSchema): ReadonlyArray<Path> => {
  if (items !== undefined) return leaves(items).map((path) => ["0", ...path])
  if (properties === undefined) return [[]]
  return Object.entries(properties).flatMap(([name, inner]) => leaves(inner).map((path) => [name, ...path]))
}
const textOf = (platform: Platform) => [...platformConfig({ platform }, supplied)].join("\n")

describe("every field of spec.platform", () => {
  /** The operator settles the one, and reads what the others name. */
  const elsewhere = ["storageRoot", "tenantAuth.clientSecretRef.name", "tenantAuth.clientSecretRef.key"]

  it.each(leaves(structuralSchema(Platform)).map((path) => path.join(".")))("%s", (name) => {
    const changed = structuredClone(full)
    const parts = name.split(".")
    const [last = ""] = parts.slice(-1)
    const holder = parts
      .slice(0, -1)
      .reduce<unknown>(
        (at, part) => (Predicate.isObjectOrArray(at) ? Reflect.get(at, part) : undefined),
        changed,
      )
    if (!Predicate.isObject(holder)) return assert.fail(`no ${name} in the full one`)
    const before: unknown = Reflect.get(holder, last)
    assert.isDefined(before, `no ${name} in the full one`)
    const other = typeof before === "number" ? 4_242 : typeof before === "boolean" ? false : "sentinel-4242"
    Reflect.set(holder, last, other)
    if (elsewhere.includes(name)) assert.strictEqual(textOf(changed), textOf(full))
    else {
      assert.include(textOf(changed), String(other))
      assert.notStrictEqual(textOf(changed), textOf(full))
    }
    // Gone from the spec, it is gone from the config; some have a default, which stands again.
    Reflect.deleteProperty(holder, last)
    assert.notInclude(textOf(changed), "4242")
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { decodePlatformInstance, instanceKey } from "../../src/schema/PlatformInstance.ts"
import { checkUpdate, customStorageRoot, effectivePlatform } from "../../src/schema/PlatformSpec.ts"
import { formatSchemaError } from "../../src/schema/SchemaErrors.ts"

const metadata = {
  name: "one",
  namespace: "team-a",
  uid: "4be1",
  resourceVersion: "7",
  generation: 2,
  creationTimestamp: "2026-11-03T10:00:00Z",
}
const spec = { version: "6.0.22", target: { type: "vcluster" } }
const stored = (fields: object) => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata,
  spec,
  ...fields,
})
const platform = (platform: object) => stored({ spec: { ...spec, platform } })
const refusal = (object: unknown) =>
  decodePlatformInstance(object).pipe(Effect.flip, Effect.map(formatSchemaError))

describe("decodePlatformInstance", () => {
  it.effect("drops fields it does not know, at any depth", () =>
    Effect.gen(function* () {
      const instance = yield* decodePlatformInstance(
        stored({
          metadata: { ...metadata, managedFields: [{ manager: "kubectl" }] },
          spec: { ...spec, later: true, target: { type: "vcluster", zone: "x" } },
          later: {},
        }),
      )
      assert.deepStrictEqual<unknown>(instance, stored({ spec: { ...spec, deletionPolicy: "Delete" } }))
      assert.deepStrictEqual(instanceKey(instance), { namespace: "team-a", name: "one" })
    }),
  )

  it.effect("fills in the defaults the CRD has", () =>
    Effect.gen(function* () {
      const bare = yield* decodePlatformInstance(stored({}))
      assert.strictEqual(bare.spec.deletionPolicy, "Delete")
      assert.isUndefined(bare.spec.platform)
      const given = yield* decodePlatformInstance(platform({ gateway: {} }))
      assert.deepStrictEqual(given.spec.platform, {
        networkPolicyEngine: "existing",
        gateway: { httpNodePort: 0 },
      })
    }),
  )

  it.effect("counts a field of the status that does not decode as lost, and keeps the rest", () =>
    Effect.gen(function* () {
      const instance = yield* decodePlatformInstance(
        stored({ status: { phase: "Paused", installedVersion: "6.0.21", applied: { tenants: "many" } } }),
      )
      assert.deepStrictEqual(instance.status, { installedVersion: "6.0.21" })
    }),
  )

  it.effect("counts a status that is no object as lost", () =>
    Effect.gen(function* () {
      const instance = yield* decodePlatformInstance(stored({ status: "Ready" }))
      assert.isUndefined(instance.status)
    }),
  )

  it.effect("fails for a broken spec even where the status is broken too", () =>
    Effect.map(
      refusal(stored({ spec: { ...spec, version: "latest" }, status: { phase: "Paused" } })),
      (line) => assert.include(line, "spec.version"),
    ),
  )
})

describe("formatSchemaError", () => {
  it.effect.each<readonly [object: unknown, line: string]>([
    [
      stored({ spec: { ...spec, version: "v6" } }),
      'spec.version: Expected an exact version such as 6.0.22, without a range or a leading v, got "v6". Correct this field and apply it again.',
    ],
    [
      platform({ gateway: { httpNodePort: 70000 }, tenants: [{ name: "a" }, { name: "A" }] }),
      'spec.platform.gateway.httpNodePort: Expected a value between 0 and 32767, got 70000; spec.platform.tenants[1].name: Expected 1-40 lowercase letters, digits and hyphens, starting with a letter, got "A". Correct these fields and apply them again.',
    ],
    [
      stored({ spec: { version: "6.0.22" } }),
      "spec.target: is required. Correct this field and apply it again.",
    ],
    [
      platform({ tenants: [{ name: "a" }, { name: "a" }] }),
      'spec.platform.tenants[1].name: duplicate name "a". Correct this field and apply it again.',
    ],
    [
      platform({ users: [{ name: "dev", memberships: [{ tenant: "acme", role: "viewer" }] }] }),
      "spec.platform: users[].memberships[].tenant must name an entry of tenants. Correct this field and apply it again.",
    ],
  ])("%#: names field, value and way out", ([object, line]) =>
    Effect.map(refusal(object), (said) => assert.strictEqual(said, line)),
  )

  it.effect("stays one line of at most 1,024 characters, and counts what it leaves out", () =>
    Effect.gen(function* () {
      const tenants = Array.from({ length: 32 }, () => ({ name: `\n${"X".repeat(500)}` }))
      const line = yield* refusal(platform({ tenants }))
      assert.isAtMost(line.length, 1024)
      assert.notInclude(line, "\n")
      assert.match(line, /and \d+ more/)
    }),
  )
})

describe("effectivePlatform", () => {
  it("holds every default when platform is absent", () =>
    assert.deepStrictEqual(effectivePlatform({}), {
      networkPolicyEngine: "existing",
      gateway: { httpNodePort: 0 },
    }))

  it("keeps what is given", () =>
    assert.deepStrictEqual(
      effectivePlatform({ platform: { networkPolicyEngine: "kube-router", storageRoot: "/data" } }),
      { networkPolicyEngine: "kube-router", storageRoot: "/data", gateway: { httpNodePort: 0 } },
    ))

  it("takes an empty storage root for none", () => {
    assert.isUndefined(customStorageRoot({ platform: { networkPolicyEngine: "existing", storageRoot: "" } }))
    assert.isUndefined(customStorageRoot({}))
    assert.strictEqual(
      customStorageRoot({ platform: { networkPolicyEngine: "existing", storageRoot: "/data" } }),
      "/data",
    )
  })
})

describe("checkUpdate", () => {
  it("names each immutable field that changed, as the API server does", () => {
    const before = { spec: { target: { type: "vcluster" } } }
    const after = { spec: { target: { type: "other" }, platform: { storageRoot: "/data" } } }
    assert.deepStrictEqual(checkUpdate(before, after), [
      "target is immutable",
      "platform.storageRoot is immutable",
    ])
    assert.deepStrictEqual(checkUpdate(before, before), [])
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import { chooseStorageRoot, chooseTenantHostImage } from "../../../../src/actors/instance/install/choices.ts"
import type { PlatformInstanceSpec } from "../../../../src/schema/PlatformSpec.ts"
import type { InstanceRecord } from "../../../../src/services/StateStore/StateStore.ts"

const key = { namespace: "team-a", name: "one" }
const spec = (platform: NonNullable<PlatformInstanceSpec["platform"]> | undefined): PlatformInstanceSpec => ({
  version: "6.0.22",
  target: { type: "vcluster" },
  deletionPolicy: "Delete",
  ...(platform === undefined ? {} : { platform }),
})
const withRoot = (storageRoot: string) => spec({ networkPolicyEngine: "existing", storageRoot })
const withImage = (tenantHostImage: string) => spec({ networkPolicyEngine: "existing", tenantHostImage })
const recordOf = (more: Partial<InstanceRecord>) =>
  Option.some<InstanceRecord>({ format: 1, uid: "life", ...more })

describe("the storage root", () => {
  const choose = (s: PlatformInstanceSpec, record = Option.none<InstanceRecord>(), base = "/base") =>
    chooseStorageRoot(key, s, base, record)

  it("is the operator's, one for each instance, when the spec names none or an empty one", () => {
    const expected = Result.succeed({ path: "/base/team-a/one", base: "/base" })
    assert.deepStrictEqual(choose(spec(undefined)), expected)
    assert.deepStrictEqual(choose(withRoot("")), expected)
  })

  it("is the spec's, without a base: it is never removed", () => {
    assert.deepStrictEqual(choose(withRoot("/mine")), Result.succeed({ path: "/mine" }))
  })

  it("once recorded stays, whatever the base is today", () => {
    const storageRoot = { path: "/old/team-a/one", base: "/old" }
    assert.deepStrictEqual(choose(spec(undefined), recordOf({ storageRoot })), Result.succeed(storageRoot))
  })

  for (const root of ["/", "/base/x", "/base", "/base/../base/x"]) {
    it(`${root} is refused: a cleanup could reach it`, () => {
      const refused = choose(withRoot(root))
      assert.match(Result.isFailure(refused) ? refused.failure : "", /storageRoot is immutable: recreate/)
    })
  }

  it("that holds the base in a tree of the platform's is refused", () => {
    assert.isTrue(Result.isFailure(choose(withRoot("/srv"), Option.none(), "/srv/di-tenants/base")))
  })

  it("is checked before the first install only: one that is recorded is not refused", () => {
    const storageRoot = { path: "/base/x" }
    assert.deepStrictEqual(
      choose(withRoot("/base/x"), recordOf({ storageRoot })),
      Result.succeed(storageRoot),
    )
  })
})

describe("the tenant host image", () => {
  const pinned = "ghcr.io/di-framework/wash@sha256:0"
  const choose = (options: {
    readonly spec?: PlatformInstanceSpec
    readonly record?: Option.Option<InstanceRecord>
    readonly everInstalled?: boolean
    readonly operatorDefault?: Option.Option<string>
    readonly approved?: ReadonlyArray<string>
  }) =>
    chooseTenantHostImage({
      spec: spec(undefined),
      record: Option.none(),
      everInstalled: false,
      operatorDefault: Option.some(pinned),
      approved: [pinned],
      ...options,
    })

  it("is the spec's, approved or not", () => {
    const wished = choose({
      spec: withImage("mine:1"),
      record: recordOf({ tenantHostImage: pinned }),
      approved: [],
    })
    assert.deepStrictEqual(wished, Result.succeed(Option.some("mine:1")))
  })

  it("once recorded stays, though operator and package move on", () => {
    const kept = choose({
      spec: withImage(""),
      record: recordOf({ tenantHostImage: "old@sha256:1" }),
      everInstalled: true,
      approved: [],
    })
    assert.deepStrictEqual(kept, Result.succeed(Option.some("old@sha256:1")))
  })

  it("of a new instance is the operator's default, if the package approves it", () => {
    assert.deepStrictEqual(choose({}), Result.succeed(Option.some(pinned)))
    const refused = choose({ approved: ["another@sha256:2"] })
    assert.match(
      Result.isFailure(refused) ? refused.failure : "",
      /^version 6\.0\.22 does not approve .*wash@sha256:0; set spec\.platform\.tenantHostImage, or a newer spec\.version$/,
    )
  })

  it("of an instance installed before images were recorded stays the platform's own", () => {
    assert.deepStrictEqual(choose({ everInstalled: true, approved: [] }), Result.succeed(Option.none()))
  })

  it("must be named where a build pins none", () => {
    const refused = choose({ operatorDefault: Option.none() })
    assert.match(Result.isFailure(refused) ? refused.failure : "", /set spec\.platform\.tenantHostImage/)
    const installed = choose({ operatorDefault: Option.none(), everInstalled: true })
    assert.deepStrictEqual(installed, Result.succeed(Option.none()))
  })
})

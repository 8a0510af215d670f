import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import {
  chooseStorageRoot,
  chooseTenantHostImage,
  gatewayProblem,
} from "../../../../src/actors/instance/install/choices.ts"
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
  const choose = (
    s: PlatformInstanceSpec,
    record = Option.none<InstanceRecord>(),
    base = "/base",
    everInstalled = false,
  ) => chooseStorageRoot({ key, spec: s, base, record, everInstalled })

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

  it("of an instance that is installed is not refused when its record was lost and the base has moved over it", () => {
    assert.isTrue(Result.isFailure(choose(withRoot("/base/x"), Option.none(), "/base")))
    assert.deepStrictEqual(
      choose(withRoot("/base/x"), Option.none(), "/base", true),
      Result.succeed({ path: "/base/x" }),
    )
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
    readonly told?: string | undefined
    readonly everInstalled?: boolean
    readonly operatorDefault?: Option.Option<string>
    readonly approved?: ReadonlyArray<string>
  }) =>
    chooseTenantHostImage({
      spec: spec(undefined),
      record: Option.none(),
      told: undefined,
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

  it("is the one the status tells where the record was lost; a record without one stands", () => {
    const lost = choose({ told: "old@sha256:1", everInstalled: true, approved: [] })
    assert.deepStrictEqual(lost, Result.succeed(Option.some("old@sha256:1")))
    assert.deepStrictEqual(choose({ told: "", everInstalled: true }), Result.succeed(Option.none()))
    const installed = {
      version: "6.0.21",
      generation: 1,
      reason: "FirstInstall",
      finishedAt: "2026-11-01T12:00:00Z",
      tenants: 0,
      users: 0,
      endpoints: {},
    } as const
    const stands = choose({ record: recordOf({ installed }), told: "old@sha256:1", everInstalled: true })
    assert.deepStrictEqual(stands, Result.succeed(Option.none()))
  })

  it("must be named where a build pins none", () => {
    const refused = choose({ operatorDefault: Option.none() })
    assert.match(Result.isFailure(refused) ? refused.failure : "", /set spec\.platform\.tenantHostImage/)
    const installed = choose({ operatorDefault: Option.none(), everInstalled: true })
    assert.deepStrictEqual(installed, Result.succeed(Option.none()))
  })
})

describe("the address of the gateway", () => {
  const problem = (httpEndpoint?: string) =>
    gatewayProblem(
      spec({
        networkPolicyEngine: "existing",
        gateway: { httpNodePort: 0, ...(httpEndpoint === undefined ? {} : { httpEndpoint }) },
      }),
    )

  it.each(["http://apps.example:30080", "https://localhost", "http://192.0.2.1/below", "http://[::1]:80"])(
    "%s is one",
    (endpoint) => assert.isUndefined(problem(endpoint)),
  )

  it("is not asked for", () => {
    assert.isUndefined(problem())
    assert.isUndefined(gatewayProblem(spec(undefined)))
  })

  it.each(["http://", "https://:80", "http://a b", "http://apps.example:port", `http://${"%".repeat(9000)}`])(
    "%s is none, and the field, the value and the way out are said",
    (endpoint) => {
      assert.match(
        problem(endpoint) ?? "",
        /^spec\.platform\.gateway\.httpEndpoint "http.* is no URL; give one/,
      )
      assert.isAtMost(problem(endpoint)?.length ?? 0, 400)
    },
  )
})

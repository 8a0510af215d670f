// The plugin judges manifests as the table of the CRD's tests says, which the real API server is held to as well.
import { assert, describe, it } from "@effect/vitest"
import { compileRule } from "../../headlamp-plugin/src/logic/cel.ts"
import { isImmutable } from "../../headlamp-plugin/src/logic/rules.ts"
import { type JsonObject, pathText, rootSchema, type Schema } from "../../headlamp-plugin/src/logic/schema.ts"
import { validate } from "../../headlamp-plugin/src/logic/validate.ts"
import { inEnglish } from "../../headlamp-plugin/src/logic/words.ts"
import { manifestRows, updateRows, type Verdict } from "../schema/crd-table/index.ts"
import { auths, memberOf, names, platform, together, undeclared } from "../schema/crd-table/rows.ts"

const said = (manifest: JsonObject, old?: JsonObject): ReadonlyArray<string> =>
  validate(manifest, old).map(({ path, words }) => `${pathText(path)}: ${inEnglish(words)}`)

const judge = (row: Verdict, issues: ReadonlyArray<string>) => {
  if (row.valid) assert.deepStrictEqual(issues, [])
  else assert.isNotEmpty(issues)
  if (row.message !== undefined) assert.include(issues.join("\n"), row.message)
}

describe("the plugin judges as the table says", () => {
  it.each(manifestRows)("create: $title", (row) => judge(row, said(row.manifest)))
  it.each(updateRows)("update: $title", (row) => judge(row, said(row.after, row.before)))
})

const rulesOf = (schema: Schema): ReadonlyArray<string> => [
  ...(schema["x-kubernetes-validations"] ?? []).map(({ rule }) => rule),
  ...Object.values(schema.properties ?? {}).flatMap(rulesOf),
  ...(schema.items === undefined ? [] : rulesOf(schema.items)),
]

describe("the CRD's rules", () => {
  it("can all be read", () => {
    const rules = rulesOf(rootSchema)
    assert.isAtLeast(rules.length, 5)
    for (const rule of rules) compileRule(rule)
  })

  it("refuse what they do not know", () => {
    for (const rule of ["self.x.map(y, y)", "type(self) == 1", "self.x + 1 == 2", "self.x ==", "self.x `"])
      assert.throws(() => compileRule(rule), /rule/)
  })
})

describe("a message stands beside the field it is about", () => {
  it("of a membership in an undeclared tenant: that membership alone", () => {
    const manifest = platform({
      tenants: names(2),
      users: [
        { name: "a", memberships: memberOf("t0", "t1") },
        { name: "b", memberships: memberOf("t1", "t2") },
      ],
    })
    assert.deepStrictEqual(said(manifest), [`spec.platform.users[1].memberships[1]: ${undeclared}`])
  })

  it("of tenantAuth's three together: those that are missing", () => {
    assert.deepStrictEqual(said(auths({ issuer: "https://id.example" })), [
      `spec.platform.tenantAuth.clientId: ${together}`,
      `spec.platform.tenantAuth.clientSecretRef: ${together}`,
    ])
  })

  it("of a storage root that is fixed", () => {
    assert.deepStrictEqual(said(platform({ storageRoot: "/b" }), platform({ storageRoot: "/a" })), [
      "spec.platform.storageRoot: platform.storageRoot is immutable",
    ])
  })

  it("of a tenant's name that is there twice: the second", () => {
    assert.deepStrictEqual(said(platform({ tenants: [{ name: "a" }, { name: "a" }] })), [
      "spec.platform.tenants[1].name: a is there already",
    ])
  })
})

describe("an edit", () => {
  it("leaves fields of a newer CRD as they were stored, and adds none", () => {
    const stored = platform({ later: { x: 1 } })
    assert.deepStrictEqual(said(stored, stored), [])
    assert.isNotEmpty(said(platform({ later: { x: 1 } }), platform({})))
  })

  it("is locked where a rule compares with what is stored", () => {
    const locked = ["spec.target.type", "spec.target", "spec.platform.storageRoot"]
    const open = [
      "spec.version",
      "spec.platform.gateway.httpEndpoint",
      "spec.platform",
      "spec.deletionPolicy",
    ]
    assert.deepStrictEqual(
      [...locked, ...open].filter((path) => isImmutable(path.split("."), rootSchema)),
      locked,
    )
  })
})

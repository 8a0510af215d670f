// The API server's refusals, in the words that Headlamp hands on.
import { assert, describe, it } from "@effect/vitest"
import { absenceOf, absenceOfOne } from "../../headlamp-plugin/src/logic/crdState.ts"
import { refusalOf } from "../../headlamp-plugin/src/logic/refusal.ts"
import { pathText } from "../../headlamp-plugin/src/logic/schema.ts"

const failure = (status: number, message: string): Error => Object.assign(new Error(message), { status })
const named = 'PlatformInstance.platform.di-framework.dev "one" is invalid'

describe("a refusal", () => {
  it.each<[string, number, string, boolean, string]>([
    [
      "of a user without the right",
      403,
      'Forbidden - platforminstances.platform.di-framework.dev is forbidden: User "viewer" cannot create resource "platforminstances" in API group "platform.di-framework.dev" in the namespace "team-a"',
      true,
      "forbidden",
    ],
    [
      "by a webhook",
      403,
      'Forbidden - admission webhook "names.example.com" denied the request: no more than two',
      true,
      "denied",
    ],
    [
      "by a policy",
      422,
      "Unprocessable Entity - platforminstances \"one\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
      true,
      "denied",
    ],
    ["of a name that is there", 409, 'Conflict - platforminstances "one" already exists', true, "exists"],
    ["of a change that came late", 409, "Conflict - the object has been modified", false, "conflict"],
    [
      "by a test of the patch",
      422,
      "Unprocessable Entity - the server rejected our request due to an error in our request",
      false,
      "conflict",
    ],
    ["of what is not there", 404, "Not Found", false, "notFound"],
    ["without a session", 401, "Unauthorized", false, "unauthorized"],
    ["by nobody: no answer at all", 0, "Failed to fetch", false, "other"],
  ])("%s", (_, status, message, creating, kind) => {
    const refusal = refusalOf(failure(status, message), creating)
    assert.strictEqual(refusal.kind, kind)
    assert.strictEqual(refusal.message, message)
    assert.deepStrictEqual(refusal.fields, [])
  })

  const fieldsOf = (status: number, message: string) =>
    refusalOf(failure(status, message)).fields.map(({ path, message }) => [pathText(path), message])

  it("of one field stands beside it", () => {
    assert.deepStrictEqual(
      fieldsOf(
        422,
        `${named}: spec.version: Invalid value: "x": spec.version in body should match '^[0-9]+'`,
      ),
      [["spec.version", `Invalid value: "x": spec.version in body should match '^[0-9]+'`]],
    )
  })

  it("of several stands beside each", () => {
    assert.deepStrictEqual(
      fieldsOf(
        422,
        `${named}: [spec.platform.tenants[0].name: Invalid value: "A, b": must match, spec.target.type: Unsupported value: "x": supported values: "vcluster", <nil>: Invalid value: "null": some validation rules were not checked]`,
      ).slice(0, 2),
      [
        ["spec.platform.tenants[0].name", 'Invalid value: "A, b": must match'],
        [
          "spec.target.type",
          'Unsupported value: "x": supported values: "vcluster", <nil>: Invalid value: "null": some validation rules were not checked',
        ],
      ],
    )
  })

  it("of a field that an older CRD does not know stands beside it", () => {
    assert.deepStrictEqual(
      fieldsOf(
        400,
        'Bad Request - PlatformInstance in version "v1alpha1" cannot be handled as a PlatformInstance: strict decoding error: unknown field "spec.platform.tenantHostImage"',
      ),
      [["spec.platform.tenantHostImage", 'unknown field "spec.platform.tenantHostImage"']],
    )
  })
})

describe("an absent list", () => {
  it("is that of a missing CRD, of a missing right, or of a failure", () => {
    assert.deepStrictEqual(
      [
        failure(404, "404 page not found"),
        failure(403, "Forbidden"),
        failure(500, "etcdserver"),
        "x",
        null,
      ].map((error) => absenceOf(error).kind),
      ["noCrd", "forbidden", "other", "other", "other"],
    )
  })

  it("and of one instance also that it is not there", () => {
    assert.deepStrictEqual(
      [
        failure(404, 'platforminstances.platform.di-framework.dev "one" not found'),
        failure(404, 'Not Found - platforminstances.platform.di-framework.dev "one" not found'),
        failure(404, "404 page not found"),
        failure(404, "Unreachable"),
        failure(403, "Forbidden"),
        failure(500, "etcdserver"),
        null,
      ].map((error) => absenceOfOne(error, "team-a/one").kind),
      ["notFound", "notFound", "noCrd", "noCrd", "forbidden", "other", "other"],
    )
  })
})

// From an object to the form and back, and from two objects to the patch between them.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Form from "../../headlamp-plugin/src/logic/form.ts"
import { diff, editPatch } from "../../headlamp-plugin/src/logic/patch.ts"
import { type JsonObject, type Path, schemaAt, valueAt } from "../../headlamp-plugin/src/logic/schema.ts"
import { validate } from "../../headlamp-plugin/src/logic/validate.ts"
import { PlatformInstanceSpec } from "../../src/schema/PlatformSpec.ts"
import { jsonPatch } from "../twins/kubernetes/Patch.ts"
import { instances, type Scalar, scalarsOf } from "./arbitrary.ts"

const decode = Schema.decodeUnknownEffect(PlatformInstanceSpec, { onExcessProperty: "error" })
const runs = { arbitrary: { runs: 200, seed: 7 } }

const stored = (object: JsonObject, generation = 3): JsonObject => ({
  ...object,
  metadata: { ...(object.metadata as JsonObject), uid: "u-1", generation, resourceVersion: "88" },
  status: { phase: "Ready" },
})

/** As somebody would type it: each field's text on its own, into a form that has nothing. */
const typed = (scalars: ReadonlyArray<Scalar>, lists: ReadonlyArray<readonly [Path, number]>): Form.Draft => {
  let draft: Form.Draft = Form.newDraft("team-a", "0.0.0")
  for (const [path, length] of lists)
    for (let i = 0; i < length; i++)
      draft = Form.addEntry(draft, path, path.at(-1) === "users" ? { name: "", memberships: [] } : {})
  for (const { path, value } of scalars)
    draft =
      typeof value === "boolean"
        ? Form.setValue(draft, path, value)
        : Form.setField(draft, path, Form.fieldText(value))
  return draft
}

describe("any valid instance", () => {
  it.effect.prop(
    "is one for the operator's own decoder as well",
    { object: instances },
    ({ object }) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(validate(object), [])
        yield* decode(object.spec)
      }),
    runs,
  )

  it.prop(
    "survives the form: opened and sent, it is the same, and there is nothing to patch",
    { object: instances },
    ({ object }) => {
      const sent = Form.objectOf(Form.draftOf(stored(object)))
      assert.deepStrictEqual(sent, object)
      assert.deepStrictEqual(editPatch(stored(object), sent), [])
    },
    runs,
  )

  it.prop(
    "comes out of an empty form when it is typed field by field",
    { object: instances },
    ({ object }) => {
      const { scalars, lists, empty } = scalarsOf(object)
      // An object without any field, such as `runtime: {}`, cannot be typed.
      if (empty) return
      assert.deepStrictEqual(Form.objectOf(typed(scalars, lists)), object)
    },
    runs,
  )
})

describe("a patch", () => {
  it.prop(
    "turns any object into any other, and touches nothing but the spec",
    { a: instances, b: instances },
    ({ a, b }) => {
      const base = stored(a)
      const patched = jsonPatch(base, editPatch(base, b))
      assert.deepStrictEqual(patched, { ...base, spec: b.spec ?? null })
    },
    runs,
  )

  const base = stored({
    apiVersion: "platform.di-framework.dev/v1alpha1",
    kind: "PlatformInstance",
    metadata: { name: "one", namespace: "team-a" },
    spec: {
      version: "6.0.21",
      target: { type: "vcluster" },
      platform: { tenants: [{ name: "a" }, { name: "b", runtime: { replicas: 2 } }, { name: "c" }] },
    },
  })
  const guards = [
    { op: "test", path: "/metadata/uid", value: "u-1" },
    { op: "test", path: "/metadata/generation", value: 3 },
  ]
  const edited = (change: (draft: Form.Draft) => Form.Draft) =>
    editPatch(base, Form.objectOf(change(Form.draftOf(base))))
  const tenants = ["spec", "platform", "tenants"]

  it.each<[string, (draft: Form.Draft) => Form.Draft, ReadonlyArray<object>]>([
    [
      "one field",
      (draft) => Form.setField(draft, ["spec", "version"], "6.0.22"),
      [{ op: "replace", path: "/spec/version", value: "6.0.22" }],
    ],
    [
      "the last field of an object, which goes with it",
      (draft) => Form.setField(draft, [...tenants, 1, "runtime", "replicas"], ""),
      [{ op: "remove", path: "/spec/platform/tenants/1/runtime" }],
    ],
    [
      "the first of three entries: one removal, though all others move up",
      (draft) => Form.removeEntry(draft, tenants, 0),
      [{ op: "remove", path: "/spec/platform/tenants/0" }],
    ],
    [
      "a new entry",
      (draft) => Form.addEntry(draft, tenants, { name: "d" }),
      [{ op: "add", path: "/spec/platform/tenants/3", value: { name: "d" } }],
    ],
    [
      "a new object around a field",
      (draft) => Form.setField(draft, ["spec", "platform", "gateway", "httpNodePort"], "30080"),
      [{ op: "add", path: "/spec/platform/gateway", value: { httpNodePort: 30080 } }],
    ],
  ])("has of %s nothing but that, behind its guards", (_, change, operations) => {
    assert.deepStrictEqual<unknown>(edited(change), [...guards, ...operations])
  })

  it("fails when the generation has moved, and not when only the status has", () => {
    const operations = edited((draft) => Form.setField(draft, ["spec", "version"], "6.0.22"))
    const statusWritten = { ...base, metadata: { ...(base.metadata as JsonObject), resourceVersion: "99" } }
    assert.deepStrictEqual(valueAt(jsonPatch(statusWritten, operations), ["spec", "version"]), "6.0.22")
    assert.throws(() => jsonPatch(stored(base, 4), operations))
  })

  it("escapes what a pointer has for its own", () => {
    const [a, b] = [{ "a/b~c": 1 }, { "a/b~c": 2 }]
    assert.deepStrictEqual(diff(a, b), [{ op: "replace", path: "/a~1b~0c", value: 2 }])
    assert.deepStrictEqual<unknown>(jsonPatch(a, diff(a, b)), b)
  })
})

describe("a form", () => {
  const draft = Form.newDraft("team-a", "6.0.22")
  const port = ["spec", "platform", "gateway", "httpNodePort"]

  it("keeps a number that is none as it was typed", () => {
    for (const text of ["80a", "1.5", "-", "1e3", "99999999999999999999", " "]) {
      const next = Form.setField(draft, port, text)
      assert.strictEqual(Form.fieldText(valueAt(next, port)), text)
      assert.isNotEmpty(validate(next).filter(({ path }) => path.join() === port.join()))
    }
    assert.strictEqual(valueAt(Form.setField(draft, port, "30080"), port), 30080)
  })

  it("changes nothing around the field that is typed in", () => {
    const many = Form.addEntry(
      Form.addEntry(draft, ["spec", "platform", "tenants"], { name: "a" }),
      ["spec", "platform", "tenants"],
      { name: "b" },
    )
    const next = Form.setField(many, ["spec", "platform", "tenants", 1, "name"], "c")
    const at = (of: Form.Draft, i: number) => valueAt(of, ["spec", "platform", "tenants", i])
    assert.strictEqual(at(next, 0), at(many, 0))
    assert.notStrictEqual(at(next, 1), at(many, 1))
  })

  it("renames a tenant in the memberships too, unless another one has that name", () => {
    const tenants = ["spec", "platform", "tenants"]
    const users = ["spec", "platform", "users"]
    let next = Form.addEntry(Form.addEntry(draft, tenants, { name: "a" }), tenants, { name: "b" })
    next = Form.addEntry(next, users, { name: "dev", memberships: [{ tenant: "a", role: "viewer" }] })
    const tenantOf = (of: Form.Draft) => valueAt(of, [...users, 0, "memberships", 0, "tenant"])
    assert.strictEqual(tenantOf(Form.renameTenant(next, 0, "aa")), "aa")
    assert.strictEqual(tenantOf(Form.renameTenant(next, 1, "bb")), "a")
    const twice = Form.renameTenant(next, 1, "a")
    assert.strictEqual(tenantOf(Form.renameTenant(twice, 1, "c")), "a")
  })

  it("leaves nothing behind of a list that is empty again, and keeps one that must be there", () => {
    const tenants = ["spec", "platform", "tenants"]
    assert.deepStrictEqual(Form.removeEntry(Form.addEntry(draft, tenants, {}), tenants, 0), draft)
    const memberships = ["spec", "platform", "users", 0, "memberships"]
    const user = Form.addEntry(draft, ["spec", "platform", "users"], {
      name: "dev",
      memberships: [{ tenant: "a", role: "viewer" }],
    })
    assert.deepStrictEqual(valueAt(Form.removeEntry(user, memberships, 0), memberships), [])
    assert.strictEqual(schemaAt(memberships)?.type, "array")
  })
})

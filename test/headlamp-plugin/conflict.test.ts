// What is said when somebody else has changed an instance under an open form.
import { assert, describe, it } from "@effect/vitest"
import { conflictOf } from "../../headlamp-plugin/src/logic/conflict.ts"
import { merge } from "../../headlamp-plugin/src/logic/merge.ts"
import { type JsonObject, schemaAt } from "../../headlamp-plugin/src/logic/schema.ts"
import { instances } from "./arbitrary.ts"

const author = (manager: string, time: string, fields: JsonObject, subresource?: string): JsonObject => ({
  manager,
  operation: "Update",
  apiVersion: "platform.di-framework.dev/v1alpha1",
  time,
  fieldsType: "FieldsV1",
  fieldsV1: fields,
  ...(subresource === undefined ? {} : { subresource }),
})

const made = author("kubectl-create", "2026-11-03T10:00:00Z", {
  "f:spec": { "f:version": {}, "f:platform": {} },
})
const object = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  metadata: {
    name: "one",
    namespace: "team-a",
    uid: "u-1",
    generation: 3,
    managedFields: [made],
    ...metadata,
  },
  spec: { version: "6.0.21", target: { type: "vcluster" }, ...spec },
})
const base = object({ platform: { tenants: [{ name: "a" }, { name: "b" }] } })

describe("a conflict", () => {
  it("names each field that was changed, from what to what, and who did it", () => {
    const ann = author("kubectl-edit", "2026-11-03T11:00:00Z", { "f:spec": { "f:version": {} } })
    const bob = author("headlamp", "2026-11-03T12:00:00Z", {
      "f:spec": { "f:platform": { "f:tenants": { 'k:{"name":"b"}': { "f:suspended": {} } } } },
    })
    const operator = author("platform-operator", "2026-11-03T12:30:00Z", { "f:status": {} }, "status")
    const current = object(
      { version: "6.0.22", platform: { tenants: [{ name: "a" }, { name: "b", suspended: true }] } },
      { generation: 5, managedFields: [made, ann, bob, operator] },
    )
    assert.deepStrictEqual(conflictOf(base, current), {
      kind: "changed",
      changes: [
        {
          field: "spec.version",
          before: "6.0.21",
          after: "6.0.22",
          by: [{ manager: "kubectl-edit", time: "2026-11-03T11:00:00Z" }],
        },
        {
          field: "spec.platform.tenants[1].suspended",
          before: undefined,
          after: true,
          by: [{ manager: "headlamp", time: "2026-11-03T12:00:00Z" }],
        },
      ],
      authors: [
        { manager: "kubectl-edit", time: "2026-11-03T11:00:00Z" },
        { manager: "headlamp", time: "2026-11-03T12:00:00Z" },
      ],
    })
  })

  it("says of a field that is gone who has written since", () => {
    const ann = author("kubectl-edit", "2026-11-03T11:00:00Z", { "f:spec": {} })
    const conflict = conflictOf(base, object({}, { generation: 4, managedFields: [made, ann] }))
    assert.strictEqual(conflict.kind, "changed")
    if (conflict.kind === "changed")
      assert.deepStrictEqual(
        conflict.changes.map(({ field, after, by }) => [field, after, by.map(({ manager }) => manager)]),
        [["spec.platform", undefined, ["kubectl-edit"]]],
      )
  })

  it("is told without names where the server keeps none", () => {
    const conflict = conflictOf(base, object({ version: "6.0.22" }, { generation: 4, managedFields: null }))
    assert.strictEqual(conflict.kind, "changed")
    if (conflict.kind === "changed") assert.deepStrictEqual(conflict.authors, [])
  })

  it("is none when the status alone was written", () => {
    assert.deepStrictEqual(conflictOf(base, { ...base, status: { phase: "Ready" } }), { kind: "none" })
  })

  it("tells an instance that is gone, that is another one, or that is being deleted", () => {
    assert.strictEqual(conflictOf(base, undefined).kind, "gone")
    assert.strictEqual(conflictOf(base, object({}, { uid: "u-2" })).kind, "replaced")
    assert.strictEqual(
      conflictOf(base, object({}, { deletionTimestamp: "x", generation: 4 })).kind,
      "deleting",
    )
  })
})

describe("an edit taken over to what is stored now", () => {
  const specOf = (spec: JsonObject): JsonObject => object(spec).spec as JsonObject
  const schema = schemaAt(["spec"])
  const merged = (a: JsonObject, b: JsonObject, c: JsonObject) => merge(a, b, c, schema ?? { type: "object" })

  it("keeps both persons' changes, entry by entry", () => {
    const before = specOf({ platform: { tenants: [{ name: "a" }, { name: "b" }, { name: "c" }] } })
    const mine = specOf({
      version: "6.0.22",
      platform: { tenants: [{ name: "a" }, { name: "c", suspended: true }] },
    })
    const theirs = specOf({
      deletionPolicy: "Retain",
      platform: { tenants: [{ name: "z" }, { name: "a", suspended: true }, { name: "b" }, { name: "c" }] },
    })
    assert.deepStrictEqual<unknown>(
      merged(before, mine, theirs),
      specOf({
        version: "6.0.22",
        deletionPolicy: "Retain",
        platform: {
          tenants: [{ name: "z" }, { name: "a", suspended: true }, { name: "c", suspended: true }],
        },
      }),
    )
  })

  it.prop(
    "is the edit where nobody else has changed anything, and theirs where nothing was edited",
    { a: instances, b: instances },
    ({ a, b }) => {
      const [before, after] = [a.spec as JsonObject, b.spec as JsonObject]
      assert.deepStrictEqual(merged(before, after, before), after)
      assert.deepStrictEqual(merged(before, before, after), after)
      assert.deepStrictEqual(merged(before, after, after), after)
    },
    { arbitrary: { runs: 200, seed: 11 } },
  )
})

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { crd } from "../../src/schema/Crd.ts"
import { missingFields, narrowings } from "../../src/schema/CrdCompatibility.ts"
import { decodeStructuralSchema, type StructuralSchema } from "../../src/schema/StructuralSchema.ts"

const ours = crd.spec.versions[0].schema.openAPIV3Schema
const released = join(import.meta.dirname, "../../crd/released")

/** The CRD with its text changed. */
const changed = (change: (json: string) => string): unknown => JSON.parse(change(JSON.stringify(crd)))

describe("missingFields", () => {
  it("finds none in the CRD of these sources, nor in a newer one", () => {
    assert.deepStrictEqual(missingFields(crd), [])
    assert.deepStrictEqual(
      missingFields(
        changed((json) => json.replace('"properties":{', '"properties":{"later":{"type":"string"},')),
      ),
      [],
    )
  })

  it("names a field an older CRD lacks, inside lists too, and says nothing of what it lies in", () => {
    const older = changed((json) =>
      json.replace('"tenantHostImage":', '"renamed1":').replace('"coreInstances":', '"renamed2":'),
    )
    assert.deepStrictEqual(missingFields(older), [
      "spec.platform.tenants[].runtime.coreInstances",
      "spec.platform.tenantHostImage",
    ])
  })

  it("names the version when the CRD does not serve it, or is no CRD", () => {
    assert.deepStrictEqual(
      missingFields(changed((json) => json.replace('"served":true', '"served":false'))),
      ["version v1alpha1"],
    )
    assert.deepStrictEqual(missingFields(undefined), ["version v1alpha1"])
  })
})

describe("narrowings", () => {
  const object = (properties: Readonly<Record<string, StructuralSchema>>): StructuralSchema => ({
    type: "object",
    properties,
  })
  const inside = (old: StructuralSchema, next: StructuralSchema) =>
    narrowings(
      object({ list: { type: "array", items: old } }),
      object({ list: { type: "array", items: next } }),
    )

  it.each<readonly [StructuralSchema, StructuralSchema, string]>([
    [{ type: "string" }, { type: "integer" }, "type string became integer"],
    [{ type: "string" }, { type: "string", maxLength: 5 }, "maxLength became 5"],
    [{ type: "integer", minimum: 0 }, { type: "integer", minimum: 1 }, "minimum became 1"],
    [{ type: "string", pattern: "^a" }, { type: "string", pattern: "^b" }, "pattern became ^b"],
    [{ type: "string" }, { type: "string", format: "date-time" }, "format became date-time"],
    [{ type: "string", enum: ["a", "b"] }, { type: "string", enum: ["b", "c"] }, "no longer allows a"],
    [{ type: "string" }, { type: "string", enum: ["a"] }, "no longer allows anything else"],
    [{ type: "object" }, { type: "object", required: ["a"] }, "a became required"],
    [{ type: "string", default: "a" }, { type: "string", default: "b" }, "default became b"],
    [
      { type: "object" },
      { type: "object", "x-kubernetes-validations": [{ rule: "self.a", message: "" }] },
      "new rule self.a",
    ],
  ])("sees %j become %j", (old, next, what) => {
    assert.deepStrictEqual(inside(old, next), [`list[]: ${what}`])
  })

  it.each<readonly [StructuralSchema, StructuralSchema]>([
    [{ type: "string", maxLength: 5 }, { type: "string" }],
    [
      { type: "integer", maximum: 5 },
      { type: "integer", maximum: 6 },
    ],
    [{ type: "string", pattern: "^a" }, { type: "string" }],
    [
      { type: "string", enum: ["a"] },
      { type: "string", enum: ["a", "b"] },
    ],
    [{ type: "object", required: ["a"] }, { type: "object" }],
    [{ type: "object" }, { type: "object", properties: { a: { type: "string" } } }],
    [
      { type: "string", description: "old" },
      { type: "string", description: "new" },
    ],
  ])("lets %j become %j", (old, next) => assert.deepStrictEqual(inside(old, next), []))

  it("sees a field removed", () =>
    assert.deepStrictEqual(narrowings(object({ a: { type: "string" } }), object({})), ["a: removed"]))
})

describe("an object an earlier release accepted", () => {
  it.each(readdirSync(released))("is accepted still: %s", (file) => {
    const old: typeof crd = parse(readFileSync(join(released, file), "utf8"))
    const schema = decodeStructuralSchema(old.spec.versions[0].schema.openAPIV3Schema)
    assert.deepStrictEqual(narrowings(schema, ours), [])
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { crd } from "../../src/schema/Crd.ts"
import { celRule, Int32, mapList } from "../../src/schema/Fields.ts"
import { type StructuralSchema, structuralSchema } from "../../src/schema/StructuralSchema.ts"

const root: StructuralSchema = crd.spec.versions[0].schema.openAPIV3Schema

/** Every node with its path. */
const nodes = (node: StructuralSchema, path = ""): ReadonlyArray<readonly [string, StructuralSchema]> => [
  [path, node],
  ...Object.entries(node.properties ?? {}).flatMap(([key, child]) => nodes(child, `${path}.${key}`)),
  ...(node.items === undefined ? [] : nodes(node.items, `${path}[]`)),
]

describe("the CRD", () => {
  it("describes every field but metadata, which is the server's", () => {
    const bare = nodes(root)
      .filter(
        ([path, node]) => path !== ".metadata" && !path.endsWith("[]") && node.description === undefined,
      )
      .map(([path]) => path)
    assert.deepStrictEqual(bare, [])
  })

  it("bounds every list its rules walk, so that their cost stays within the server's budget", () => {
    const unbounded = nodes(root)
      .filter(
        ([path, node]) => node.type === "array" && node.maxItems === undefined && path.startsWith(".spec"),
      )
      .map(([path]) => path)
    assert.deepStrictEqual(unbounded, [])
  })

  it("requires the key of every map list, or the server would refuse the CRD", () => {
    for (const [path, node] of nodes(root)) {
      if (node.type !== "array") continue
      const keys = node["x-kubernetes-list-map-keys"] ?? []
      assert.isNotEmpty(keys, path)
      for (const key of keys) assert.include(node.items?.required ?? [], key, path)
    }
  })

  it("carries the defaults of the reference and no others", () => {
    const defaults = nodes(root)
      .filter(([, node]) => node.default !== undefined)
      .map(([path, node]) => [path, node.default])
    assert.deepStrictEqual(defaults, [
      [".spec.deletionPolicy", "Delete"],
      [".spec.platform.networkPolicyEngine", "existing"],
      [".spec.platform.gateway.httpNodePort", 0],
    ])
  })
})

describe("structuralSchema", () => {
  it("lifts rules and list types to the node they are about", () => {
    const item = Schema.Struct({ name: Schema.String }).check(
      celRule({ rule: "self.name != ''", message: "no name" }),
    )
    assert.deepStrictEqual(structuralSchema(mapList(item, "name", 3).annotate({ description: "Items." })), {
      type: "array",
      description: "Items.",
      maxItems: 3,
      items: {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string" } },
        "x-kubernetes-validations": [{ rule: "self.name != ''", message: "no name" }],
      },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    })
  })

  it("emits integers with their format", () =>
    assert.deepStrictEqual(structuralSchema(Int32), { type: "integer", format: "int32" }))

  it.each([
    ["a union", Schema.Union([Schema.String, Schema.Finite])],
    ["an optional value that may be undefined", Schema.Struct({ a: Schema.optional(Schema.String) })],
    ["a number that is no integer", Schema.Finite],
    ["a map", Schema.Record(Schema.String, Schema.String)],
    ["anything", Schema.Unknown],
  ] as const)("refuses %s, which it cannot say", (_, schema) => {
    assert.throws(() => structuralSchema(schema))
  })
})

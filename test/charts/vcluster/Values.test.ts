import { assert, describe, it } from "@effect/vitest"
import { vclusterValues } from "../../../src/actors/instance/target/VclusterValues.ts"
import { at, isTree, type Tree, values, valuesSchema } from "./Chart.ts"

/** The paths of everything in a tree that has no more keys below it. */
const leaves = (tree: Tree, above = ""): ReadonlyArray<string> =>
  Object.entries(tree).flatMap(([key, value]) =>
    isTree(value) && Object.keys(value).length > 0 ? leaves(value, `${above}/${key}`) : [`${above}/${key}`],
  )

describe("the values of the chart", () => {
  /** A node of the schema that is closed has exactly the keys of the values there; one that is open has none. */
  const check = (value: Tree, schema: unknown, path: string): void => {
    assert.isTrue(isTree(schema), `${path} is missing in values.schema.json`)
    if (!isTree(schema) || !isTree(schema.properties)) return
    assert.isFalse(schema.additionalProperties, `${path} is open`)
    assert.sameMembers(Object.keys(schema.properties), Object.keys(value), path)
    for (const [key, inner] of Object.entries(value)) {
      if (isTree(inner)) check(inner, schema.properties[key], `${path}/${key}`)
    }
  }

  it("are exactly those that its closed schema knows", () => {
    check(values, valuesSchema, "")
  })

  it("hold every path that an instance's values set, save for the image's parts", () => {
    const set = vclusterValues({
      hostNamespace: "h",
      image: "r.io/a:1",
      kubernetesImage: "r.io/b:1",
      imageRegistry: "r.io",
    })
    for (const path of leaves(set)) assert.isDefined(at(values, path), path)
  })

  it("run the open-source build without telemetry, on a claim that is kept, with policies on the host", () => {
    assert.strictEqual(at(values, "/controlPlane/statefulSet/image/repository"), "loft-sh/vcluster-oss")
    assert.isFalse(at(values, "/telemetry/enabled"))
    assert.strictEqual(
      at(values, "/controlPlane/statefulSet/persistence/volumeClaim/retentionPolicy"),
      "Retain",
    )
    assert.isTrue(at(values, "/sync/toHost/networkPolicies/enabled"))
  })
})

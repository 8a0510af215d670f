import { assert, describe, it } from "@effect/vitest"
import { CelError, compileCel } from "./Cel.ts"

const value = (source: string, variables: Readonly<Record<string, unknown>> = {}) =>
  compileCel(source)(variables)

describe("CEL", () => {
  for (const [source, expected] of [
    ["1 + 2 == 3 && !(2 < 1)", true],
    ["'a' in ['a', 'b'] ? size('xyz') : 0", 3],
    ["self.a.b == 'c'", true],
    ["has(self.none) || has(self.a.b)", true],
    ["self.list.all(x, x > 0) && self.list.exists(x, x == 2)", true],
    ["self.list.filter(x, x > 1).size()", 1],
    ["self.none.x == 1 || true", true],
    ["self.a['b'].startsWith('c')", true],
  ] as const) {
    it(`evaluates ${source}`, () => {
      assert.deepStrictEqual(value(source, { self: { a: { b: "c" }, list: [1, 2] } }), expected)
    })
  }

  it("fails at what is not there", () => {
    assert.throws(() => value("self.none.x == 1", { self: {} }), CelError, "no such key: none")
    assert.throws(() => value("has(self.none.x)", { self: {} }), CelError, "no such key: none")
  })

  it("refuses what it does not know, loudly", () => {
    assert.throws(() => compileCel("quantity('1Gi')"), CelError, "unknown CEL function")
    assert.throws(() => compileCel("self.format([1])"), CelError, "unknown CEL method")
    assert.throws(() => compileCel("self ~ 1"), CelError, "cannot read CEL")
  })
})

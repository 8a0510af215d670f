import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { codePoints, truncateAtWord, utf8Bytes } from "../../src/schema/Text.ts"

describe("truncateAtWord", () => {
  it("leaves what fits alone", () => {
    assert.strictEqual(truncateAtWord("one two", 7), "one two")
    assert.strictEqual(truncateAtWord("", 7), "")
  })

  it("cuts after a whole word and says so", () => {
    assert.strictEqual(truncateAtWord("one two three", 9), "one two…")
    assert.strictEqual(truncateAtWord("one two three", 8), "one two…")
    assert.strictEqual(truncateAtWord("one two three", 7), "one…")
  })

  it("cuts inside a word that alone is too long, never inside a character", () => {
    assert.strictEqual(truncateAtWord("abcdefgh", 4), "abc…")
    assert.strictEqual(truncateAtWord("😀😀😀😀", 3), "😀😀…")
  })

  it("counts bytes where asked to", () => {
    assert.strictEqual(truncateAtWord("ää öö üü", 9, utf8Bytes), "ää…")
  })

  it.prop(
    "never exceeds its limit, and keeps a beginning of the text",
    { text: Schema.String, limit: Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 50 })) },
    ({ text, limit }) => {
      for (const measure of [codePoints, utf8Bytes]) {
        const cut = truncateAtWord(text, limit, measure)
        assert.isAtMost(measure(cut), limit)
        if (measure(text) <= limit) assert.strictEqual(cut, text)
        else assert.isTrue(text.startsWith(cut.slice(0, -1)))
      }
    },
    { arbitrary: { runs: 500, seed: 3 } },
  )
})

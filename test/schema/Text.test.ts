import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { codePoints, keepEnds, tailAtWord, truncateAtWord, utf8Bytes } from "../../src/schema/Text.ts"

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

describe("tailAtWord", () => {
  it("leaves what fits alone, and keeps the end of what does not", () => {
    assert.strictEqual(tailAtWord("one two", 7), "one two")
    assert.strictEqual(tailAtWord("one two three", 12), "…three")
    assert.strictEqual(tailAtWord("😀😀😀😀", 8), "…😀")
  })
})

describe("keepEnds", () => {
  it("leaves what fits alone", () => assert.strictEqual(keepEnds("One. Two.", 9), "One. Two."))

  it("keeps the first sentence and the end, with one mark between them", () => {
    assert.strictEqual(keepEnds("One is so. Two three four five six.", 24), "One is so. …five six.")
    assert.strictEqual(keepEnds("One is so. …three four five six.", 24), "One is so. …five six.")
  })

  it("cuts a single sentence, and a first one that leaves no room, at its end", () => {
    assert.strictEqual(keepEnds("one two three four", 13), "one two…")
    assert.strictEqual(keepEnds("one two three. four", 17), "one two three.…")
  })

  it.prop(
    "never exceeds its limit, and begins as the text does",
    { text: Schema.String, limit: Schema.Int.check(Schema.isBetween({ minimum: 12, maximum: 60 })) },
    ({ text, limit }) => {
      const sentences = `${text}. ${text.repeat(5)}. ${text}`
      const kept = keepEnds(sentences, limit)
      assert.isAtMost(utf8Bytes(kept), limit)
      assert.isTrue(sentences.startsWith(kept.slice(0, kept.indexOf("…"))) || !kept.includes("…"))
    },
    { arbitrary: { runs: 500, seed: 3 } },
  )
})

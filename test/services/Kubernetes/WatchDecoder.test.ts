import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Result, Schema } from "effect"
import { decodeLine, makeLineSplitter } from "../../../src/services/Kubernetes/WatchDecoder.ts"
import { bookmark, configMap, kind, line, status } from "./Objects.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const texts = (lines: ReadonlyArray<Uint8Array>) => lines.map((it) => new TextDecoder().decode(it))

/** Every line that comes out when the text comes in pieces cut at these places. */
const splitAt = (text: string, cuts: ReadonlyArray<number>) => {
  const all = bytes(text)
  const split = makeLineSplitter()
  const places = [0, ...cuts.map((cut) => cut % (all.length + 1)).sort((a, b) => a - b), all.length]
  return places
    .slice(1)
    .flatMap((end, index) => texts(Result.getOrThrow(split(all.subarray(places[index], end)))))
}

describe("lines", () => {
  it.effect.prop(
    "are the same wherever the bytes are cut, inside characters too",
    {
      lines: Arbitrary.schema(Schema.Array(Schema.Literals(["a", "grüße", "雪だるま", "🧊🧊", "{}"]))),
      cuts: Arbitrary.schema(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 500 })))),
    },
    ({ lines, cuts }) =>
      Effect.sync(() => {
        assert.deepStrictEqual(splitAt(lines.map((it) => `${it}\n`).join(""), cuts), [...lines])
      }),
    { arbitrary: { runs: 200 } },
  )

  it("are not given before they end, and empty ones not at all", () => {
    assert.deepStrictEqual(splitAt("\n\na\n\nb", []), ["a"])
  })

  it("of more than 4 MiB are refused before they end", () => {
    const split = makeLineSplitter()
    const mebibyte = new Uint8Array(1024 * 1024).fill(0x61)
    for (let times = 0; times < 4; times++) assert.isTrue(Result.isSuccess(split(mebibyte)))
    const refused = split(bytes("a"))
    assert.strictEqual(Result.isFailure(refused) && refused.failure.size, 4 * 1024 * 1024 + 1)
  })
})

const decoded = (text: string) => decodeLine(kind, bytes(text.trimEnd()))

describe("a line of a watch", () => {
  it("is a change, a deletion, a bookmark or an error", () => {
    const object = configMap("a", "eta", { text: "hello" })
    assert.deepStrictEqual(decoded(line("ADDED", object)), Result.succeed({ _tag: "Changed", object }))
    assert.deepStrictEqual(decoded(line("MODIFIED", object)), Result.succeed({ _tag: "Changed", object }))
    assert.deepStrictEqual(decoded(line("DELETED", object)), Result.succeed({ _tag: "Deleted", object }))
    assert.deepStrictEqual(decoded(bookmark("eta")), Result.succeed({ _tag: "Bookmark", version: "eta" }))
    const error = Result.getOrThrow(decoded(status(410, "Expired")))
    assert.strictEqual(error._tag === "Error" && error.status.code, 410)
  })

  it("keeps the fields of the object and drops managedFields", () => {
    const { metadata, ...rest } = configMap("a", "eta", { text: "hello" })
    const sent = { ...rest, metadata: { ...metadata, managedFields: [{ manager: "x" }], labels: { a: "b" } } }
    assert.deepStrictEqual(
      decoded(line("ADDED", sent)),
      Result.succeed({ _tag: "Changed", object: { ...rest, metadata: { ...metadata, labels: { a: "b" } } } }),
    )
  })

  it("has the kind that was asked for, also when only its metadata came", () => {
    const partial = { ...configMap("a", "eta"), kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" }
    assert.deepStrictEqual(
      decoded(line("ADDED", partial)),
      Result.succeed({ _tag: "Changed", object: configMap("a", "eta") }),
    )
  })

  for (const [name, text] of [
    ["is no JSON", "{nonsense"],
    ["has no object", '{"type":"ADDED"}'],
    ["has no metadata", '{"type":"ADDED","object":{"kind":"ConfigMap"}}'],
    ["has no version", line("ADDED", { metadata: { name: "a", uid: "b" } })],
    ["has an unknown type", line("RENAMED", configMap("a", "1"))],
  ] as const) {
    it(`is refused when it ${name}`, () => {
      const refused = decoded(text)
      assert.strictEqual(
        Result.isFailure(refused) && refused.failure.sha256,
        createHash("sha256").update(text.trimEnd()).digest("hex"),
      )
    })
  }

  it("is refused when it is no UTF-8", () => {
    const [before, after] = line("ADDED", configMap("a?", "1")).trimEnd().split("?")
    const broken = Buffer.concat([bytes(before ?? ""), Buffer.from([0xff]), bytes(after ?? "")])
    assert.isTrue(Result.isFailure(decodeLine(kind, broken)))
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, type Schema } from "effect"
import { decodeManifest, decodeManifestStatus } from "../../src/schema/Manifest.ts"
import { checkUpdate } from "../../src/schema/PlatformSpec.ts"
import { formatSchemaError } from "../../src/schema/SchemaErrors.ts"
import { type JsonObject, manifestRows, statusRows, updateRows, type Verdict } from "./crd-table/index.ts"

/** What the decoder says: nothing when it agrees. */
const words = <A>(decoded: Effect.Effect<A, Schema.SchemaError>) =>
  decoded.pipe(
    Effect.result,
    Effect.map(Result.match({ onSuccess: () => undefined, onFailure: formatSchemaError })),
  )

const updateRefusal = Effect.fnUntraced(function* (before: JsonObject, after: JsonObject) {
  const old = yield* decodeManifest(before)
  const next = yield* Effect.result(decodeManifest(after))
  if (Result.isFailure(next)) return formatSchemaError(next.failure)
  const messages = checkUpdate(old, next.success)
  return messages.length === 0 ? undefined : messages.join("; ")
})

const judge = (row: Verdict, said: string | undefined) => {
  if (row.valid) assert.isUndefined(said)
  else assert.isDefined(said)
  if (row.message !== undefined) assert.include(said, row.message)
}

describe("the decoder judges as the table says", () => {
  it.effect.each(manifestRows)("create: $title", (row) =>
    Effect.map(words(decodeManifest(row.manifest)), (said) => judge(row, said)),
  )
  it.effect.each(updateRows)("update: $title", (row) =>
    Effect.map(updateRefusal(row.before, row.after), (said) => judge(row, said)),
  )
  it.effect.each(statusRows)("$title", (row) =>
    Effect.map(words(decodeManifestStatus(row.status)), (said) => judge(row, said)),
  )
})

describe("the table itself", () => {
  it("names every row once", () => {
    const titles = [
      ...manifestRows.map(({ title }) => `create ${title}`),
      ...updateRows.map(({ title }) => `update ${title}`),
      ...statusRows.map(({ title }) => title),
    ]
    assert.deepStrictEqual(
      titles.filter((title, index) => titles.indexOf(title) !== index),
      [],
    )
  })
})

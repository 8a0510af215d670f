// Everything the plugin says can be translated: it is a sentence of its own in locales/en.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { rootSchema, type Schema } from "../../headlamp-plugin/src/logic/schema.ts"
import { conditionsOf } from "../../headlamp-plugin/src/logic/status.ts"
import { validate } from "../../headlamp-plugin/src/logic/validate.ts"
import { reasons } from "../../src/schema/Conditions.ts"
import { pluginSentences } from "../../tools/docs/plugin.ts"
import { manifestRows } from "../schema/crd-table/index.ts"

const root = join(import.meta.dirname, "../..")
const sentences: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(root, "headlamp-plugin/locales/en/translation.json"), "utf8"),
)

describe("the English sentences", () => {
  it("are those of the sources (npm run generate)", () => {
    assert.strictEqual(`${JSON.stringify(sentences, null, 2)}\n`, pluginSentences(root))
  })

  it("count nothing that may be one, of which they would have to say another word", () => {
    const counted = Object.keys(sentences).flatMap(
      (text) => text.match(/\{\{(?!name)\w+\}\} [a-z]+s\b/g) ?? [],
    )
    // Bounds above one, and what has happened more than once.
    const always = ["{{count}} times", "{{max}} characters", "{{max}} entries", "{{min}} characters"]
    assert.deepStrictEqual([...new Set(counted)].toSorted(), always)
  })

  it("have every message of the validation", () => {
    const said = new Set(
      manifestRows.flatMap(({ manifest }) => validate(manifest).map(({ words }) => words.text)),
    )
    assert.isAtLeast(said.size, 15)
    assert.deepStrictEqual(
      [...said].filter((text) => sentences[text] === undefined),
      [],
    )
  })

  it("have what is said of each reason and of each field of the spec", () => {
    const meanings = Object.entries(reasons).flatMap(([type, of]) =>
      (["True", "False"] as const).flatMap((status) =>
        of[status].flatMap(
          (reason) =>
            conditionsOf({ status: { conditions: [{ type, status, reason }] } })[0]?.meaning?.replaceAll(
              "`",
              "",
            ) ?? "",
        ),
      ),
    )
    const below = (schema: Schema | undefined): ReadonlyArray<string> => [
      schema?.description?.replaceAll("`", "") ?? "",
      ...Object.values(schema?.properties ?? {}).flatMap(below),
      ...(schema?.items === undefined ? [] : below(schema.items)),
    ]
    const said = [...meanings, ...below(rootSchema.properties?.spec)].filter((text) => text !== "")
    assert.isAtLeast(said.length, 60)
    assert.deepStrictEqual(
      said.filter((text) => sentences[text] === undefined),
      [],
    )
  })

  it("are not written into a page past the translation", () => {
    const folder = join(root, "headlamp-plugin/src/components")
    const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
      path.endsWith(".tsx"),
    )
    const bare = pages.flatMap((path) =>
      [...readFileSync(join(folder, path), "utf8").matchAll(/>\s*([A-Z][a-z]+ [a-z][^<>{}=]*)</g)].map(
        ([, text]) => `${path}: ${text}`,
      ),
    )
    assert.isAtLeast(pages.length, 15)
    assert.deepStrictEqual(bare, [])
  })
})

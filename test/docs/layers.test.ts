// Who may know whom, as docs/architecture.md draws it: what is below knows nothing of what is above.
import { globSync, readFileSync } from "node:fs"
import path from "node:path"
import { assert, describe, it } from "@effect/vitest"

const below: Readonly<Record<string, ReadonlyArray<string>>> = {
  schema: [],
  services: ["schema"],
  actors: ["services", "schema"],
  cli: ["services", "schema"],
}

const folderOf = (file: string): string => path.relative("src", file).split(path.sep)[0] ?? ""

/** The folders of `src` that a file imports from, its own not. */
const importedBy = (file: string): ReadonlyArray<string> =>
  [...readFileSync(file, "utf8").matchAll(/(?:from|import\() ?"(\.[^"]+)"/g)]
    .map(([, name = ""]) => path.join(path.dirname(file), name))
    .filter((each) => each.startsWith(`src${path.sep}`))
    .map(folderOf)
    .filter((folder) => folder !== folderOf(file))

describe("src", () => {
  for (const [folder, known] of Object.entries(below))
    it(`${folder} knows ${known.length === 0 ? "nothing else" : known.join(" and ")}`, () => {
      const files = globSync(`src/${folder}/**/*.ts`)
      assert.isNotEmpty(files)
      for (const file of files)
        for (const each of importedBy(file)) assert.include(known, each, `${file} imports from src/${each}`)
    })
})

// The recordings can be made again: every command of them does what it did, with the real kubectl.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { commandsIn, parseCast } from "../../tools/docs/Cast.ts"
import { recordingPath, recordings } from "../../tools/docs/Recordings.ts"

const root = join(import.meta.dirname, "../..")

it("the recordings of the pages can be made again", () => {
  const folder = mkdtempSync(join(tmpdir(), "recordings-"))
  try {
    execFileSync(process.execPath, ["tools/docs/record.ts", folder], { cwd: root, stdio: "inherit" })
    expect(readdirSync(folder).toSorted()).toEqual(recordings.map(({ name }) => `${name}.cast`).toSorted())
    const read = (path: string) => commandsIn(parseCast(readFileSync(path, "utf8")))
    for (const { name } of recordings)
      expect(read(join(folder, `${name}.cast`))).toEqual(read(join(root, recordingPath(name, "cast"))))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { build } from "esbuild"
import { afterEach, describe, expect, it } from "vitest"

const script = join(import.meta.dirname, "../../tools/stack.ts")
const folders: Array<string> = []
const makeFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "stack-"))
  folders.push(folder)
  return folder
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

const source = `
const first = () => {
  throw new Error("a defect")
}
try {
  first()
} catch (error) {
  console.log(JSON.stringify({ message: error.stack }))
}
`

describe("a stack out of the operator's log", () => {
  it("has the places of the sources, and the rest of the log is as it was", async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, "defect.ts"), source)
    await build({
      entryPoints: [join(folder, "defect.ts")],
      outfile: join(folder, "main.mjs"),
      bundle: true,
      format: "esm",
      minify: true,
      sourcemap: "linked",
      logLevel: "silent",
    })
    const log = execFileSync(process.execPath, [join(folder, "main.mjs")], { encoding: "utf8" })
    expect(log).not.toContain("defect.ts")

    const told = execFileSync(process.execPath, [script, join(folder, "main.mjs.map")], {
      input: `${log}another line\n`,
      encoding: "utf8",
    })

    expect(told).toContain("a defect")
    expect(told).toContain("defect.ts:3:9")
    expect(told).toContain("defect.ts:6:3")
    expect(told).toContain("another line\n")
  })

  it("says how it is used", () => {
    expect(() => execFileSync(process.execPath, [script], { stdio: "pipe" })).toThrow("usage")
  })
})

// The plugin as pluginctl leaves it: built, packed, and unpacked again.
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const tool = join(import.meta.dirname, "../../../tools/plugin")

export interface Built {
  readonly archive: string
  readonly sha256: string
}

/** Builds what is not built yet; into a folder of its own where one is given. */
export const build = (...args: ReadonlyArray<string>): Built => {
  const said = execFileSync(tool, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(said)?.[1] ?? ""
  return { archive: value("archive"), sha256: value("sha256") }
}

/** A folder with the plugin in it, and the page to run it in. */
export const installed = (): string => {
  const { archive } = build("--host")
  const folder = join(mkdtempSync(join(tmpdir(), "plugins-")), "di-framework-platform")
  mkdirSync(folder)
  execFileSync("tar", ["-xzf", archive, "-C", folder, "--strip-components=1"])
  return folder
}

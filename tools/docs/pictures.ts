// The pictures of the recordings that the pages show.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseCast } from "./Cast.ts"
import { recordingPath, recordings } from "./Recordings.ts"
import { terminalSvg } from "./TerminalSvg.ts"

/** Path and content of each, as its recording has it now. `root` is the repository. */
export const pictures = (root: string): ReadonlyArray<readonly [path: string, content: string]> =>
  recordings.map(({ name }) => {
    const cast = readFileSync(join(root, recordingPath(name, "cast")), "utf8")
    return [recordingPath(name, "svg"), terminalSvg(parseCast(cast))]
  })

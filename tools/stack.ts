// stack.ts MAP < LOG: the places of a bundle in what the operator has logged, as places of the sources. The operator
// itself does not read its map: decoded, it would take 130 MiB for as long as the operator runs.
//
//   kubectl -n NAMESPACE cp POD:/opt/platform-operator/main.mjs.map main.mjs.map
//   kubectl -n NAMESPACE logs POD | node tools/stack.ts main.mjs.map
import { readFileSync } from "node:fs"
import { SourceMap } from "node:module"
import { basename } from "node:path"
import { text } from "node:stream/consumers"

const [file] = process.argv.slice(2)
if (file === undefined) {
  console.error("usage: stack.ts MAP < LOG")
  process.exit(2)
}
const map = new SourceMap(JSON.parse(readFileSync(file, "utf8")))
const bundle = basename(file, ".map").replaceAll(".", "\\.")

/** As it is where the map has nothing of it. */
const placeOf = (whole: string, line: string, column: string): string => {
  // A map counts both from 0.
  const entry = map.findEntry(Number(line) - 1, Number(column) - 1)
  return "originalSource" in entry
    ? `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
    : whole
}

const log = await text(process.stdin)
process.stdout.write(
  log.replaceAll(new RegExp(`(?:file://)?[^\\s("]*\\b${bundle}:(\\d+):(\\d+)`, "g"), placeOf),
)

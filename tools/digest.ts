// Writes the version and digest of charts/vcluster into release.json: `node tools/digest.ts`. With `--check` it
// writes nothing and fails when they are out of date.
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { parse } from "yaml"
import { ReleaseJson } from "../src/schema/Release.ts"
import { DiskLive } from "../src/services/Disk/DiskLive.ts"
import { chartDigest } from "../src/services/Helm/ChartDigest.ts"

const root = join(import.meta.dirname, "..")
const chart = join(root, "charts/vcluster")
const file = join(root, "release.json")

const Chart = Schema.Struct({ version: Schema.String })

const current = await readFile(file, "utf8")
const release = Schema.decodeSync(ReleaseJson)(current)
const { version } = Schema.decodeUnknownSync(Chart)(parse(await readFile(join(chart, "Chart.yaml"), "utf8")))
const digest = await Effect.runPromise(Effect.provide(chartDigest(chart), DiskLive.layer))
const next = { ...release, vcluster: { chartVersion: version, chartDigest: digest } }
const text = `${JSON.stringify(next, undefined, 2)}\n`

if (text === current) {
  console.log(`release.json: charts/vcluster ${version} ${digest}`)
} else if (process.argv.includes("--check")) {
  console.error("out of date: release.json (run: node tools/digest.ts)")
  process.exitCode = 1
} else {
  await writeFile(file, text)
  console.log(`wrote release.json: charts/vcluster ${version} ${digest}`)
}

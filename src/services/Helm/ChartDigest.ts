// What a chart is, in one line: the operator installs exactly the chart its release names, or does not start.
import { createHash } from "node:crypto"
import path from "node:path"
import { Data, Effect, Option } from "effect"
import { Disk, type DiskError } from "../Disk/Disk.ts"
import { HelmError } from "./Helm.ts"

const sha256 = (content: Uint8Array | string) => createHash("sha256").update(content).digest("hex")

const chartError = (message: string) =>
  new HelmError({ operation: "chart", message, exitCode: Option.none() })

class NotAFile extends Data.TaggedError("NotAFile")<{ readonly message: string }> {}

/** Paths of all files below a folder, with `/`. Anything that is neither file nor folder has no digest. */
const filesBelow = (
  root: string,
  below = "",
): Effect.Effect<ReadonlyArray<string>, DiskError | NotAFile, Disk> =>
  Effect.gen(function* () {
    const disk = yield* Disk
    const files: Array<string> = []
    for (const entry of yield* disk.readdir(path.join(root, below))) {
      const file = path.posix.join(below, entry.name)
      if (entry.kind === "directory") files.push(...(yield* filesBelow(root, file)))
      else if (entry.kind === "file") files.push(file)
      else return yield* new NotAFile({ message: `${file} is neither a file nor a folder` })
    }
    return files
  })

/**
 * `sha256:<hex>` of a chart. Of an archive: over its bytes. Of a folder: over one line `<sha256 of the
 * file>  <path>` a file, in byte order of the paths, which is what this prints in the folder:
 *
 *     find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum | sha256sum
 */
export const chartDigest = Effect.fn("Helm.chartDigest")(
  function* (chart: string) {
    const disk = yield* Disk
    // An archive may be reached through a link; a folder may not.
    if ((yield* disk.lstat(chart)).kind !== "directory") {
      return `sha256:${sha256(yield* disk.readFile(yield* disk.realpath(chart)))}`
    }
    const files = yield* filesBelow(chart)
    const lines: Array<string> = []
    for (const file of files.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
      lines.push(`${sha256(yield* disk.readFile(path.join(chart, file)))}  ${file}\n`)
    }
    return `sha256:${sha256(lines.join(""))}`
  },
  (effect, chart) =>
    Effect.mapError(effect, (error) => chartError(`chart ${chart} cannot be read: ${error.message}`)),
)

/** Fails, naming both, when a chart's digest is another one than expected. */
export const checkChartDigest = Effect.fn("Helm.checkChartDigest")(function* (
  chart: string,
  expected: string,
) {
  const found = yield* chartDigest(chart)
  if (found !== expected) {
    return yield* chartError(
      `chart ${chart} has the digest ${found}, but ${expected} is expected: ` +
        "use the chart that belongs to this release, or name the digest of the chart you mean",
    )
  }
})

// What a chart is, in one line: the operator installs exactly the chart its release names, or does not start.
import { createHash } from "node:crypto"
import { lstat, readdir, readFile } from "node:fs/promises"
import path from "node:path"
import { Effect, Option } from "effect"
import { HelmError } from "./Helm.ts"

const sha256 = (content: Uint8Array | string) => createHash("sha256").update(content).digest("hex")

const chartError = (message: string) =>
  new HelmError({ operation: "chart", message, exitCode: Option.none() })

/** Paths of all files below a folder, with `/`. Anything that is neither file nor folder has no digest. */
const filesBelow = async (root: string, below = ""): Promise<ReadonlyArray<string>> => {
  const files: Array<string> = []
  for (const entry of await readdir(path.join(root, below), { withFileTypes: true })) {
    const file = path.posix.join(below, entry.name)
    if (entry.isDirectory()) files.push(...(await filesBelow(root, file)))
    else if (entry.isFile()) files.push(file)
    else throw new Error(`${file} is neither a file nor a folder`)
  }
  return files
}

/**
 * `sha256:<hex>` of a chart. Of an archive: over its bytes. Of a folder: over one line `<sha256 of the
 * file>  <path>` a file, in byte order of the paths, which is what this prints in the folder:
 *
 *     find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum | sha256sum
 */
export const chartDigest = Effect.fn("Helm.chartDigest")((chart: string) =>
  Effect.tryPromise({
    try: async () => {
      if (!(await lstat(chart)).isDirectory()) return `sha256:${sha256(await readFile(chart))}`
      const files = await filesBelow(chart)
      const lines: Array<string> = []
      for (const file of files.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
        lines.push(`${sha256(await readFile(path.join(chart, file)))}  ${file}\n`)
      }
      return `sha256:${sha256(lines.join(""))}`
    },
    catch: (cause) =>
      chartError(`chart ${chart} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`),
  }),
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

// What it takes to know that a package is what was fetched, beside the plainest way to read as much.
import { execFileSync } from "node:child_process"
import { lstatSync, readdirSync } from "node:fs"
import path from "node:path"
import { Effect } from "effect"
import { contentDigest, fingerprint } from "../../src/services/Pulumi/PackageDigest.ts"
import { ratios, type Series } from "./figures.ts"
import { type Cost, measure } from "./usage.ts"

/** Seconds: before each operation. */
const goal = 1

const sizeOf = (folder: string): { readonly files: number; readonly bytes: number } =>
  readdirSync(folder, { withFileTypes: true }).reduce(
    (sum, entry) => {
      const child = path.join(folder, entry.name)
      if (entry.isDirectory()) {
        const below = sizeOf(child)
        return { files: sum.files + below.files, bytes: sum.bytes + below.bytes }
      }
      return { files: sum.files + 1, bytes: sum.bytes + lstatSync(child).size }
    },
    { files: 0, bytes: 0 },
  )

const plain = (folder: string) =>
  Effect.sync(() => {
    execFileSync("/bin/sh", ["-c", "find . -type f -print0 | xargs -0 cat | sha256sum"], { cwd: folder })
  })

/** Each byte of it, or the stat marks of what was read before. What the machine does besides weighs on all three alike. */
export const digestSeries = Effect.fnUntraced(function* (folder: string, rounds: number) {
  const { files, bytes } = sizeOf(folder)
  const what = `package of ${files} files, ${(bytes / 2 ** 20).toFixed(0)} MiB`
  const [read, looked, beside]: [Array<Cost>, Array<Cost>, Array<Cost>] = [[], [], []]
  for (let round = 0; round < rounds; round++) {
    read.push(yield* measure(contentDigest(folder), "children and own"))
    beside.push(yield* measure(plain(folder), "children"))
    looked.push(yield* measure(fingerprint(folder), "children and own"))
  }
  const of = (costs: ReadonlyArray<Cost>, figure: keyof Cost) => costs.map((cost) => cost[figure])
  const ratio = (costs: ReadonlyArray<Cost>, figure: keyof Cost) =>
    ratios(of(costs, figure), of(beside, figure))
  return [
    { name: `${what}, every byte`, unit: "s", figures: of(read, "seconds"), goal },
    { name: `${what}, its marks`, unit: "s", figures: of(looked, "seconds"), goal },
    { name: "every byte, beside cat and sha256sum", unit: "ratio", figures: ratio(read, "seconds"), goal: 1 },
    { name: "every byte, CPU time", unit: "ratio", figures: ratio(read, "cpuSeconds"), goal: 1 },
    { name: "its marks, CPU time", unit: "ratio", figures: ratio(looked, "cpuSeconds") },
  ] satisfies ReadonlyArray<Series>
})

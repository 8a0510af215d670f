// The charts that the twin of helm can render, by their names.
import { readdirSync, readFileSync } from "node:fs"
import path from "node:path"
import type { Templates } from "../Chart.ts"
import { platformTemplates } from "./platform.ts"
import { vclusterTemplates } from "./vcluster.ts"

export const knownCharts: Readonly<Record<string, Templates>> = {
  vcluster: vclusterTemplates,
  wasmcloud: platformTemplates,
}

const repository = path.join(import.meta.dirname, "../../../..")

/** The folders of the charts on this disk, which tests put into the file system of their world. */
export const chartFolders = {
  vcluster: path.join(repository, "charts/vcluster"),
  wasmcloud: path.join(repository, "test/fixtures/platform/dist/chart"),
} as const

/** The texts of all files of a folder on this disk, by their paths in it. */
export const filesOnDisk = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const file = path.join(entry.parentPath, entry.name)
        return [path.relative(folder, file), readFileSync(file, "utf8")]
      }),
  )

// The Markdown files of the repository.
import { readdirSync } from "node:fs"
import { join, relative } from "node:path"

const root = join(import.meta.dirname, "../..")
const skipped = new Set(["node_modules", ".git", ".cache", "dist"])

const below = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return below(path)
    return entry.name.endsWith(".md") ? [relative(root, path)] : []
  })

/** Each as a path from the root of the repository. */
export const pages: ReadonlyArray<string> = below(root).toSorted()

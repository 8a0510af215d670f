// Which tests load a file of the sources, by the imports that are written down.
import { existsSync, globSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"

/** Relative imports and exports, static ones: there are no others between these files. */
const importsOf = (root: string, file: string): ReadonlyArray<string> =>
  [...readFileSync(join(root, file), "utf8").matchAll(/^(?:import|export|\}).*?["'](\.{1,2}\/[^"']+)["']/gm)]
    .map(([, path = ""]) => relative(root, join(root, dirname(file), path)))
    .filter((path) => path.endsWith(".ts") && existsSync(join(root, path)))

/** The test files under files and folders, in that order, each once. */
export const testFiles = (root: string, paths: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(
    paths.flatMap((path) =>
      statSync(join(root, path)).isDirectory()
        ? globSync(`${path}/**/*.test.ts`, { cwd: root })
            .filter((file) => !file.endsWith(".real.test.ts"))
            .toSorted()
        : [path],
    ),
  ),
]

/** What a test loads, itself first: by what it imports, and by what that imports. */
export const makeLoaded = (root: string): ((test: string) => ReadonlySet<string>) => {
  const direct = new Map<string, ReadonlyArray<string>>()
  const loaded = new Map<string, ReadonlySet<string>>()
  const imports = (file: string) => {
    const known = direct.get(file) ?? importsOf(root, file)
    direct.set(file, known)
    return known
  }
  return (test) => {
    const known = loaded.get(test)
    if (known !== undefined) return known
    const all = new Set([test])
    // What is added while it is gone through is gone through, too.
    for (const each of all) for (const next of imports(each)) all.add(next)
    loaded.set(test, all)
    return all
  }
}

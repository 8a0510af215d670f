// How the tests meet a mutant: the files of MUTANT_TESTS in that order, one after the other in one process that loads the
// sources once, to the first failure. MUTANT_CACHE is a folder for what vitest keeps between two runs.

import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const files = (process.env.MUTANT_TESTS ?? "").split("\n").filter((file) => file !== "")
const root = process.cwd()
const cacheDir = process.env.MUTANT_CACHE ?? `${root}/.vite`

class InOrder extends BaseSequencer {
  override sort(specifications: Array<TestSpecification>) {
    const place = ({ moduleId }: TestSpecification) =>
      files.findIndex((file) => moduleId === `${root}/${file}`)
    return Promise.resolve(specifications.toSorted((a, b) => place(a) - place(b)))
  }
}

export default defineConfig({
  root,
  cacheDir,
  test: {
    include: files,
    isolate: false,
    // A thread has no umask of its own.
    pool: "forks",
    maxWorkers: 1,
    bail: 1,
    // By a file's text: a mutant is compiled anew, and nothing else.
    fsModuleCache: true,
    fsModuleCachePath: `${cacheDir}/modules`,
    sequence: { sequencer: InOrder },
    // What never ends is told by the CPU time it takes (Workbench.ts): a busy machine makes nothing fail.
    testTimeout: 24 * 3_600_000,
    silent: true,
  },
})

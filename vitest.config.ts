import { defineConfig } from "vitest/config"
import { LongestFirst } from "./test/support/longestFirst.ts"

// In CI a test that waits for real programs is tried once more; `tools/ci-summary.ts` names it as flaky, which is a defect.
const retry = process.env.CI === undefined ? 0 : 1

// Unit tests, property tests and simulations run everywhere. `real`: real programs without a cluster, which its
// global set-up builds. End-to-end tests need the real cluster (tools/cluster), which theirs starts.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**", "test/**/*.real.test.ts", "**/node_modules/**"],
          globalSetup: ["test/support/figures.ts"],
          // One for each core: what starts them has nothing to do while they run.
          maxWorkers: "100%",
          // A simulated world makes much that is soon gone: a greater nursery saves a seventh of the time.
          execArgv: ["--max-semi-space-size=64"],
          // Against what never ends; a busy machine makes nothing fail.
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: "real",
          include: ["test/**/*.real.test.ts"],
          globalSetup: ["test/support/programs.ts"],
          // Each of them fills two cores by itself.
          maxWorkers: 1,
          retry,
          // They wait for real programs, on a machine as slow as it happens to be.
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          // They take the whole cluster, and minutes: `make e2e-full`.
          exclude:
            process.env.E2E_FULL === undefined
              ? ["test/e2e/image.test.ts", "test/e2e/node.test.ts", "test/e2e/traces.test.ts"]
              : [],
          globalSetup: ["test/e2e/setup.ts"],
          retry,
          testTimeout: 600_000,
          // A file waits in a hook until no other one disturbs the operator, as long as all of those may take.
          hookTimeout: 14_400_000,
          fileParallelism: true,
          maxWorkers: 3,
        },
      },
    ],
  },
})

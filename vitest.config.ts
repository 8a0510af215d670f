import { defineConfig } from "vitest/config"

// Unit tests, property tests and simulations run everywhere. `real`: real programs without a cluster, which its
// global set-up builds. End-to-end tests need the real cluster (tools/cluster), which theirs starts.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**", "test/**/*.real.test.ts", "**/node_modules/**"],
        },
      },
      {
        test: {
          name: "real",
          include: ["test/**/*.real.test.ts"],
          globalSetup: ["test/support/programs.ts"],
          // Each of them fills two cores by itself.
          maxWorkers: 1,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/e2e/setup.ts"],
          testTimeout: 600_000,
          // A file waits in a hook until no other one disturbs the operator.
          hookTimeout: 1_800_000,
          fileParallelism: true,
          maxWorkers: 3,
        },
      },
    ],
  },
})

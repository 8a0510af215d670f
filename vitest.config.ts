import { defineConfig } from "vitest/config"
import { LongestFirst } from "./test/support/longestFirst.ts"

// In CI a test that waits for real programs is tried once more; `tools/ci-summary.ts` names it as flaky, which is a defect.
const retry = process.env.CI === undefined ? 0 : 1

// Unit tests, property tests and simulations run everywhere. `real`: real programs without a cluster, which its
// global set-up builds. End-to-end tests need the real cluster (tools/cluster), which theirs starts.
// `make test PART=`: the simulation takes most of the time, and nothing but virtual time; the others are the rest.
const simulation = ["test/simulation/**/*.test.ts"]
const part = process.env.PART ?? ""
if (!["", "simulation", "others"].includes(part))
  throw new Error(
    `PART=${part} is no part of the unit tests: it is simulation or others; without it both run`,
  )

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: part === "simulation" ? simulation : ["test/**/*.test.ts"],
          exclude: [
            ...["test/e2e/**", "test/**/*.real.test.ts", "**/node_modules/**"],
            ...(part === "others" ? simulation : []),
          ],
          globalSetup: ["test/support/figures.ts"],
          // One for each core: what starts them has nothing to do while they run.
          maxWorkers: "100%",
          // A simulated world makes much that is soon gone: a greater nursery saves a seventh of the time.
          execArgv: ["--max-semi-space-size=64"],
          // What is loaded and compiled for one file serves the next ones, too: a fifth of the time of a small one.
          isolate: false,
          // Against what never ends; a busy machine makes nothing fail, nor one that has only now and then time for them.
          testTimeout: 3_600_000,
          hookTimeout: 3_600_000,
        },
      },
      {
        test: {
          name: "real",
          include: ["test/**/*.real.test.ts"],
          globalSetup: ["test/support/programs.ts"],
          // They wait for programs much of the time: one alone leaves nearly half of two cores idle.
          maxWorkers: 2,
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
              ? [
                  "test/e2e/backup.test.ts",
                  "test/e2e/drift.test.ts",
                  "test/e2e/image.test.ts",
                  "test/e2e/node.test.ts",
                  "test/e2e/rotatePassphrase.test.ts",
                  "test/e2e/traces.test.ts",
                  "test/e2e/vclusterUpgrade.test.ts",
                ]
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

// Pauses at the calls of what an operator does for an instance.
import { describe, it } from "@effect/vitest"
import { scaled } from "../support/figures.ts"
import { full } from "./crashes.ts"
import { assertPauses } from "./pauses.ts"
import { workloads } from "./workloads.ts"

const timeout = 24 * 3_600_000

describe("a pause in the middle", () => {
  it.each([
    ["an install", workloads.install, 10],
    ["an upgrade", workloads.upgrade, 8],
    ["a repair", workloads.repair, 8],
    ["a resync", workloads.resync, 6],
    ["a sleep", workloads.sleep, 4],
  ] as const)("of %s holds it up, and changes nothing of its end", { timeout }, (_, workload, count) =>
    assertPauses(workload, full ? Number.POSITIVE_INFINITY : scaled(count)),
  )
})

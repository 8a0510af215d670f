// The operator killed at every moment of an install, and when the power fails while the engine is at work.
import { describe, it } from "@effect/vitest"
import { spread } from "../../twins/crash/Point.ts"
import { assertSameEnd, crashTimeout, dying, engineMoments, full } from "../crashes.ts"
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.install)

// Of what is not synced, a part is lost, and all of it: a first state with it.
describe("the power that fails while the engine is at work, or just after", () => {
  it.each([
    { ...workloads.install, workload: workloads.install, sample: 20 },
    { ...workloads.upgrade, workload: workloads.upgrade, sample: 6 },
  ])("$name comes to the same end", { timeout: crashTimeout }, ({ workload, sample }) =>
    assertSameEnd(workload, (undisturbed) => {
      const moments = engineMoments(undisturbed)
      return dying(full ? moments : spread(moments, sample / 2), ["power"])
    }),
  )
})

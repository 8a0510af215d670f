// The operator killed at any moment of bringing up a vCluster, of a resync, and of putting back what somebody took or
// edited. Without `FULL` a part of the moments; with `FULL=1` every one, with every way to die, a test a way:
// `FULL=1 npx vitest run --project unit test/simulation/targetCrashes.test.ts -t 'an install.*power'`.
import { describe, it } from "@effect/vitest"
import { scaled } from "../support/figures.ts"
import { deaths } from "../twins/crash/Point.ts"
import { assertSameEnd, crashTimeout, dying, full, sampled, targetMoments } from "./crashes.ts"
import { targetTroubles, workloads } from "./workloads.ts"

describe.each([workloads.install, ...targetTroubles].map((workload) => ({ ...workload, workload })))(
  "$name",
  ({ workload }) => {
    if (full)
      it.each(deaths)("comes to the same end wherever it dies: %s", { timeout: crashTimeout }, (death) =>
        assertSameEnd(workload, (undisturbed) => dying(targetMoments(undisturbed), [death])),
      )
    else
      it("comes to the same end wherever the operator dies", { timeout: crashTimeout }, () =>
        assertSameEnd(workload, (undisturbed) => sampled(targetMoments(undisturbed), scaled(4))),
      )
  },
)

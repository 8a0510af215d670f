// The operator killed in a removal that does not go straight on: it comes to the same end as without. With `FULL=1` at
// every moment, with every way to die.
import { describe, it } from "@effect/vitest"
import { scaled } from "../support/figures.ts"
import type { Played, Reached } from "../twins/crash/Crash.ts"
import { deaths } from "../twins/crash/Point.ts"
import { assertSameEnd, crashTimeout, dying, full, sampled } from "./crashes.ts"
import { deletionWorkloads } from "./deletionWorkloads.ts"

const { failing, oneOfTwo, switched, successor } = deletionWorkloads

/** Until a successor's target is made, which is an install like any other. */
const removalMoments = ({ calls, moments }: Played): ReadonlyArray<Reached> => {
  const install = calls.find(({ what }) => /^spawn \S*helm upgrade /.test(what))
  return install === undefined ? moments : moments.filter(({ call }) => call < install.number)
}

/** What follows the last thing that is done in the state directory, until the finalizer is gone, and just after. */
const lastMoments = ({ calls, moments }: Played): ReadonlyArray<Reached> => {
  const dropped = calls.findLast(({ what }) => /^rename \S+ \S+\/dropped\//.test(what))?.number
  return dropped === undefined
    ? []
    : moments.filter(({ call, aftermath, writes }) => call > dropped && writes && !aftermath)
}

describe("the power that fails when one of two instances of a namespace is gone", () => {
  it("brings nothing of it back", { timeout: crashTimeout }, () =>
    assertSameEnd(oneOfTwo, (played) =>
      dying(full ? lastMoments(played) : lastMoments(played).slice(-2), ["power"]),
    ),
  )
})

describe.each([failing, switched, successor].map((workload) => ({ name: workload.name, workload })))(
  "$name",
  ({ workload }) => {
    if (full)
      it.each(deaths)("comes to the same end wherever it dies: %s", { timeout: crashTimeout }, (death) =>
        assertSameEnd(workload, (played) => dying(removalMoments(played), [death])),
      )
    else
      it("comes to the same end wherever the operator dies", { timeout: crashTimeout }, () =>
        assertSameEnd(workload, (played) => sampled(removalMoments(played), scaled(5))),
      )
  },
)

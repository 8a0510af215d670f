// The operator killed before or after any of its calls, in whatever it is doing, and once more in its recovery: the world
// comes to the same end as without. Without `FULL` a part of the points, spread over all of them; with `FULL=1` every one, each with every way to
// die, a test a way: `FULL=1 npx vitest run --project unit test/simulation/crashPoints.test.ts -t 'an upgrade.*power'`.
import { describe, it } from "@effect/vitest"
import { scaled } from "../support/figures.ts"
import type { Played, Reached, Workload } from "../twins/crash/Crash.ts"
import { deaths } from "../twins/crash/Point.ts"
import { assertSameEnd, dying, engineMoments, full, pairs, pointCount, sampled, spread } from "./crashes.ts"
import { workloads } from "./workloads.ts"

const timeout = 24 * 3_600_000

/** How many points of each are looked at without `FULL`, in the worlds of how many seeds. */
const samples: ReadonlyArray<readonly [Workload, number, number]> = [
  [workloads.install, 12, 2],
  [workloads.deletion, 12, 2],
  [workloads.upgrade, 5, 2],
  [workloads.repair, 5, 2],
  [workloads.retry, 5, 2],
  [workloads.resync, 5, 2],
  [workloads.readoption, 5, 2],
  [workloads.two, 5, 1],
]

/** From the aftermath of the end there is nothing to recover. */
const inTime = (moments: ReadonlyArray<Reached>) => moments.filter(({ aftermath }) => !aftermath)

describe.each(samples.map(([workload, sample, count]) => ({ ...workload, workload, sample, count })))(
  "F02 $name",
  ({ workload, sample, count }) => {
    if (full)
      it.each(deaths)("comes to the same end wherever it dies: %s", { timeout }, (death) => {
        const all = ({ moments }: Played) => dying(moments, [death])
        assertSameEnd(workload, all, { of: (undisturbed) => all(undisturbed).length })
      })
    else
      it("comes to the same end wherever the operator dies", { timeout }, () =>
        assertSameEnd(workload, ({ moments }) => sampled(moments, scaled(sample)), {
          seeds: count,
          of: pointCount,
        }),
      )

    it("comes to the same end when it dies again in its recovery", { timeout }, () =>
      assertSameEnd(workload, ({ moments }, seed) =>
        pairs(workload, seed, sampled(inTime(moments), scaled(1)), full ? 16 : 1),
      ),
    )
  },
)

// Of what is not synced, a part is lost, and all of it: a first state with it.
describe("the power that fails while the engine is at work, or just after", () => {
  it.each([
    { ...workloads.install, workload: workloads.install, sample: 20 },
    { ...workloads.upgrade, workload: workloads.upgrade, sample: 6 },
  ])("$name comes to the same end", { timeout }, ({ workload, sample }) =>
    assertSameEnd(workload, (undisturbed) => {
      const moments = engineMoments(undisturbed)
      return dying(full ? moments : spread(moments, sample / 2), ["power"])
    }),
  )
})

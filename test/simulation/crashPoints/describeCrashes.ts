// The operator killed before or after any of its calls, in whatever it is doing, and once more in its recovery: the world
// comes to the same end as without. Every moment is looked at, or a part of them where others go over most of the same
// ground, with one of the ways to die, in turn; with `FULL=1` with each of them, a test a way: `FULL=1 npx vitest run --project unit test/simulation/crashPoints -t 'an upgrade.*power'`.
import { describe, it } from "@effect/vitest"
import { planned } from "../../support/figures.ts"
import type { Played, Reached, Workload } from "../../twins/crash/Crash.ts"
import { deaths } from "../../twins/crash/Point.ts"
import { assertSameEnd, crashTimeout, dying, full, once, pairs, sampled } from "../crashes.ts"
import { workloads } from "../workloads.ts"

/** So many first deaths of a workload, each with so many second ones: more first ones when more plans are asked for. */
const seconds = 16
const firsts = (): number => Math.max(1, Math.ceil(planned() / (Object.keys(workloads).length * seconds)))

export interface CrashesOptions {
  /** Of how many moments `make test` plays one, which one the seed says; `make simulate` plays all. Default: 1. */
  readonly oneOf?: number
}

/** From the aftermath of the end there is nothing to recover. */
const inTime = (moments: ReadonlyArray<Reached>) => moments.filter(({ aftermath }) => !aftermath)

export const describeCrashes = (workload: Workload, { oneOf = 1 }: CrashesOptions = {}): void => {
  describe(`F02 ${workload.name}`, () => {
    if (full)
      it.each(deaths)("comes to the same end wherever it dies: %s", { timeout: crashTimeout }, (death) => {
        const all = ({ moments }: Played) => dying(moments, [death])
        assertSameEnd(workload, all, (undisturbed) => all(undisturbed).length)
      })
    else if (oneOf > 1 && planned() === 0)
      it(
        "comes to the same end at a part of the moments at which the operator dies",
        { timeout: crashTimeout },
        () =>
          assertSameEnd(workload, ({ moments }, seed) =>
            once(
              moments.filter((_, index) => index % oneOf === seed % oneOf),
              seed,
            ),
          ),
      )
    else
      it("comes to the same end wherever the operator dies", { timeout: crashTimeout }, () =>
        assertSameEnd(
          workload,
          ({ moments }, seed) => once(moments, seed),
          ({ moments }) => moments.length,
        ),
      )

    it("comes to the same end when it dies again in its recovery", { timeout: crashTimeout }, () =>
      assertSameEnd(workload, ({ moments }, seed) =>
        pairs(workload, seed, sampled(inTime(moments), firsts()), planned() === 0 ? 4 : seconds),
      ),
    )
  })
}

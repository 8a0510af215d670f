// What is played in a copy of a world, from where the operator dies, is what is played anew, from the beginning.
import { assert, describe, it } from "@effect/vitest"
import { crashTimeout, full, once, pairs, sampled, spread } from "../../simulation/crashes.ts"
import { workloads } from "../../simulation/workloads.ts"
import { play, playEach } from "./Crash.ts"
import type { CrashPoint } from "./Point.ts"

const seed = 1
const workload = workloads.deletion

/** The digest of all that has happened, and how far it came, by the point. */
const digests = (points: ReadonlyArray<CrashPoint>, copied: boolean) =>
  playEach(
    workload,
    seed,
    points,
    ({ digest, died, diedAgain, took, recovery }) => ({ digest, died, diedAgain, took, recovery }),
    { digested: true, copied },
  )

describe(`${workload.name}, from copies of one world`, { timeout: crashTimeout }, () => {
  const { moments } = play(workload, seed)

  it("comes to what it comes to from its beginning, wherever the operator dies", () => {
    const all = once(moments, seed)
    const points = full ? all : spread(all, 4)
    assert.deepStrictEqual(digests(points, true), digests(points, false))
  })

  it("comes to the same wherever it dies again", () => {
    const points = pairs(workload, seed, sampled(moments, full ? 8 : 1), full ? 8 : 2)
    const copied = digests(points, true)
    assert.isTrue([...copied.values()].every((each) => each.is === "found" && each.found.diedAgain))
    assert.deepStrictEqual(copied, digests(points, false))
  })

  it("tells of a call that is not made as it is told of from the beginning", () => {
    const never: CrashPoint = { call: 1_000_000, moment: "before", death: "pod" }
    const notAgain: CrashPoint = { ...never, call: moments[0]?.call ?? 0, again: never }
    assert.deepStrictEqual(digests([never, notAgain], true), digests([never, notAgain], false))
  })
})

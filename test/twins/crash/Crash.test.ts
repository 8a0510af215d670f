// What is played in a copy of a world, from where the operator dies, is what is played anew, from the beginning.
import { assert, describe, it } from "@effect/vitest"
import { crashTimeout, full, once, pairs, sampled } from "../../simulation/crashes.ts"
import { playInCopies } from "../../simulation/playing.ts"
import { workloads } from "../../simulation/workloads.ts"
import { play } from "./Crash.ts"
import { type CrashPoint, spread } from "./Point.ts"

const seed = 1
const workload = "deletion"

describe(`${workloads[workload].name}, from copies of one world`, { timeout: crashTimeout }, () => {
  const { end, moments } = play(workloads[workload], seed)

  /** What the copies come to, and what the same comes to from its beginning. */
  const assertSame = async (points: ReadonlyArray<CrashPoint>) => {
    const played = async (warm: number) => {
      const lines = await playInCopies({ workload, seed, points, end, digested: true, warm })
      return new Map(lines.map(({ point, ...told }) => [point, told]))
    }
    const copied = await played(0)
    assert.deepStrictEqual(copied, await played(points.length))
    assert.strictEqual(copied.size, points.length)
    for (const { digest } of copied.values()) assert.isDefined(digest)
  }

  it("comes to what it comes to from its beginning, wherever the operator dies", () => {
    const all = once(moments, seed)
    return assertSame(full ? all : spread(all, 4))
  })

  it("comes to the same wherever it dies again", () =>
    assertSame(pairs(workloads[workload], seed, sampled(moments, full ? 8 : 1), full ? 8 : 2)))

  it("tells of a call that is not made as it is told of from the beginning", () => {
    const never: CrashPoint = { call: 1_000_000, moment: "before", death: "pod" }
    return assertSame([never, { ...never, call: moments[0]?.call ?? 0, again: never }])
  })
})

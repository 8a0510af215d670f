// Quiet days: an operator with nothing to do writes nothing but the time of its last repair.
import { assert, describe, it } from "@effect/vitest"
import { cpuSeconds, leastRepairs, quietDays } from "./quietDays.ts"

describe("F49 three Ready instances, left alone", () => {
  it.each([
    { days: Number(process.env.DAYS ?? 30), where: "straight on the twins", direct: true },
    { days: 1, where: "over the operator's edge", direct: false },
  ])(
    "$days days $where are no status write but lastRepair",
    // Nothing in here waits in real time: how long it takes says what else the machine is doing.
    { timeout: 7_200_000 },
    ({ days, where, direct }) => {
      const began = cpuSeconds()
      const { result, steps } = quietDays(days, direct)
      const took = (cpuSeconds() - began).toFixed(1)
      console.info(`${days} days ${where}: ${took} s of CPU, ${steps} steps, ${result.repairs} repairs`)
      assert.isTrue(result.ready)
      assert.deepStrictEqual(result.others, [])
      assert.isAtLeast(result.repairs, leastRepairs(days))
    },
  )
})

// Quiet days: an operator with nothing to do writes nothing but the time of its last repair. A hundred instances have a month of
// them with `HUNDRED_DAYS=30`, as in `make simulate`: by itself it takes as long as all else.
import { assert, describe, it } from "@effect/vitest"
import { cpuSeconds, hundred, leastRepairs, quietDays, three } from "./quietDays.ts"

describe("F49 Ready instances, left alone", () => {
  it.each([
    { quiet: three, days: Number(process.env.DAYS ?? 30), where: "straight on the twins", direct: true },
    { quiet: three, days: 1, where: "over the operator's edge", direct: false },
    {
      quiet: hundred,
      days: Number(process.env.HUNDRED_DAYS ?? 2),
      where: "straight on the twins",
      direct: true,
    },
  ])(
    "$quiet.names.length of them, $days days $where, are no status write but lastRepair",
    // Nothing in here waits in real time: how long it takes says what else the machine is doing.
    { timeout: 7_200_000 },
    ({ quiet, days, where, direct }) => {
      const began = cpuSeconds()
      const { result, steps } = quietDays(days, direct, false, quiet)
      const took = (cpuSeconds() - began).toFixed(1)
      const told = [`${took} s of CPU`, `${steps} steps`, `${result.repairs} repairs`].join(", ")
      console.info(`${quiet.names.length} instances, ${days} days ${where}: ${told}`)
      assert.isTrue(result.ready)
      assert.deepStrictEqual(result.others, [])
      assert.isAtLeast(result.repairs, leastRepairs(days, quiet))
    },
  )
})

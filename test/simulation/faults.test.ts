// Each call of an operator failing, hanging, answering late or twice, or with any code: one at a time at every call of
// each workload, and many in storms. After the last fault all is well within an hour, and then nothing is written for a day.
// `FULL=1` plays all of them: a part of them, spread by the seed, is played without.
import { afterAll, assert, describe, it } from "@effect/vitest"
import { note, scaled } from "../support/figures.ts"
import { spread } from "../twins/crash/Point.ts"
import { replayCommand, seeds } from "../twins/simulation/seeds.ts"
import { full } from "./crashes.ts"
import { errands } from "./errands.ts"
import { endure, failureAt, faultsOf, pointsOf, replayedFault, storm } from "./faults.ts"

const timeout = 24 * 3_600_000

/** With an operator that stands by, and works when the other one has died. */
const withAnother = errands.map((errand) => ({
  ...errand,
  name: `${errand.name}, of two operators`,
  replicas: 2,
}))

let played = 0
afterAll(() => {
  console.info(`faults: ${played} plans`)
  note({ suite: "faults", plans: played })
})

/** One of each kind of fault at each kind of call, then calls spread over all: the seed says which. */
const sample = (calls: ReadonlyArray<string>, count: number, seed: number) => {
  const all = pointsOf(calls)
  const kind = (what: string) => what.split(" ")[0] ?? ""
  const kinds = new Map(all.map((point) => [`${kind(calls[point.call - 1] ?? "")} ${point.fault}`, point]))
  const names = [...kinds.keys()]
  const drawn = names.flatMap((name, index) => {
    const [what = "", fault] = name.split(" ")
    const those = all.filter((point) => point.fault === fault && kind(calls[point.call - 1] ?? "") === what)
    return those.slice(((index + 1) * 7919 * seed) % those.length).slice(0, 1)
  })
  return spread(drawn, count)
}

/** Of an install most: all else begins with one. */
const sizeOf = (name: string) => scaled(name === "an install" ? 24 : 6)

describe.each(errands.map((errand) => ({ name: errand.name, errand })))(
  "one fault at one call of $name",
  ({ errand, name }) => {
    it.each(seeds(1))("ends well, and quiet: seed %i", { timeout }, (seed) => {
      const { calls, broken } = endure(errand, seed, () => undefined, "24 hours")
      assert.deepStrictEqual(broken, [])
      const point = replayedFault()
      const points =
        point !== undefined ? [point] : full ? pointsOf(calls) : sample(calls, sizeOf(name), seed)
      const began = performance.now()
      const failures = points.flatMap((each, index) => {
        if (full && index % 100 === 0) console.info(`faults of ${name}: ${index} of ${points.length}`)
        const found = failureAt(errand, seed, calls, each, full ? "24 hours" : "1 hour")
        for (const text of found) console.info(text)
        return found
      })
      played += points.length
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      console.info(
        `one fault of ${name}: seed ${seed}, ${calls.length} calls, ${points.length} faults, ${seconds} s`,
      )
      assert.deepStrictEqual(failures, [])
    })
  },
)

describe("one fault at one call", () => {
  it("is every kind there is", () => {
    const names = [
      "GET /x",
      "inside: get x",
      "helm: PATCH /x",
      "writeNew /x",
      "fs.open /x",
      "spawn npm",
      "output of 7",
    ]
    const all = new Set(names.flatMap((what) => [...faultsOf(what).keys()]))
    for (const name of [
      ...["401", "403", "404", "409", "410", "422", "429", "500", "503", "reset-before", "reset-after"],
      ...["hang", "late", "twice", "half", "ENOSPC", "EIO", "killed", "clock+10y", "clock-10y", "disk-full"],
    ])
      assert.isTrue(all.has(name), name)
  })
})

describe.each([...errands, ...withAnother].map((errand) => ({ name: errand.name, errand })))(
  "a storm of faults over $name",
  ({ errand }) => {
    it.each(seeds(full ? 100 : scaled(1)))("ends well, and quiet: seed %i", { timeout }, (seed) => {
      try {
        const { broken } = endure(errand, seed, storm(seed, 25, 600), full ? "24 hours" : "1 hour")
        assert.deepStrictEqual(broken, [])
        played += 1
      } catch (error) {
        console.info(`to replay it: ${replayCommand(seed)}`)
        throw error
      }
    })
  },
)

import { globSync, readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { alone, place } from "./longestFirst.ts"

it("what takes minutes begins before all else", () => {
  const files = globSync("test/**/*.test.ts").toSorted((left, right) => place(left) - place(right))
  assert.match(files[0] ?? "", /failedInstall/)
  const last = (pattern: RegExp) => files.findLastIndex((file) => pattern.test(file))
  const first = (pattern: RegExp) => files.findIndex((file) => pattern.test(file))
  assert.isBelow(
    last(/crashPoints|days\.test|faults\.test/),
    first(/simulation\/(?!crashPoints|days|faults)/),
  )
  assert.isBelow(last(/test\/simulation/), first(/test\/actors/))
})

it("each place of the order is of a file that there is", () => {
  const places = new Set(globSync("test/**/*.test.ts").map(place))
  assert.deepStrictEqual(
    [...places].sort((left, right) => left - right),
    [...places.keys()].map((_, index) => index),
  )
})

it("what has to have the operator for itself comes after all that shares it", () => {
  const exclusive = globSync("test/e2e/*.test.ts").filter((file) =>
    readFileSync(file, "utf8").includes('holdOperator("exclusive")'),
  )
  assert.deepStrictEqual(alone.flatMap((each) => globSync(`${each}test.ts`)).toSorted(), exclusive.toSorted())
  const sharing = globSync("test/e2e/*.test.ts").filter((file) => !exclusive.includes(file))
  assert.isAbove(Math.min(...exclusive.map(place)), Math.max(...sharing.map(place)))
})

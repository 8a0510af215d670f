import { globSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { place } from "./longestFirst.ts"

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

import { assert, describe, it } from "@effect/vitest"
import { isNewer } from "../../src/schema/ChartVersion.ts"

// As semver.org has them, and some of vCluster's.
const ascending = [
  "0.9.9",
  "0.36.0",
  "0.36.1",
  "0.37.0-alpha",
  "0.37.0-alpha.1",
  "0.37.0-alpha.beta",
  "0.37.0-beta.2",
  "0.37.0-beta.11",
  "0.37.0-rc.1",
  "0.37.0",
  "v0.37.3",
  "1.0.0",
  "10.0.0",
]

describe("versions of charts", () => {
  it("come after one another as Semantic Versioning has it", () => {
    for (const [index, version] of ascending.entries())
      for (const [at, other] of ascending.entries())
        assert.strictEqual(isNewer(version, other), index > at, `${version} after ${other}`)
  })

  it.each([
    ["0.37.3+build.2", "0.37.3"],
    ["0.37.3", "0.37.3+build.2"],
    ["latest", "0.37.3"],
    ["0.37.3", ""],
    ["0.37", "0.36.0"],
  ])("%s is none after %s", (version, than) => assert.isFalse(isNewer(version, than)))
})

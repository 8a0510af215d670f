// Each report of what others have met with operators of this kind is a test that has its number in its name.
import { globSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const reports = [
  ...[
    "F01",
    "F02",
    "F03",
    "F04",
    "F06",
    "F08",
    "F10",
    "F11",
    "F13",
    "F14",
    "F15",
    "F16",
    "F18",
    "F19",
    "F21",
  ],
  ...[
    "F22",
    "F24",
    "F26",
    "F27",
    "F28",
    "F29",
    "F31",
    "F32",
    "F34",
    "F36",
    "F38",
    "F40",
    "F42",
    "F43",
    "F44",
  ],
  ...["F46", "F47", "F49", "F51", "F52", "F54", "F56", "F58"],
]

/** Those that no test plays, and why. */
const without: Readonly<Record<string, string>> = {
  F42: "sockets and heap over 10,000 reconnects are a real server's and a real process's; that a watch closes its connection is tested on a socket (docs/unconfirmed.md)",
}

/** The beginning of a text, in code. */
const named = /["`](?:[^"`\n]* )?(F\d\d)\b/g

const sources = globSync(["test/**/*.test.ts", "test/simulation/crashPoints/describeCrashes.ts"]).filter(
  (file) => !file.endsWith("fieldReportNames.test.ts"),
)
const names = new Set(
  sources.flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => !/^\s*(\/\/|\*|\/\*)/.test(line))
      .flatMap((line) => [...line.matchAll(named)].map(([, id]) => id)),
  ),
)

describe("the field reports", () => {
  it.each(reports)("%s is in a test's name, or it is said why not", (id) => {
    assert.strictEqual(names.has(id), without[id] === undefined)
  })

  it("are all that tests name", () => {
    assert.deepStrictEqual(
      [...names].filter((id) => id === undefined || !reports.includes(id)),
      [],
    )
  })
})

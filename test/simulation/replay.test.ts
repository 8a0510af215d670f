// What a failed crash test prints plays the same death of the same world again, and no other.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { play, type Workload } from "../twins/crash/Crash.ts"
import { type CrashPoint, deaths, formatPoint, parsePoint } from "../twins/crash/Point.ts"
import { replayCommand } from "../twins/simulation/seeds.ts"
import { assertSameEnd, crashTimeout } from "./crashes.ts"

/** Comes to another end whenever the operator dies. */
const marked: Workload = {
  name: "a namespace that is not there, if nobody dies",
  run: (world) =>
    Effect.gen(function* () {
      yield* Effect.sync(() => world.apply())
      yield* Effect.sleep("1 minute")
      if (world.simulation.trace.lines.some((line) => /\bdies (before|after) call\b/.test(line))) {
        world.admin.create(Kinds.Namespace, {
          apiVersion: "v1",
          kind: "Namespace",
          metadata: { name: "somebody-died" },
        })
      }
    }),
}

/** Runs with this environment, which the processes of vitest share with nobody. */
const withEnvironment = async (
  given: Readonly<Record<string, string>>,
  run: () => Promise<void>,
): Promise<void> => {
  const before = { ...process.env }
  // There is time, whatever there is for the run that this is a part of.
  const environment = { SIMULATION_UNTIL: "", ...given }
  Object.assign(process.env, environment)
  try {
    await run()
  } finally {
    for (const name of Object.keys(environment)) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
}

const failureOf = async (run: () => Promise<void>): Promise<ReadonlyArray<string>> => {
  try {
    await run()
  } catch (error) {
    if (error instanceof Error && "actual" in error && Array.isArray(error.actual)) return error.actual
    throw error
  }
  return []
}

/** The assignments before the command. */
const environmentOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...(/to replay it: (.*) npx /.exec(text)?.[1] ?? "").matchAll(/(\w+)=(\S+)/g)].map((match) => [
      match[1] ?? "",
      match[2] ?? "",
    ]),
  )

describe("a point", () => {
  const points: ReadonlyArray<CrashPoint> = [
    ...deaths.map((death) => ({ call: 355, moment: "after" as const, death })),
    { call: 1, moment: "before", death: "power", lost: "all" },
    { call: 1, moment: "before", death: "power", lost: "some" },
  ]

  it.each(points.map((point) => [formatPoint(point), point] as const))(
    "is read as written: %s",
    (text, point) => assert.deepStrictEqual(parsePoint(text), point),
  )

  it.each([
    "",
    "355",
    "0:after:pod",
    "1.5:after:pod",
    "355:later:pod",
    "355:after:age",
    "1:after:power:most",
    "1:after:power:all:x",
  ])("is none: %s", (text) => assert.throws(() => parsePoint(text), /not a point/))
})

it("deaths are played until the time that is named, and no longer", async () => {
  const point: CrashPoint = { call: 5, moment: "before", death: "pod" }
  const until = (seconds: number) => () =>
    withEnvironment({ SEED: "3", POINT: "", SIMULATION_UNTIL: String(seconds) }, () =>
      assertSameEnd(marked, () => [point]),
    )
  assert.lengthOf(await failureOf(until(Date.now() / 1000 + 86_400)), 1)
  assert.deepStrictEqual(await failureOf(until(1)), [])
})

describe("a failed crash test", () => {
  it("prints a command that plays this seed and point alone", { timeout: crashTimeout }, async () => {
    const seed = 3
    const points = play(marked, seed)
      .moments.filter(({ aftermath, writes }) => writes && !aftermath)
      .slice(0, 2)
      .map(({ call, moment }): CrashPoint => ({ call, moment, death: "power", lost: "all" }))
    assert.lengthOf(points, 2)
    const failures = await failureOf(() =>
      withEnvironment({ SEED: String(seed), POINT: "" }, () => assertSameEnd(marked, () => points)),
    )
    assert.lengthOf(failures, 2)
    for (const [index, failure] of failures.entries()) {
      const environment = environmentOf(failure)
      assert.deepStrictEqual(environment, { SEED: "3", POINT: formatPoint(points[index] ?? assert.fail()) })
      assert.include(
        failure,
        "npx vitest run --project unit test/simulation/replay.test.ts -t 'a failed crash test",
      )
      const again = await failureOf(() =>
        withEnvironment(environment, () =>
          assertSameEnd(marked, () => assert.fail("with a point, the test is not asked for others")),
        ),
      )
      assert.deepStrictEqual(again, [failure])
    }
  })

  it("names the test by what vitest compares a name with (it's a $pattern, too)", ({ task }) => {
    const [, quoted = ""] = / -t '(.*)'$/.exec(replayCommand(1)) ?? []
    assert.match(task.fullTestName, new RegExp(`^${quoted.replaceAll(`'\\''`, "'")}$`))
  })

  it("says FULL again where it stands only then", () =>
    assert.match(
      replayCommand(1, { POINT: "2:after:pod", FULL: "1" }),
      /^SEED=1 POINT=2:after:pod FULL=1 npx /,
    ))
})

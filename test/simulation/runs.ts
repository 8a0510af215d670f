// What runs of the simulation have come to, and two of one seed compared (run.ts).

export interface Outcome {
  readonly test: string
  /** As vitest calls it: `passed`, `failed`, `skipped`. */
  readonly status: string
  readonly messages: ReadonlyArray<string>
}

export interface Run {
  readonly name: string
  readonly passed: boolean
  readonly outcomes: ReadonlyArray<Outcome>
  /** Undefined when nothing was played, or the run itself has died. */
  readonly figures:
    | {
        readonly plans: number
        readonly seconds: number
        readonly crashPairs: number
      }
    | undefined
  readonly cpuSeconds: number
  /** By the test: a digest of all that has happened in the worlds it has played. */
  readonly worlds: ReadonlyMap<string, string>
}

const failures = ({ outcomes }: Run) => outcomes.filter(({ status }) => status === "failed")

/** A line that says all of it. */
export const runLine = (run: Run): string => {
  const { name, passed, outcomes, figures, cpuSeconds } = run
  const tests = outcomes.filter(({ status }) => status !== "skipped" && status !== "pending").length
  const failed = failures(run).length
  const played =
    figures === undefined
      ? []
      : [`${figures.plans} plans`, `${figures.crashPairs} crash pairs`, `${figures.seconds} s`]
  const died = !passed && failed === 0 ? ["the run itself failed"] : []
  const cpu = `${Math.round(cpuSeconds)} s of CPU`
  return `${name}: ${[...played, cpu, `${tests} tests`, `${failed} failures`, ...died].join(", ")}`
}

/** The commands that play again what has failed: of a test that prints none, that it has failed. */
export const replays = (run: Run): ReadonlyArray<string> =>
  failures(run).flatMap(({ test, messages }) => {
    const commands = messages.flatMap((message) =>
      // Of an assertion that prints a text as it stands in code, up to the end of that line.
      [...message.matchAll(/to replay it: (.+?)(?=\\n|\n|$)/g)].map(([, command = ""]) => command.trim()),
    )
    const told = commands.length === 0 ? ["it prints no command"] : [...new Set(commands)]
    return told.map((each) => `failed: ${run.name}: ${test}: ${each}`)
  })

/** The tests that have ended, or whose worlds have come, to something else the second time. */
export const otherwise = (first: Run, second: Run): ReadonlyArray<string> => {
  const statuses = ({ outcomes }: Run) =>
    new Map(outcomes.map(({ test, status }): readonly [string, string] => [test, status]))
  const differing = (left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>) =>
    [...new Set([...left.keys(), ...right.keys()])]
      .filter((test) => left.get(test) !== right.get(test))
      .map((test) => `${test}: ${left.get(test)} and ${right.get(test)}`)
  return [...differing(statuses(first), statuses(second)), ...differing(first.worlds, second.worlds)]
}

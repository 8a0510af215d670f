// Scripted scenarios that run against a twin and against the real program, and must observe the same. A step says what
// it observed as JSON; what is by nature another on each run (UIDs, versions, times) is written as a name before.
import { assert } from "@effect/vitest"
import { Effect } from "effect"

/** What a step saw: plain JSON. */
export type Observation = unknown

export interface Step<Target> {
  readonly name: string
  /** A failure that is expected is part of what it observes (`Effect.result`); any other one ends the comparison. */
  readonly run: (target: Target) => Effect.Effect<Observation, unknown>
}

export interface Scenario<Target> {
  readonly name: string
  readonly steps: ReadonlyArray<Step<Target>>
}

/**
 * The observations of a scenario, step by step. A step that fails has seen nothing of what it is there for, whatever the
 * other side does: it is no observation, and ends the scenario.
 */
export const observe = <Target>(scenario: Scenario<Target>, target: Target) =>
  Effect.forEach(scenario.steps, (step) =>
    step.run(target).pipe(
      Effect.mapError((cause) => new Error(`${scenario.name}: "${step.name}" failed: ${cause}`, { cause })),
      Effect.orDie,
      Effect.map((observed) => ({ step: step.name, observed })),
    ),
  )

/** Runs a scenario on both sides and asserts that they saw the same. */
export const agree = Effect.fnUntraced(function* <Target>(
  scenario: Scenario<Target>,
  twin: Target,
  real: Target,
) {
  const expected = yield* observe(scenario, real)
  const found = yield* observe(scenario, twin)
  assert.deepStrictEqual(found, expected)
})

/**
 * Writes each distinct value as `<prefix>-1`, `<prefix>-2` in the order of first sight, so that two runs can be
 * compared by which values are the same.
 */
export const makeNamer = (prefix: string) => {
  const names = new Map<string, string>()
  return (value: string | undefined): string | undefined => {
    if (value === undefined) return undefined
    const known = names.get(value) ?? `${prefix}-${names.size + 1}`
    names.set(value, known)
    return known
  }
}

import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { agree, type Scenario } from "./Scenario.ts"

interface Side {
  readonly look: Effect.Effect<string, string>
}
const looking: Scenario<Side> = { name: "looking", steps: [{ name: "look", run: ({ look }) => look }] }
const saw = (what: string): Side => ({ look: Effect.succeed(what) })
const failed: Side = { look: Effect.fail("no answer") }

const verdict = (scenario: Scenario<Side>, twin: Side, real: Side) =>
  Effect.map(Effect.exit(agree(scenario, twin, real)), (exit) =>
    Exit.isSuccess(exit) ? "agree" : String(Cause.squash(exit.cause)),
  )

describe("two sides", () => {
  it.effect("agree where they saw the same", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* verdict(looking, saw("a"), saw("a")), "agree")
      assert.notStrictEqual(yield* verdict(looking, saw("a"), saw("b")), "agree")
    }),
  )

  it.effect("do not agree over a step that fails on both", () =>
    Effect.gen(function* () {
      const words = 'Error: looking: "look" failed: no answer'
      assert.strictEqual(yield* verdict(looking, failed, failed), words)
      assert.strictEqual(yield* verdict(looking, failed, saw("a")), words)
    }),
  )

  it.effect("agree over a failure that the step is there to see", () =>
    Effect.gen(function* () {
      const refused: Scenario<Side> = {
        name: "refused",
        steps: [{ name: "is refused", run: ({ look }) => Effect.flip(look) }],
      }
      assert.strictEqual(yield* verdict(refused, failed, failed), "agree")
      assert.notStrictEqual(yield* verdict(refused, saw("a"), saw("a")), "agree")
    }),
  )
})

// The same scripts on a real kube-apiserver with its controller-manager: what was recorded of it is still what it does.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { startControlPlane } from "./controllers/ControlPlane.ts"
import { asJson, observeTwin, recorded, scenarios } from "./controllers/scenarios.ts"
import { observe } from "./Scenario.ts"

const MINUTES = 60_000

describe("a real controller-manager", () => {
  it.live(
    "does what was recorded of it, and what the twin does",
    () =>
      Effect.gen(function* () {
        const real = yield* startControlPlane
        for (const make of scenarios) {
          const observed = asJson(yield* observe(make(), real))
          assert.deepStrictEqual(observed, recorded(make()), make().name)
          assert.deepStrictEqual(observeTwin(make(), 1), observed, make().name)
        }
      }).pipe(Effect.scoped),
    10 * MINUTES,
  )
})

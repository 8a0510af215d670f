// The twin of vCluster against a real one: the same script, and the same seen at each step.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { asJson } from "../conformance/controllers/scenarios.ts"
import { observe } from "../conformance/Scenario.ts"
import { vclusterScenario } from "../conformance/vcluster/scenario.ts"
import { vclusterTwin } from "../conformance/vcluster/twin.ts"
import { simulate } from "../twins/simulation/Simulation.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { vclusterOnCluster } from "./support/VclusterTarget.ts"

const namespace = "conformance"
leavesNothing(namespace)

describe("the twin of vCluster", () => {
  it.live(
    "sees what the real one sees",
    () =>
      Effect.gen(function* () {
        const real = asJson(
          yield* Effect.flatMap(vclusterOnCluster(namespace), (target) =>
            observe(vclusterScenario(), target),
          ),
        )
        const twin = asJson(
          simulate(
            Effect.flatMap(vclusterTwin(namespace), (target) => observe(vclusterScenario(), target)),
            { seed: 1 },
          ),
        )
        assert.deepStrictEqual(twin, real)
      }).pipe(Effect.scoped),
    1_800_000,
  )
})

// The twin of vCluster does, under any order of events, what was seen of a real one on the local cluster.
import { readFileSync } from "node:fs"
import path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { simulate } from "../twins/simulation/Simulation.ts"
import { seeds } from "../twins/simulation/seeds.ts"
import { asJson } from "./controllers/scenarios.ts"
import { observe } from "./Scenario.ts"
import { vclusterScenario } from "./vcluster/scenario.ts"
import { vclusterTwin } from "./vcluster/twin.ts"

/** vCluster 0.36.1 on Kubernetes 1.35.4; `test/e2e/conformance.test.ts` compares with a real one as it is today. */
const recorded = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "vcluster/observed-0.36.1.json"), "utf8"),
)

describe("the twin of vCluster", () => {
  it.each(seeds(2))("sees what was seen of a real one (seed %i)", (seed) => {
    simulate(
      Effect.gen(function* () {
        const observed = yield* observe(vclusterScenario(), yield* vclusterTwin("conformance"))
        // In here, so that a failure says how to replay it.
        assert.deepStrictEqual(asJson(observed), recorded)
      }),
      { seed },
    )
  })
})

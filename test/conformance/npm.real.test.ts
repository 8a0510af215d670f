// npm and a registry on loopback against their twins.
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporary } from "../services/Pulumi/harness.ts"
import { simulate } from "../twins/simulation/Simulation.ts"
import { makeRealSide } from "./npm/RealSide.ts"
import { scenario } from "./npm/scenario.ts"
import { makeTwinSide } from "./npm/TwinSide.ts"
import { observe } from "./Scenario.ts"

it.live(
  "npm and its twin install, refuse and fail alike",
  () =>
    Effect.gen(function* () {
      const twin = simulate(
        Effect.flatMap(makeTwinSide, (side) => observe(scenario, side)),
        { seed: 1 },
      )
      const real = yield* observe(scenario, yield* makeRealSide(yield* temporary))
      assert.deepStrictEqual(twin, real)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
  300_000,
)

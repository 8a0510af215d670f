// Instances that are refused at once, several in one moment: their operations end while a pass over them is on its way.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { key, makeWorld } from "../twins/world/World.ts"

describe("instances that are refused in one moment", () => {
  it.each([1, 2, 3, 4, 5])("are each tried again with pauses, and no actor dies: seed %d", (seed) => {
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.startOperator()
        world.apply()
        yield* until(() => world.isReady(), "10 minutes", "the first one is Ready")
        const keys = ["two", "three", "four", "five"].map((name) => ({ ...key, name }))
        for (const each of keys) world.apply({ platform: { storageRoot: "/" } }, each)
        const refused = () => keys.every((each) => world.status(each)?.phase === "Failed")
        yield* until(refused, "10 minutes", "the others are refused")
        yield* Effect.sleep("5 minutes")
        const told = world.admin
          .list(Kinds.Event)
          .flatMap((event) => ("reason" in event ? [event.reason] : []))
        assert.include(told, "InvalidStorageRoot")
        assert.notInclude(told, "InternalError")
      }),
      { seed },
    )
  })
})

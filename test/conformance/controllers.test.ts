// The controllers of the twins do, under any order of events, what was seen of a real kube-controller-manager.
import { assert, describe, it } from "@effect/vitest"
import { seeds } from "../twins/simulation/seeds.ts"
import { observeTwin, recorded, scenarios } from "./controllers/scenarios.ts"

describe("the controllers of the twins", () => {
  for (const make of scenarios) {
    it.each(seeds(3))(`${make().name} (seed %i)`, (seed) => {
      observeTwin(make(), seed, (observed) => assert.deepStrictEqual(observed, recorded(make())))
    })
  }
})

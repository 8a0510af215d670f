// F21: nothing is refreshed against a target that does not answer, or is another one; and a state keeps what it knows.
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { runControllerManager } from "../../twins/controllers/ControllerManager.ts"
import { makeApiServer } from "../../twins/kubernetes/Server.ts"
import { makeWorld, type World } from "../../twins/pulumi/testWorld.ts"
import { simulate, until } from "../../twins/simulation/Simulation.ts"

const resources = (world: World): number =>
  JSON.parse(
    gunzipSync(
      world.files.readFile(`${world.instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz`),
    ).toString("utf8"),
  ).checkpoint.latest.resources.length

describe("F21 a target that stops answering", () => {
  it("before a refresh is not refreshed", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.run()
        const before = resources(world)
        world.stopListening()
        world.steps.length = 0
        const error = yield* Effect.flip(world.run({ refresh: true }))
        assert.match(error.message, /^The instance's cluster does not answer/)
        assert.notInclude(world.steps, "start engine")
        assert.notInclude(world.steps, "refresh")
        assert.strictEqual(resources(world), before)
      }),
      { seed: 1 },
    ))

  it("during a refresh leaves the state with as many resources as before", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.run()
        const before = resources(world)
        const fiber = yield* Effect.forkChild(Effect.flip(world.run({ refresh: true })))
        yield* until(() => world.steps.includes("refresh"), "5 minutes", "it refreshes")
        world.stopListening()
        const error = yield* Fiber.join(fiber)
        assert.match(error.message, /^The instance's cluster does not answer/)
        assert.strictEqual(resources(world), before)
        world.network.listen(world.address.host, world.address.port, world.endpoint)
        assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: before })
      }),
      { seed: 1 },
    ))

  it("and is another cluster when it answers again: nothing is refreshed, nothing is applied", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.run()
        const before = resources(world)
        const other = yield* makeApiServer({ name: "other" })
        yield* runControllerManager(other, {})
        yield* Effect.sleep("1 minute")
        world.stopListening()
        const { host, port } = world.address
        world.network.listen(host, port, { ...world.endpoint, api: other })
        world.steps.length = 0
        const error = yield* Effect.flip(world.run({ refresh: true }))
        assert.match(error.message, /another cluster|has drifted|no deployed record/)
        assert.notInclude(world.steps, "refresh")
        assert.notInclude(world.steps, "up")
        assert.strictEqual(resources(world), before)
      }),
      { seed: 1 },
    ))
})

// A day in which an instance fails: what it leaves of Events and of history.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { HistoryText, MAX_OPERATIONS } from "../../src/schema/History.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { runSimulation, until } from "../twins/simulation/Simulation.ts"
import { key, makeWorld } from "../twins/world/World.ts"

describe("F51 an instance that fails for 24 hours", () => {
  // Nothing in here waits in real time: how long it takes says what else the machine is doing.
  it("leaves ten Event objects at most, and the last 50 operations of its history", {
    timeout: 600_000,
  }, () => {
    const { result } = runSimulation(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false })
        const made = new Map<string, string>()
        let told = 0
        world.host.subscribe(({ type, kind, object }) => {
          if (
            kind.kind !== "Event" ||
            object.reportingController !== "platform.di-framework.dev/platform-operator"
          )
            return
          told += 1
          if (type === "ADDED") made.set(object.metadata.name, String(object.reason))
        })
        yield* world.startOperator()
        world.registry.refuse()
        world.apply()
        yield* until(() => world.status()?.phase === "Failed", "1 hour", "the instance fails")
        yield* Effect.sleep("12 hours")
        // The same trouble, in other words each time.
        world.registry.mend()
        for (let hour = 0; hour < 12; hour++) {
          world.registry.answer(500 + hour)
          yield* Effect.sleep("1 hour")
        }
        const failing = world.status()?.phase
        world.registry.mend()
        yield* until(() => world.isReady(), "1 hour", "the instance is Ready")
        const copy = world.admin.get(Kinds.ConfigMap, {
          namespace: key.namespace,
          name: `${key.name}-history`,
        })
        return { made, told, failing, data: copy?.data }
      }),
      { seed: 1, maxSteps: 20_000_000, stacks: false },
    )
    assert.strictEqual(result.failing, "Failed")
    const warnings = [...result.made.values()].filter((reason) => reason === "InstallFailed")
    assert.isAtLeast(warnings.length, 1)
    assert.isAtMost(warnings.length, 10)
    // Each of the many tries was counted in.
    assert.isAbove(result.told, 80)
    const data = Schema.decodeUnknownSync(Schema.Struct({ "history.json": Schema.String }))(result.data)
    const { operations } = Schema.decodeSync(HistoryText)(data["history.json"])
    assert.lengthOf(operations, MAX_OPERATIONS)
    assert.deepInclude(operations.at(-1), { what: "install", why: "Retry", outcome: "succeeded" })
    assert.deepInclude(operations.at(-2), { what: "install", outcome: "failed", reason: "InstallFailed" })
  })
})

// The record of the vCluster's release, as Helm keeps it, is damaged: Helm passes over what it cannot decode, and knows of no
// release any more.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { findCondition } from "../../src/schema/Conditions.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { recordName } from "../twins/helm/Release.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { assertHeld, type CheckedWorld, goneWithAll, makeChecked, well, writesNothing } from "./checked.ts"

const recordOf = (world: CheckedWorld, revision: number) => ({
  namespace: world.hostNamespace(),
  name: recordName("vcluster", revision),
})

const damage = (world: CheckedWorld, revision = 1) => {
  const data = { release: Buffer.from("no release").toString("base64") }
  world.admin.patch(Kinds.Secret, recordOf(world, revision), { type: "merge", patch: { data } })
}

const targetReady = (world: CheckedWorld) => findCondition(world.status()?.conditions, "TargetReady")

/** With an operator and an instance that is well. */
const installed = Effect.gen(function* () {
  const world = yield* makeChecked()
  const operator = yield* world.operate()
  world.apply()
  yield* well(world)
  return { world, operator }
})

const timeout = 600_000

describe("a release record that cannot be read", { timeout }, () => {
  it("is told at once by an operator that starts, as one reason that stays; with the record back all is well", () =>
    simulate(
      Effect.gen(function* () {
        const { world, operator } = yield* installed
        const record = world.admin.get(Kinds.Secret, recordOf(world, 1)) ?? assert.fail("there is no record")
        const { data } = record
        damage(world)
        yield* operator.kill("container")
        yield* until(
          () => targetReady(world)?.reason === "TargetError" && world.status()?.phase === "Failed",
          "2 minutes",
          "it is told",
        )
        assert.match(targetReady(world)?.message ?? "", /^read the stored release: Secret \S+ cannot be read/)
        yield* writesNothing(world, "2 hours")
        world.admin.patch(Kinds.Secret, recordOf(world, 1), { type: "merge", patch: { data } })
        yield* until(() => world.isReady(), "2 minutes", "the instance is Ready")
        assertHeld(world)
      }),
      { seed: 1, stacks: false },
    ))

  it.each([
    { known: "by an operator that has read it before", restarts: false },
    { known: "by one that has not", restarts: true },
  ])("does not hold a deletion $known", ({ restarts }) =>
    simulate(
      Effect.gen(function* () {
        const { world, operator } = yield* installed
        damage(world)
        if (restarts) {
          yield* operator.kill("container")
          yield* until(() => world.status()?.phase === "Failed", "2 minutes", "it is told")
        }
        world.remove()
        yield* until(() => world.instance() === undefined, "5 minutes", "the instance is gone")
        yield* goneWithAll(world)
        assertHeld(world)
      }),
      { seed: 1, stacks: false },
    ),
  )
})

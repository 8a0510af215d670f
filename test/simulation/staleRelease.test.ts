// What Helm is called for is decided on what is there: an operator that starts over the cache of a server that is behind sees
// a release that has only been begun, or none, where the vCluster has long been in use.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { assertHeld, isWell, makeChecked, patience, well } from "./checked.ts"
import { identityOf } from "./identity.ts"

const record = /^sh\.helm\.release\.v1\.vcluster\.v1$/

describe("a start over a cache of the release's records", { timeout: 600_000 }, () => {
  it.each(["pending-install", "none"] as const)("in which there is %s changes nothing", (seen) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeChecked()
        const before = world.admin.list(Kinds.Namespace)[0]?.metadata.resourceVersion ?? "1"
        let pending: string | undefined
        world.host.subscribe(({ object, type }) => {
          if (type === "ADDED" && record.test(object.metadata.name)) pending = object.metadata.resourceVersion
        })
        const operator = yield* world.operate()
        world.apply()
        yield* well(world)
        // Until the vCluster has synced all that there is.
        yield* Effect.sleep("5 minutes")
        yield* operator.stop
        const parts = identityOf(world)
        world.host.faults.freezeCache(Kinds.Secret, seen === "none" ? before : pending)
        const helm: Array<string> = []
        yield* world.operate({
          onCall: ({ what }) => {
            if (/^spawn \S*helm (?!show)/.test(what)) helm.push(what.split(" ").slice(2, 4).join(" "))
          },
        })
        // Longer than a release that nobody is at work on is left alone.
        yield* Effect.sleep("30 minutes")
        world.host.faults.thawCache(Kinds.Secret)
        yield* until(() => isWell(world), patience, "it is Ready")
        assert.deepStrictEqual(helm, [])
        assert.deepStrictEqual(identityOf(world), parts)
        assertHeld(world)
      }),
      { seed: 1, stacks: false },
    ),
  )
})

// That what holds at every instant is looked at: each breach here is told.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { simulate } from "../simulation/Simulation.ts"
import { keepInvariants } from "./Invariants.ts"
import { makeWorld } from "./World.ts"

const calls = [
  { what: "GET /api/v1/pods", writes: false, told: false },
  {
    what: "PATCH /apis/coordination.k8s.io/v1/namespaces/platform-operator/leases/x",
    writes: true,
    told: false,
  },
  { what: "spawn /usr/local/bin/helm show chart /chart", writes: true, told: false },
  { what: "POST /api/v1/namespaces", writes: true, told: true },
  { what: "spawn /usr/local/bin/helm upgrade --install vcluster", writes: true, told: true },
]

describe("an operator that does not lead", () => {
  it.each(calls)("and calls $what is told: $told", ({ what, writes, told }) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false })
        const invariants = keepInvariants(world)
        const namespace = world.settings.operatorNamespace
        world.admin.create(Kinds.Lease, {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { namespace, name: "platform-operator" },
          spec: { holderIdentity: "leader" },
        })
        invariants.onCall({ what, writes }, { processes: [], candidate: "leader" })
        invariants.onCall({ what, writes }, { processes: [] })
        assert.deepStrictEqual(invariants.broken(), [])
        invariants.onCall({ what, writes }, { processes: [], candidate: "other" })
        assert.deepStrictEqual(invariants.broken(), told ? [`other does not lead, and calls ${what}`] : [])
      }),
      { seed: 1 },
    ),
  )
})

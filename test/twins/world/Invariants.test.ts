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

describe("what is secret", () => {
  const secrets: ReadonlyArray<readonly [string, string]> = [
    ["the passphrase", "correct horse battery staple"],
    ["the registry's token", "planted-registry-token"],
    ["clientSecret of Secret team-a/oauth", "planted client secret"],
    ["clientSecret of Secret team-a/oauth", Buffer.from("planted client secret").toString("base64")],
    ["config of Secret team-a/kubeconfig", "cGxhbnRlZCBrZXk="],
    ["config of Secret team-a/kubeconfig", "planted key"],
    ["config of Secret team-a/kubeconfig", "planted-token"],
  ]

  it.each(secrets)("as %s: is told wherever it is: %s", (what, text) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false, tenantAuth: true })
        const invariants = keepInvariants(world)
        const namespace = "team-a"
        const kubeconfig =
          "users:\n- user:\n    client-key-data: cGxhbnRlZCBrZXk=\n    token: planted-token\n"
        const put = (kind: typeof Kinds.Secret, name: string, rest: Readonly<Record<string, unknown>>) =>
          world.admin.create(kind, {
            apiVersion: "v1",
            kind: kind.kind,
            metadata: { namespace, name },
            ...rest,
          })
        put(Kinds.Secret, "kubeconfig", { stringData: { config: kubeconfig } })
        put(Kinds.ConfigMap, "harmless", { data: { text: "nothing" } })
        invariants.onLog("nothing")
        assert.deepStrictEqual(invariants.broken(), [])
        put(Kinds.ConfigMap, "telling", { data: { text: `before ${text} after` } })
        invariants.onLog(`before ${text} after`)
        assert.deepStrictEqual(invariants.broken(), [
          `${what} is in ConfigMap telling`,
          `${what} is in the log`,
        ])
      }),
      { seed: 1 },
    ),
  )
})

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

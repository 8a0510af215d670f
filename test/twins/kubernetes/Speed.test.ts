import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { KubernetesTwin } from "./KubernetesTwin.ts"
import { makeApiServer } from "./Server.ts"

const READS = 20_000

describe("reading through the live client", () => {
  it.live("is fast enough for months of probes", () =>
    Effect.gen(function* () {
      const api = yield* makeApiServer({ name: "host" })
      api.as("admin").create(Kinds.ConfigMap, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "one", namespace: "default", labels: { a: "b" } },
        data: { k: "v" },
      })
      const read = Effect.gen(function* () {
        const kubernetes = yield* Kubernetes
        for (let count = 0; count < READS; count++) {
          const found = yield* kubernetes.get(Kinds.ConfigMap, { namespace: "default", name: "one" })
          assert.isTrue(Option.isSome(found))
        }
      }).pipe(Effect.provide(KubernetesTwin(api, { user: "admin" })))
      yield* read
      const before = process.cpuUsage()
      yield* read
      const rate = Math.round(READS / (process.cpuUsage(before).user / 1_000_000))
      // A figure to look at: how fast the machine is today decides nothing.
      yield* Effect.logInfo(`${rate} reads a second of CPU`)
    }),
  )
})

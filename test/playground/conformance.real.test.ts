// The scenarios that the twin and a real API server are held to, over the wire: HTTPS and JSON text leave nothing out.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { makeCredentials } from "../../tools/playground/Certificate.ts"
import { handlerOf, listen } from "../../tools/playground/HttpsApi.ts"
import { kubeconfig } from "../../tools/playground/Kubeconfig.ts"
import { makePodLogs } from "../../tools/playground/PodLog.ts"
import { realServer } from "../conformance/kubernetes/RealServer.ts"
import { scenarios } from "../conformance/kubernetes/Scenarios.ts"
import { targetOf } from "../conformance/kubernetes/Target.ts"
import { twinServer } from "../conformance/kubernetes/TwinServer.ts"
import { agree } from "../conformance/Scenario.ts"
import { makeApiServer } from "../twins/kubernetes/Server.ts"

vi.setConfig({ testTimeout: 300_000 })

const served = Effect.acquireRelease(
  Effect.gen(function* () {
    const api = yield* makeApiServer({ name: "host" })
    const credentials = makeCredentials(Date.now())
    const options = {
      api,
      credentials,
      token: "token",
      logs: makePodLogs(),
      now: () => new Date(),
      ahead: () => 0,
      enter: <A>(call: () => A) => call(),
    }
    const listening = yield* Effect.promise(() => listen(credentials, 0, handlerOf(options)))
    return {
      listening,
      config: kubeconfig(`https://127.0.0.1:${listening.port}`, credentials.certificate, "token"),
    }
  }),
  ({ listening }) => Effect.promise(listening.close),
)

describe("the playground's API", () => {
  it.live("answers as the twin behind it", () =>
    Effect.gen(function* () {
      const { config } = yield* served
      const wire = yield* realServer(config)
      const twin = twinServer(yield* makeApiServer({ name: "twin" }))
      assert.isNotEmpty(scenarios)
      for (const scenario of scenarios) yield* agree(scenario, targetOf(twin), targetOf(wire))
    }).pipe(Effect.scoped),
  )
})

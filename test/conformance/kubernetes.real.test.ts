// What the twin of the API server claims, held against kube-apiserver and etcd: the same raw requests to both.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { startApiServer } from "../services/Pulumi/apiServer.ts"
import { makeApiServer } from "../twins/kubernetes/Server.ts"
import { realServer } from "./kubernetes/RealServer.ts"
import { scenarios } from "./kubernetes/Scenarios.ts"
import { targetOf, until } from "./kubernetes/Target.ts"
import { twinServer } from "./kubernetes/TwinServer.ts"
import { agree } from "./Scenario.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "api-server-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true })),
)

describe("the API server", () => {
  it.live(
    "answers as the real one",
    () =>
      Effect.gen(function* () {
        const { kubeconfig } = yield* startApiServer(yield* folder)
        const real = yield* realServer(kubeconfig)
        const twin = twinServer(yield* makeApiServer({ name: "twin" }))
        // It answers before it has made its own roles.
        yield* until("it is ready", { method: "GET", path: "/readyz" }, 200).run(targetOf(real))
        for (const scenario of scenarios) yield* agree(scenario, targetOf(twin), targetOf(real))
      }).pipe(Effect.scoped),
    300_000,
  )
})

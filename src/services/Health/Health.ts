// /healthz: the process runs. /readyz: its caches are complete and their watches alive. /metrics: Prometheus.
// Liveness never depends on the API server: an outage there must not restart the operator.

import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, Ref } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { WatchHealth } from "../Kubernetes/WatchHealth.ts"

/** Whether the operator takes work: set once its caches are complete, cleared when it begins to stop. */
export class Ready extends Context.Service<Ready, Ref.Ref<boolean>>()("platform-operator/Ready") {
  static readonly layer = Layer.effect(Ready, Ref.make(false))
}

export interface Address {
  readonly host: string
  readonly port: number
}

const server = ({ host, port }: Address) =>
  NodeHttpServer.layer(createServer, { host, port, gracefulShutdownTimeout: "2 seconds" })

/** Watches whose kind the server refuses or does not know: what an administrator has to mend. */
const brokenWatches = Effect.gen(function* () {
  const { statuses } = yield* WatchHealth
  const all = yield* statuses
  return all.filter(({ state }) => state === "Forbidden").map(({ name, state }) => `${name}: ${state}`)
})

const probes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const ready = yield* Ready
    const health = yield* WatchHealth
    yield* router.add("GET", "/healthz", HttpServerResponse.text("ok\n"))
    yield* router.add(
      "GET",
      "/readyz",
      Effect.gen(function* () {
        const broken = yield* brokenWatches.pipe(Effect.provideService(WatchHealth, health))
        if (broken.length > 0) return HttpServerResponse.text(`${broken.join("\n")}\n`, { status: 503 })
        return (yield* Ref.get(ready))
          ? HttpServerResponse.text("ok\n")
          : HttpServerResponse.text("caches are not complete yet\n", { status: 503 })
      }),
    )
  }),
)

export const healthLayer = (address: Address) =>
  HttpRouter.serve(probes, { disableLogger: true }).pipe(
    Layer.provide(HttpMiddleware.layerTracerDisabledForUrls(["/healthz", "/readyz"])),
    Layer.provide(server(address)),
  )

export const metricsLayer = (address: Address) =>
  HttpRouter.serve(PrometheusMetrics.layerHttp({ path: "/metrics" }), { disableLogger: true }).pipe(
    Layer.provide(HttpMiddleware.layerTracerDisabledForUrls(["/metrics"])),
    Layer.provide(server(address)),
  )

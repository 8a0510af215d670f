// /livez and /healthz: the process runs. /readyz: the definition is new enough, the caches complete and no watch refused.
// /metrics: Prometheus. Liveness never depends on the API server: an outage there must not restart the operator.
import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { Data, Effect, Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import type { WatchHealth } from "../Kubernetes/WatchHealth.ts"
import { scrape } from "../Metrics/Collectors.ts"
import type { CrdCheck } from "./CrdCheck.ts"
import { problems, type Ready } from "./Readiness.ts"

/** Where to listen; without a host on every interface, port 0 being any free one. */
export interface Address {
  readonly host?: string
  readonly port: number
}

/** The address of that flag cannot be listened on. */
export class AddressError extends Data.TaggedError("AddressError")<{ readonly message: string }> {}

const server = (flag: string, { host, port }: Address) =>
  NodeHttpServer.layer(createServer, {
    port,
    ...(host !== undefined && { host }),
    gracefulShutdownTimeout: "2 seconds",
  }).pipe(
    Layer.catch(({ cause }) =>
      Layer.effectContext(
        Effect.fail(
          new AddressError({
            message: `${flag} ${host ?? ""}:${port}: ${cause instanceof Error ? cause.message : String(cause)}; give it another address`,
          }),
        ),
      ),
    ),
  )

const logAddress = (paths: ReadonlyArray<string>) =>
  Layer.effectDiscard(
    HttpServer.addressFormattedWith((address) =>
      Effect.logInfo("listening").pipe(Effect.annotateLogs({ address, paths: paths.join(" ") })),
    ),
  )

/** One answer under the name that Kubernetes has today and under the older one. */
const alive = ["/livez", "/healthz"] as const

const probes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const context = yield* Effect.context<CrdCheck | Ready | WatchHealth>()
    for (const path of alive) yield* router.add("GET", path, HttpServerResponse.text("ok\n"))
    yield* router.add(
      "GET",
      "/readyz",
      Effect.map(Effect.provideContext(problems, context), (found) =>
        found.length === 0
          ? HttpServerResponse.text("ok\n")
          : HttpServerResponse.text(`${found.join("\n")}\n`, { status: 503 }),
      ),
    )
  }),
)

export const healthLayer = (address: Address) =>
  HttpRouter.serve(probes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.merge(logAddress([...alive, "/readyz"])),
    Layer.provide(HttpMiddleware.layerTracerDisabledForUrls([...alive, "/readyz"])),
    Layer.provide(server("--health-address", address)),
  )

const metrics = HttpRouter.use((router) =>
  router.add(
    "GET",
    "/metrics",
    Effect.map(scrape, (body) =>
      HttpServerResponse.text(body, { contentType: "text/plain; version=0.0.4; charset=utf-8" }),
    ),
  ),
)

export const metricsLayer = (address: Address) =>
  HttpRouter.serve(metrics, {
    disableLogger: true,
    disableListenLog: true,
  }).pipe(
    Layer.merge(logAddress(["/metrics"])),
    Layer.provide(HttpMiddleware.layerTracerDisabledForUrls(["/metrics"])),
    Layer.provide(server("--metrics-address", address)),
  )

// The host cluster, as the kubeconfig or the pod's service account names it.
import type { KubeConfig } from "@kubernetes/client-node"
import { Context, Duration, Effect, Layer, type Redacted } from "effect"
import type { ApiFailure } from "./ApiFailure.ts"
import { makeClient, pageReader, whoAmI } from "./Client.ts"
import { loadDefault, loadText, makeCredentialSource } from "./Credentials.ts"
import { type Http, makeHttp } from "./Http.ts"
import { resourceName } from "./Kinds.ts"
import { type KubeError, Kubernetes, type ResourceKind } from "./Kubernetes.ts"
import { listWatch } from "./ListWatch.ts"
import { INSIDE } from "./RequestCounts.ts"
import { watchRequest } from "./Requests.ts"
import { makeWatchRegistry, WatchHealth } from "./WatchHealth.ts"
import type { WatchTransport } from "./WatchOnce.ts"

/** How long a request to the host cluster may take, lists included, watches not. */
const TIMEOUT = Duration.seconds(30)
/** The same for a cluster reached by `connect`. */
const CONNECT_TIMEOUT = Duration.seconds(10)

/** A list-watch's transport over HTTP. It lives as long as the process: each request is a trace of its own. */
export const httpWatchTransport = (http: Http): WatchTransport => {
  const readPage = pageReader(http)
  const traced = (name: string, kind: ResourceKind) =>
    Effect.withSpan(name, {
      kind: "client",
      root: true,
      attributes: { "k8s.resource": resourceName(kind) },
    })
  return {
    list: (kind, options, page) => readPage(kind, options, page).pipe(traced("k8s.list", kind)),
    watch: (kind, options, request) =>
      http.bytes(watchRequest(kind, options, request)).pipe(traced("k8s.watch", kind)),
  }
}

/** A client of the cluster that a kubeconfig's text names, see `Kubernetes.connect`. */
export const connect = Effect.fnUntraced(
  function* (kubeconfig: Redacted.Redacted, options?: { readonly timeout?: number }) {
    const source = yield* makeCredentialSource(loadText(kubeconfig))
    const timeout = options?.timeout === undefined ? CONNECT_TIMEOUT : Duration.millis(options.timeout)
    return makeClient(yield* makeHttp(source, { timeout, host: INSIDE }))
  },
  Effect.mapError((failure): KubeError => failure.error),
)

/** The same as `layer`, with a kubeconfig of one's own choosing. It is loaded again when a token was refused. */
export const layerFrom = (
  load: Effect.Effect<KubeConfig, ApiFailure>,
): Layer.Layer<Kubernetes | WatchHealth, KubeError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const http = yield* makeHttp(yield* makeCredentialSource(load), { timeout: TIMEOUT })
      const registry = yield* makeWatchRegistry
      const transport = httpWatchTransport(http)
      return Context.make(WatchHealth, { statuses: registry.statuses }).pipe(
        Context.add(Kubernetes, {
          ...makeClient(http),
          listWatch: (kind, options) => listWatch(transport, registry, kind, options),
          whoAmI: whoAmI(http),
          connect,
        }),
      )
    }).pipe(Effect.mapError((failure) => failure.error)),
  )

/**
 * `Kubernetes` and the health of its watches. Fails when there is no usable configuration; that the server can be
 * reached is not checked here.
 */
export const layer: Layer.Layer<Kubernetes | WatchHealth, KubeError> = layerFrom(loadDefault)

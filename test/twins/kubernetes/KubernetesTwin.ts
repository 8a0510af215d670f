// The operator's `Kubernetes` service, live from the HTTP on upwards, over an API server in memory.
import { Context, Effect, Layer, type Redacted, type Scope } from "effect"
import { transportFailure } from "../../../src/services/Kubernetes/ApiFailure.ts"
import { makeClient, whoAmI } from "../../../src/services/Kubernetes/Client.ts"
import type { Http } from "../../../src/services/Kubernetes/Http.ts"
import {
  type KubeError,
  Kubernetes,
  type KubernetesClient,
} from "../../../src/services/Kubernetes/Kubernetes.ts"
import { httpWatchTransport } from "../../../src/services/Kubernetes/KubernetesLive.ts"
import { listWatch } from "../../../src/services/Kubernetes/ListWatch.ts"
import { makeWatchRegistry, WatchHealth } from "../../../src/services/Kubernetes/WatchHealth.ts"
import type { ApiServer } from "./ApiServer.ts"
import { type HttpOptions, httpOf } from "./Http.ts"

type Connect = (
  kubeconfig: Redacted.Redacted,
  options?: { readonly timeout?: number },
) => Effect.Effect<KubernetesClient, KubeError, Scope.Scope>

const unconnected: Connect = () =>
  Effect.fail(transportFailure("read credentials", "there is no other cluster").error)

/** The service over any `Http`, such as one that a crash driver has put itself before. */
export const kubernetesOver = Effect.fnUntraced(function* (http: Http, connect: Connect = unconnected) {
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
})

export interface TwinOptions extends HttpOptions {
  /** Clients of other clusters: `network.connectFrom(source)`. */
  readonly connect?: Connect
}

/** `Kubernetes` and `WatchHealth` of a user of the server. */
export const KubernetesTwin = (api: ApiServer, options: TwinOptions): Layer.Layer<Kubernetes | WatchHealth> =>
  Layer.effectContext(kubernetesOver(httpOf(api, options), options.connect))

// The operator's `Kubernetes` service, straight on an API server in memory.
import { Effect, Layer } from "effect"
import { makeClient, whoAmI } from "../../../src/services/Kubernetes/Client.ts"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiServer } from "../kubernetes/ApiServer.ts"
import { httpOf } from "../kubernetes/Http.ts"
import { type Arrived, directClient } from "./Client.ts"
import { directListWatch } from "./Watch.ts"

/** As a user of the server; `connect` is the network's (`network.connectDirect(source)`). */
export const DirectKubernetes = (
  api: ApiServer,
  user: string,
  connect: Kubernetes["Service"]["connect"],
): Layer.Layer<Kubernetes> =>
  Layer.sync(Kubernetes, () => {
    const http = httpOf(api, { user })
    const arrived: Arrived = { api, user }
    let token = api.faults.tokenEpoch()
    const arrive = () => {
      const isRotated = token !== api.faults.tokenEpoch()
      token = api.faults.tokenEpoch()
      return isRotated || !api.faults.isQuiet() ? undefined : arrived
    }
    return Kubernetes.of({
      ...directClient({ arrive, live: makeClient(http) }),
      listWatch: (kind, options) => directListWatch(arrive, kind, options),
      whoAmI: Effect.suspend(() => whoAmI(http)),
      connect,
    })
  })

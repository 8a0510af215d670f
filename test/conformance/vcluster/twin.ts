// The twin's side of the vCluster scenario.
import { Effect } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { ApiServer } from "../../twins/kubernetes/ApiServer.ts"
import { makeHost, valuesFor } from "../../twins/vcluster/testing/Host.ts"
import type { Answer, Rest } from "../controllers/Rest.ts"
import type { VclusterTarget } from "./scenario.ts"

const restOf = (find: () => ApiServer | undefined): Rest => ({
  request: (method, path, body) =>
    Effect.sync((): Answer => {
      const api = find()
      if (api === undefined || api.faults.isDown()) return { status: 0, body: "connection refused" }
      const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json"
      return api.handle({ user: "admin", method, path, contentType, ...(body === undefined ? {} : { body }) })
    }),
})

export const vclusterTwin = Effect.fnUntraced(function* (namespace: string) {
  const host = yield* makeHost
  const secrets: Array<string> = []
  host.api.subscribe(({ type, kind, object }) => {
    if (type === "ADDED" && kind === Kinds.Secret && object.metadata.namespace === namespace)
      secrets.push(object.metadata.name)
  })
  const target: VclusterTarget = {
    namespace,
    host: restOf(() => host.api),
    inside: restOf(() => host.vclusters.inner(namespace)),
    install: host.installVcluster(namespace, valuesFor(namespace)),
    secrets: Effect.sync(() => [...secrets]),
  }
  return target
})

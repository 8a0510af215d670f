// A vCluster that is up, and what tests look at of it.
import { Effect } from "effect"
import * as Kinds from "../../../../src/services/Kubernetes/Kinds.ts"
import { ApiStatus } from "../../kubernetes/ApiServer.ts"
import { until } from "../../simulation/Simulation.ts"
import { type Host, makeHost, valuesFor } from "./Host.ts"

export const space = "pi-team-one"
export const pod = "vcluster-0"

/** A vCluster that is up, and what it was then. */
export const upOn = Effect.fnUntraced(function* (host: Host) {
  yield* host.installVcluster(space, valuesFor(space))
  yield* until(() => isUp(host), "3 minutes", "the vCluster is up")
  return host
})
export const up = Effect.flatMap(makeHost, upOn)

export const asks = (host: Host): string | undefined => {
  try {
    return host.connect(space).get(Kinds.Namespace, { name: "kube-system" })?.metadata.uid
  } catch (error) {
    if (error instanceof ApiStatus) return undefined
    throw error
  }
}
export const isUp = (host: Host) => asks(host) !== undefined
export const uidOf = (host: Host, kind: Parameters<Host["find"]>[0], name: string) =>
  host.find(kind, space, name)?.metadata.uid
export const caOf = (host: Host) => Object(host.find(Kinds.Secret, space, "vcluster-certs")?.data)["ca.crt"]
export const ownerOf = (host: Host, secret: string) =>
  host.find(Kinds.Secret, space, secret)?.metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid])

const workload = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "app", namespace: "default" },
  spec: {
    selector: { matchLabels: { app: "app" } },
    template: {
      metadata: { labels: { app: "app" } },
      spec: {
        containers: [
          { name: "c", image: "example.com/app:1", volumeMounts: [{ name: "used", mountPath: "/used" }] },
        ],
        volumes: [{ name: "used", configMap: { name: "used" } }],
      },
    },
  },
}

/** Inside: a Deployment with a ConfigMap it mounts, and one that nobody uses. */
export const deployInside = Effect.fnUntraced(function* (host: Host) {
  const inner = host.connect(space)
  for (const name of ["used", "unused"])
    inner.create(Kinds.ConfigMap, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default" },
    })
  inner.create(Kinds.Deployment, workload)
  yield* until(
    () =>
      Object(inner.get(Kinds.Deployment, { namespace: "default", name: "app" })?.status).readyReplicas === 1,
    "2 minutes",
    "the workload inside is ready",
  )
  return inner
})
export const podsInside = (host: Host) => host.connect(space).list(Kinds.Pod, { namespace: "default" })

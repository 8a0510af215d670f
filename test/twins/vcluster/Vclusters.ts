// All vClusters of a host cluster: the program of their image on the node, their names on the network, and what can be
// done to them.
import { Effect, type Scope } from "effect"
import { Pod, Service } from "../../../src/services/Kubernetes/Kinds.ts"
import { makeCluster } from "../controllers/Cluster.ts"
import { repositoryOf } from "../controllers/node/Images.ts"
import type { NodeTwin } from "../controllers/node/Node.ts"
import { lasting } from "../controllers/node/Program.ts"
import { isReady, isTerminating, serviceOf } from "../controllers/Shapes.ts"
import { makeTasks } from "../controllers/Tasks.ts"
import type { ApiServer } from "../kubernetes/ApiServer.ts"
import type { Network } from "../kubernetes/Network.ts"
import { type Data, type Fleet, type Serving, vclusterProcess } from "./Process.ts"

export interface Vclusters {
  /** The API of the vCluster in a host namespace, while its process serves. */
  readonly inner: (namespace: string) => ApiServer | undefined
  /** The UID of the Service that the running process found when it started. */
  readonly ownerUID: (namespace: string) => string | undefined
  /** Starts take so many milliseconds more, until it is called with 0. */
  readonly slowStart: (namespace: string, millis: number) => void
  /** kube-apiserver inside ends, and the process with it. */
  readonly crash: (namespace: string) => void
  /** The API inside answers nobody any more, while the process lives on and probes have not noticed yet. */
  readonly hang: (namespace: string) => void
  readonly recover: (namespace: string) => void
  /** What is on its volume, whether it runs or not. */
  readonly data: (namespace: string) => Data | undefined
  /** Puts it in place of what is there, as `vcluster restore` does while nothing runs. */
  readonly restore: (namespace: string, data: Data) => void
  /** New certificates, and the rollout that follows from them. */
  readonly rotate: (namespace: string) => void
  /** The client certificates there are have expired. */
  readonly expire: (namespace: string) => void
}

export interface VclusterOptions {
  readonly hostApi: ApiServer
  readonly node: NodeTwin
  readonly network: Network
}

const isVcluster = (image: string) => /(^|\/)vcluster(-oss|-pro)?$/.test(repositoryOf(image))
const isKubernetes = (image: string) => /(^|\/)kubernetes$/.test(repositoryOf(image))

export const runVclusters = Effect.fnUntraced(function* ({
  hostApi,
  node,
  network,
}: VclusterOptions): Effect.fn.Return<Vclusters, never, Scope.Scope> {
  const tasks = yield* makeTasks
  const host = makeCluster(hostApi, tasks)
  yield* Effect.addFinalizer(() => Effect.sync(host.close))
  const delays = new Map<string, number>()
  const serving = new Map<string, Serving>()
  const listening = new Map<
    string,
    { readonly podUID: string; readonly serviceUID: string; readonly stop: () => void }
  >()
  const services = host.controller([20, 200], (key) => route(key.slice(1)))
  const fleet: Fleet = {
    hostApi,
    disks: new WeakMap<object, Data>(),
    volumes: new Map(),
    serving,
    changed: () => {
      for (const namespace of new Set([
        ...listening.keys(),
        ...[...serving.values()].map((each) => each.namespace),
      ]))
        services.add(`/${namespace}`)
    },
    delay: (namespace) => delays.get(namespace) ?? 0,
    processes: new Map(),
  }

  /** A Service leads to the pod that is ready; without either nobody listens. */
  const route = (namespace: string): undefined => {
    const service = host.client.get(Service, { namespace, name: "vcluster" })
    const selector = service === undefined ? undefined : serviceOf(service).spec.selector
    const target = [...serving.values()].find((each) => {
      const pod =
        each.namespace === namespace
          ? host.client.list(Pod, { namespace }).find(({ metadata }) => metadata.uid === each.podUID)
          : undefined
      return (
        pod !== undefined &&
        isReady(pod) &&
        !isTerminating(pod) &&
        Object.entries(selector ?? { none: "none" }).every(
          ([label, value]) => pod.metadata.labels?.[label] === value,
        )
      )
    })
    const now = listening.get(namespace)
    if (service === undefined || target === undefined) {
      now?.stop()
      listening.delete(namespace)
      return undefined
    }
    if (now?.podUID === target.podUID && now.serviceUID === service.metadata.uid) return undefined
    now?.stop()
    const endpoint = {
      api: target.inner,
      certificateNames: target.names,
      ca: target.ca,
      certificates: target.certificates,
    }
    const names = [
      `vcluster.${namespace}.svc`,
      `vcluster.${namespace}.svc.cluster.local`,
      `vcluster.${namespace}`,
    ]
    const stops = names.map((name) => network.listen(name, 443, endpoint))
    const stop = () => {
      for (const each of stops) each()
    }
    listening.set(namespace, { podUID: target.podUID, serviceUID: service.metadata.uid, stop })
    return undefined
  }
  host.watch(Service, ({ metadata }) => {
    if (metadata.name === "vcluster") services.add(`/${metadata.namespace ?? ""}`)
  })
  host.watch(Pod, ({ metadata }) => {
    if (metadata.labels?.app === "vcluster") services.add(`/${metadata.namespace ?? ""}`)
  })

  node.images.register((image) => isKubernetes(image), lasting(800))
  node.images.register((image) => isVcluster(image), vclusterProcess(fleet))

  const process = (namespace: string) => fleet.processes.get(namespace)
  return {
    inner: (namespace) => [...serving.values()].find((each) => each.namespace === namespace)?.inner,
    ownerUID: (namespace) => process(namespace)?.ownerUID,
    slowStart: (namespace, millis) => {
      delays.set(namespace, millis)
    },
    crash: (namespace) => process(namespace)?.crash({ code: 1, log: "kube-apiserver exited" }),
    hang: (namespace) => {
      process(namespace)?.data.inner.faults.hang()
      process(namespace)?.health({ ready: false, alive: false })
    },
    data: (namespace) => {
      const volume = fleet.volumes.get(namespace)
      return volume === undefined ? undefined : fleet.disks.get(volume)
    },
    restore: (namespace, data) => {
      const volume = fleet.volumes.get(namespace)
      if (volume === undefined) throw new Error(`no vCluster has run in ${namespace}`)
      // Certificates stay those of the Secret.
      fleet.disks.set(volume, { inner: data.inner, pki: undefined })
    },
    recover: (namespace) => {
      process(namespace)?.data.inner.faults.up()
      process(namespace)?.health({ ready: true, alive: true })
    },
    rotate: (namespace) => process(namespace)?.rotate(),
    expire: (namespace) => {
      for (const each of serving.values()) if (each.namespace === namespace) each.certificates.clear()
    },
  }
})

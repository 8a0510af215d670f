// The syncer: one controller a kind, over the virtual object and its host object. What it has seen of both is kept as
// long as the process lives: a host object that was there and is gone takes the virtual one along, and the other way
// round. Restarted, it has seen nothing and puts everything back. (vCluster 0.36.1, pkg/syncer, pkg/controllers.)
import { Pod, Service } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Cluster } from "../controllers/Cluster.ts"
import { type Controller, keyOf, refOf } from "../controllers/Controller.ts"
import { Node } from "../controllers/Kinds.ts"
import { admitPod } from "../controllers/PodSecurity.ts"
import { isTerminating, podOf } from "../controllers/Shapes.ts"
import type { ApiClient } from "../kubernetes/ApiServer.ts"
import type { Config } from "./Config.ts"
import { hostMetadata, hostName, MANAGED_BY, ownerOf, type Place, virtualOf } from "./Names.ts"
import { SYNCED, type Synced, usedBy } from "./Translate.ts"

/** A name that a pod has used counts as used for so long after the pod is gone. */
const USED_FOR = 180_000

interface Seen {
  readonly virtual: boolean
  readonly host: boolean
}

export interface SyncerOptions {
  readonly place: Place
  readonly config: Config
  /** The host cluster, watched, and the virtual one. */
  readonly host: Cluster
  readonly hostClient: ApiClient
  readonly virtual: Cluster
}

export const runSyncer = ({ place, config, host, hostClient, virtual }: SyncerOptions) => {
  const inner = virtual.client
  const used = new Map<string, number>()
  const queues = new Map<string, Controller>()

  const dnsReady = () =>
    hostClient.get(Service, {
      namespace: place.namespace,
      name: hostName({ namespace: "kube-system", name: "kube-dns" }, place.vcluster),
    }) !== undefined

  const isUsed = ({ kind }: Synced, key: string) =>
    virtual.tasks.now() - (used.get(`${kind.plural}:${key}`) ?? Number.NEGATIVE_INFINITY) < USED_FOR

  const noteUse = (pod: KubeObject) => {
    const { namespace = "" } = pod.metadata
    for (const name of usedBy(pod)) {
      const [plural = "", object = ""] = name.split("/")
      const key = `${namespace}/${object}`
      used.set(`${plural}:${key}`, virtual.tasks.now())
      queues.get(plural)?.add(key)
    }
  }

  const removeVirtual = (synced: Synced, object: KubeObject) => {
    const grace = synced.kind === Pod ? { gracePeriodSeconds: 0 } : {}
    inner.delete(synced.kind, object.metadata, { uid: object.metadata.uid, ...grace })
  }
  const removeHost = (synced: Synced, object: KubeObject, grace?: number) =>
    hostClient.delete(synced.kind, object.metadata, {
      uid: object.metadata.uid,
      ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    })

  /** There is no host object. */
  const toHost = (synced: Synced, object: KubeObject, seen: Seen | undefined): number | undefined => {
    const started = synced.kind === Pod && podOf(object).status?.startTime !== undefined
    if (synced.whenUsed && !isUsed(synced, keyOf(object.metadata))) return undefined
    if (seen?.host === true || isTerminating(object) || started) {
      removeVirtual(synced, object)
      return undefined
    }
    // A pod needs the address of its DNS, and is tried again until there is one.
    if (synced.kind === Pod && !dnsReady()) return 1_000
    const { apiVersion, kind } = object
    const metadata = hostMetadata(place, synced.kind, object)
    const manifest = { apiVersion, kind, metadata, ...synced.toHost(place, object) }
    if (synced.kind === Pod) admitPod(host.client, manifest)
    hostClient.create(synced.kind, manifest)
    return undefined
  }

  /** Stands for a node's kubelet, whose address the fake node inside has. */
  const ensureNodeService = (node: string) => {
    if (config.networking?.advanced?.proxyKubelets?.byIP !== true) return
    const ref = { namespace: place.namespace, name: `${place.vcluster}-node-${node.replaceAll(".", "-")}` }
    if (hostClient.get(Service, ref) !== undefined) return
    const labels = { "vcluster.loft.sh/belongs-to": place.vcluster, "vcluster.loft.sh/node": node }
    const selector = Object(hostClient.get(Service, place.owner.metadata)?.spec).selector
    if (selector === undefined) return
    hostClient.create(Service, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...ref, labels, ...(place.setOwner ? { ownerReferences: [ownerOf(place)] } : {}) },
      spec: { selector, ports: [{ name: "kubelet", port: 10250, targetPort: 8443 }] },
    })
  }

  const ensureNode = (name: string) => {
    ensureNodeService(name)
    if (inner.get(Node, { name }) !== undefined) return
    const created = inner.create(Node, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { "kubernetes.io/hostname": name } },
      spec: {},
    })
    inner.updateStatus(Node, { ...created, status: { conditions: [{ type: "Ready", status: "True" }] } })
  }

  const different = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b)

  const bringBack = (synced: Synced, object: KubeObject, hostObject: KubeObject) => {
    const { status, spec } = synced.back(hostObject, object)
    let latest = object
    if (spec !== undefined) {
      const now = Object(object.spec)
      if (typeof spec.nodeName === "string") ensureNode(spec.nodeName)
      if (Object.entries(spec).some(([field, value]) => different(now[field], value)))
        latest = inner.update(synced.kind, { ...object, spec: { ...now, ...spec } })
    }
    if (status !== undefined && different(latest.status, status))
      inner.updateStatus(synced.kind, { ...latest, status })
  }

  /** Both are there. */
  const both = (synced: Synced, object: KubeObject, hostObject: KubeObject): number | undefined => {
    const uid = virtualOf(synced.kind, hostObject)?.uid
    // Of an earlier virtual object of that name. A Service's is taken over.
    if (uid !== undefined && uid !== object.metadata.uid && synced.kind !== Service) {
      if (!isTerminating(hostObject)) removeHost(synced, hostObject)
      return 1_000
    }
    if (synced.kind === Pod) {
      const grace = podOf(hostObject).metadata.deletionGracePeriodSeconds ?? 30
      if (isTerminating(hostObject)) {
        if (!isTerminating(object))
          inner.delete(Pod, object.metadata, { uid: object.metadata.uid, gracePeriodSeconds: grace })
        const live = inner.get(Pod, object.metadata)
        if (live !== undefined) bringBack(synced, live, hostObject)
        return undefined
      }
      if (isTerminating(object)) {
        removeHost(synced, hostObject, podOf(object).metadata.deletionGracePeriodSeconds ?? 30)
        return undefined
      }
    } else if (isTerminating(object)) {
      if (!isTerminating(hostObject)) removeHost(synced, hostObject)
      return undefined
    }
    bringBack(synced, object, hostObject)
    const wanted = synced.toHost(place, object)
    const stale = synced.compared.filter((field) => {
      const current = Object(hostObject[field])
      return Object.entries(Object(wanted[field])).some(([name, value]) => different(current[name], value))
    })
    if (stale.length > 0) {
      const fields = Object.fromEntries(
        stale.map((field) => [
          field,
          field === "data" ? wanted[field] : { ...Object(hostObject[field]), ...Object(wanted[field]) },
        ]),
      )
      hostClient.update(synced.kind, { ...hostObject, ...fields })
    }
    return undefined
  }

  const run = (synced: Synced) => {
    const memory = new Map<string, Seen>()
    const { kind } = synced
    const queue = virtual.controller([30, 250], (key) => {
      const ref = refOf(key)
      const object = inner.get(kind, ref)
      const hostObject = hostClient.get(kind, {
        namespace: place.namespace,
        name: hostName(ref, place.vcluster),
      })
      const seen = memory.get(key)
      let again: number | undefined
      if (object !== undefined && hostObject !== undefined) again = both(synced, object, hostObject)
      else if (object !== undefined) again = toHost(synced, object, seen)
      else if (hostObject !== undefined) {
        // Marked as synced: the virtual object was deleted, now or while no process looked.
        if (virtualOf(kind, hostObject) !== undefined && !isTerminating(hostObject))
          removeHost(synced, hostObject)
      }
      if (object === undefined && hostObject === undefined) memory.delete(key)
      else memory.set(key, { virtual: object !== undefined, host: hostObject !== undefined })
      return again
    })
    queues.set(kind.plural, queue)
  }

  const watch = (synced: Synced) => {
    const { kind, whenUsed } = synced
    const queue = queues.get(kind.plural)
    if (queue === undefined) return
    virtual.watch(kind, (object) => {
      // The Service of the API itself is the vCluster's own on the host.
      if (
        kind === Service &&
        object.metadata.namespace === "default" &&
        object.metadata.name === "kubernetes"
      )
        return
      if (kind === Pod) noteUse(object)
      if (!whenUsed || isUsed(synced, keyOf(object.metadata))) queue.add(keyOf(object.metadata))
    })
    host.watch(kind, (object) => {
      if (
        object.metadata.namespace !== place.namespace ||
        object.metadata.labels?.[MANAGED_BY] !== place.vcluster
      )
        return
      const found = virtualOf(kind, object)
      if (found !== undefined) queue.add(keyOf(found.ref))
    })
  }

  const active = SYNCED.filter(({ enabled }) => enabled(config))
  for (const synced of active) run(synced)
  // Pods last: what they use is known by then, and queued for each.
  for (const synced of active) watch(synced)
}

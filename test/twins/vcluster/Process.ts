// One life of the vCluster process, from its start to its end. It reads its Service once, at its start, and writes its
// kubeconfig once, at the end of it; what is lost after that only another process brings back.
// (contracts: vCluster 0.36.1, cmd/vcluster/cmd/start.go, pkg/setup.)
import { Deferred, Effect, type Scope } from "effect"
import { Secret, Service, ServiceAccount, StatefulSet } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { makeCluster } from "../controllers/Cluster.ts"
import { runControllerManager } from "../controllers/ControllerManager.ts"
import type { ContainerContext, Exit } from "../controllers/node/Program.ts"
import type { NodeVolume } from "../controllers/node/Storage.ts"
import { makeTasks, type Tasks } from "../controllers/Tasks.ts"
import { type ApiClient, type ApiServer, ApiStatus } from "../kubernetes/ApiServer.ts"
import { makeApiServer } from "../kubernetes/Server.ts"
import { type Config, parseConfig } from "./Config.ts"
import { applyCoreDns } from "./CoreDns.ts"
import { ownerOf, type Place } from "./Names.ts"
import {
  certsData,
  kubeconfigData,
  LEAF_LIFE,
  newLeaves,
  newPki,
  type Pki,
  pkiOf,
  RENEWED_BEFORE,
} from "./Pki.ts"
import { runSyncer } from "./Syncer.ts"

const CIDR = "vcluster.loft.sh/service-cidr"
const ROTATED = "vcluster.loft.sh/cert-rotation-at"
const DAY = 86_400_000

/** What lies in `/data`. */
export interface Data {
  /** The store of the virtual cluster. */
  readonly inner: ApiServer
  pki: Pki | undefined
}

/** A process whose API answers on 8443. */
export interface Serving {
  readonly namespace: string
  readonly podUID: string
  readonly inner: ApiServer
  readonly names: ReadonlyArray<string>
  readonly ca: string
  /** The user that each valid client certificate stands for. */
  readonly certificates: Map<string, string>
}

export interface Fleet {
  readonly hostApi: ApiServer
  /** What is on each volume. */
  readonly disks: WeakMap<NodeVolume, Data>
  /** The volume that a vCluster runs with, or ran with last, by namespace. */
  readonly volumes: Map<string, NodeVolume>
  readonly serving: Map<string, Serving>
  /** Something of `serving` has changed. */
  readonly changed: () => void
  /** Milliseconds that a start takes beside the usual. */
  readonly delay: (namespace: string) => number
  /** Completes when kube-apiserver inside hangs or is well again, by namespace. */
  readonly processes: Map<string, ProcessHandle>
}

export interface ProcessHandle {
  /** It ends by itself, with this exit code: one of its children did. */
  readonly crash: (exit: Exit) => void
  /** Rotates its certificates now, as it does by itself 90 days before they end. */
  readonly rotate: () => void
  readonly health: (health: { readonly ready: boolean; readonly alive: boolean }) => void
  /** The UID of the Service it found. */
  readonly ownerUID: string
  readonly data: Data
}

/** Ends the process with a line of its log. */
class Fatal extends Error {
  override readonly name = "Fatal"
}

const textOf = (secret: KubeObject | undefined, key: string): string | undefined => {
  const value = Object(secret?.data)[key]
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined
}

/** Steps 3 to 5: what must be there. */
const readStart = (client: ApiClient, namespace: string, name: string) => {
  const secret = client.get(Secret, { namespace, name: `vc-config-${name}` })
  const text = textOf(secret, "config.yaml")
  if (text === undefined)
    throw new Fatal(`load vcluster config: get config secret: secrets "vc-config-${name}" not found`)
  const config = parseConfig(text)
  const owner = client.get(Service, { namespace, name })
  if (owner === undefined) throw new Fatal(`get vcluster service: services "${name}" not found`)
  const others = client
    .list(StatefulSet, { namespace, labelSelector: "app=vcluster" })
    .filter(({ metadata }) => metadata.labels?.release !== name)
  if (others.length > 0) throw new Fatal(`there is already a virtual cluster in namespace ${namespace}`)
  const setOwner = config.experimental?.syncSettings?.setOwner === true
  const place: Place = { vcluster: name, namespace, owner, setOwner }
  return { config, place }
}

/** Step 6: probed with Services that live for a moment, unless the annotation says it. */
const ensureCidr = (client: ApiClient, { namespace, owner }: Place, suffix: string) => {
  if (owner.metadata.annotations?.[CIDR] !== undefined) return
  const probe = { namespace, name: `test-service-delete-me-${suffix}` }
  client.create(Service, {
    apiVersion: "v1",
    kind: "Service",
    metadata: probe,
    spec: { ports: [{ port: 80 }] },
  })
  client.delete(Service, probe)
  const patch = { metadata: { annotations: { [CIDR]: "10.96.0.0/16" } } }
  client.patch(Service, owner.metadata, { type: "merge", patch })
}

const labelsOf = ({ vcluster }: Place) => ({ app: "vcluster", "vcluster-name": vcluster })

const ownersOf = (place: Place) => (place.setOwner ? { ownerReferences: [ownerOf(place)] } : {})

/** Step 7: the Secret's, else those on the disk, else new ones. */
const ensurePki = (client: ApiClient, place: Place, data: Data, tasks: Tasks): Pki => {
  const ref = { namespace: place.namespace, name: `${place.vcluster}-certs` }
  const secret = client.get(Secret, ref)
  const stored: Record<string, string> = Object(secret?.data)
  const pki = pkiOf(stored) ?? data.pki ?? newPki(tasks)
  data.pki = pki
  if (secret === undefined) {
    const metadata = { ...ref, labels: labelsOf(place), ...ownersOf(place) }
    client.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data: certsData(pki) })
  }
  return pki
}

const writeKubeconfig = (client: ApiClient, place: Place, config: Config, pki: Pki) => {
  const ref = { namespace: place.namespace, name: `vc-${place.vcluster}` }
  const { server, context } = config.exportKubeConfig ?? {}
  const data = kubeconfigData(pki, {
    server: server || "https://localhost:8443",
    context: context || undefined,
  })
  const before = client.get(Secret, ref)
  if (before === undefined) {
    const metadata = { ...ref, labels: labelsOf(place), ...ownersOf(place) }
    client.create(Secret, { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata, data })
  } else {
    const metadata = { ...before.metadata, ...ownersOf(place) }
    client.update(Secret, { ...before, type: "Opaque", metadata, data: { ...Object(before.data), ...data } })
  }
}

/** The names its serving certificate is for. */
const certificateNames = (
  { vcluster, namespace, owner }: Place,
  config: Config,
  podIP: string,
): ReadonlyArray<string> => [
  ...[
    "kubernetes.default.svc.cluster.local",
    "kubernetes.default.svc",
    "kubernetes.default",
    "kubernetes",
    "localhost",
  ],
  ...[vcluster, `${vcluster}.${namespace}`, "127.0.0.1", podIP, "my-host.com"],
  ...(config.controlPlane?.proxy?.extraSANs ?? []),
  String(Object(owner.spec).clusterIP),
]

/** New leaves in the Secret, and a pod template that differs: the rollout ends this process. */
const rotate = (client: ApiClient, place: Place, data: Data, tasks: Tasks) => {
  if (data.pki === undefined) return
  const pki = newLeaves(data.pki, tasks)
  data.pki = pki
  const ref = { namespace: place.namespace, name: `${place.vcluster}-certs` }
  client.patch(Secret, ref, { type: "merge", patch: { data: certsData(pki) } })
  const annotations = { [ROTATED]: new Date(tasks.now()).toISOString() }
  client.patch(
    StatefulSet,
    { namespace: place.namespace, name: place.vcluster },
    { type: "merge", patch: { spec: { template: { metadata: { annotations } } } } },
  )
}

const openData = Effect.fnUntraced(function* (fleet: Fleet, volume: NodeVolume | undefined, name: string) {
  const known = volume === undefined ? undefined : fleet.disks.get(volume)
  if (known !== undefined) return known
  const inner = yield* makeApiServer({ name })
  const data: Data = { inner, pki: undefined }
  if (volume !== undefined) fleet.disks.set(volume, data)
  return data
})

const life = Effect.fnUntraced(function* (
  fleet: Fleet,
  context: ContainerContext,
): Effect.fn.Return<Exit, never, Scope.Scope> {
  const tasks = yield* makeTasks
  const { namespace = "", uid: podUID } = context.pod.metadata
  const name = context.env("VCLUSTER_NAME")
  if (name === undefined) return { code: 1, log: "VCLUSTER_NAME is not set" }
  const pause = (least: number, most: number) =>
    Effect.suspend(() => Effect.sleep(least + tasks.random() * (most - least)))
  const account = Object(context.pod.spec).serviceAccountName ?? "default"
  const client = fleet.hostApi.as(`system:serviceaccount:${namespace}:${account}`, "vcluster")

  yield* pause(300, 1_500)
  const { config, place } = readStart(client, namespace, name)
  yield* pause(100, 700)
  ensureCidr(client, place, String(Math.floor(tasks.random() * 1e9)))
  yield* pause(400, 2_000)
  const volume = context.volume("data")
  if (volume !== undefined) fleet.volumes.set(namespace, volume)
  const data = yield* openData(fleet, volume, `vcluster in ${namespace}`)
  let pki = ensurePki(client, place, data, tasks)
  if (tasks.now() - pki.issued > LEAF_LIFE - RENEWED_BEFORE) {
    rotate(client, place, data, tasks)
    pki = data.pki ?? pki
  }

  const ended = Deferred.makeUnsafe<Exit>()
  const handle: ProcessHandle = {
    crash: (exit) => Deferred.doneUnsafe(ended, Effect.succeed(exit)),
    rotate: () => rotate(client, place, data, tasks),
    health: context.health,
    ownerUID: place.owner.metadata.uid,
    data,
  }
  fleet.processes.set(namespace, handle)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      if (fleet.processes.get(namespace) === handle) fleet.processes.delete(namespace)
      fleet.serving.delete(podUID)
      fleet.changed()
    }),
  )

  // kine, kube-apiserver, kube-controller-manager.
  yield* pause(3_000, 7_000)
  yield* Effect.sleep(fleet.delay(namespace))
  data.inner.faults.up()
  const manager = yield* runControllerManager(data.inner, { ca: pki.ca })
  while (manager.client.get(ServiceAccount, { namespace: "default", name: "default" }) === undefined)
    yield* Effect.sleep(200)
  yield* pause(200, 1_000)

  const certificates = new Map([[pki.client, "kubernetes-admin"]])
  const expires = pki.issued + LEAF_LIFE - tasks.now()
  tasks.after(Math.max(0, expires), () => certificates.clear())
  fleet.serving.set(podUID, {
    namespace,
    podUID,
    inner: data.inner,
    names: certificateNames(place, config, context.podIP),
    ca: pki.ca,
    certificates,
  })
  context.health({ ready: true, alive: true })
  fleet.changed()

  yield* pause(100, 1_500)
  tasks.after([50, 2_000], () => applyCoreDns(data.inner.as("kubernetes-admin", "vcluster"), config))
  const host = makeCluster(fleet.hostApi, tasks)
  yield* Effect.addFinalizer(() => Effect.sync(host.close))
  runSyncer({ place, config, host, hostClient: client, virtual: manager })
  yield* pause(100, 2_500)
  const write = (): void => {
    try {
      writeKubeconfig(client, place, config, data.pki ?? pki)
    } catch (error) {
      if (!(error instanceof ApiStatus)) throw error
      tasks.after(10_000, write)
    }
  }
  write()
  const watchCertificates = () => {
    if (tasks.now() - (data.pki?.issued ?? 0) > LEAF_LIFE - RENEWED_BEFORE) rotate(client, place, data, tasks)
    tasks.after([DAY, DAY * 1.1], watchCertificates)
  }
  tasks.after([DAY, DAY * 1.1], watchCertificates)

  return yield* Effect.raceFirst(
    Deferred.await(ended),
    context.stopping.pipe(Effect.andThen(pause(200, 1_500)), Effect.as({ code: 0 })),
  )
})

/** A pod that cannot go on ends with a line of its log; one that is stopped while it starts ends, too. */
export const vclusterProcess =
  (fleet: Fleet) =>
  (context: ContainerContext): Effect.Effect<Exit> =>
    Effect.scoped(
      Effect.raceFirst(
        life(fleet, context),
        context.stopping.pipe(Effect.andThen(Effect.sleep(3_000)), Effect.as({ code: 143 })),
      ),
    ).pipe(
      Effect.catchDefect((defect) =>
        defect instanceof Fatal ||
        defect instanceof ApiStatus ||
        (defect instanceof Error && defect.message.startsWith("error unmarshaling"))
          ? Effect.succeed({ code: 1, log: defect.message })
          : Effect.die(defect),
      ),
    )

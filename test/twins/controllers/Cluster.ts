// What every controller works with: one API server, and time.
import type { KubeObject, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiClient, ApiServer, Change } from "../kubernetes/ApiServer.ts"
import { type Controller, keyOf, makeController } from "./Controller.ts"
import { sameKind } from "./Kinds.ts"
import { makeRecorder, type Recorder } from "./Recorder.ts"
import type { Delay, Tasks } from "./Tasks.ts"

export interface Cluster {
  readonly api: ApiServer
  readonly tasks: Tasks
  /** What all controllers of a controller-manager write as; each has a field manager of its own in reality. */
  readonly client: ApiClient
  readonly recorder: Recorder
  readonly controller: (delay: Delay, pass: (key: string) => number | undefined) => Controller
  /** Told of all there is, now, and of each change from now on. */
  readonly watch: (kind: ResourceKind, told: (object: KubeObject, change: Change["type"]) => void) => void
  /** Told of every change of any kind. */
  readonly watchAll: (told: (change: Change) => void) => void
  /** Looks at everything once more, as controllers do that have lost their watches. */
  readonly resync: () => void
  /** No controller hears of anything any more. */
  readonly close: () => void
}

export const makeCluster = (
  api: ApiServer,
  tasks: Tasks,
  user = "system:kube-controller-manager",
): Cluster => {
  const client = api.as(user, "kube-controller-manager")
  const watches: Array<{
    readonly kind: ResourceKind
    readonly told: (object: KubeObject, type: Change["type"]) => void
  }> = []
  const everything: Array<(change: Change) => void> = []
  const close = api.subscribe((change) => {
    for (const told of everything) told(change)
    for (const { kind, told } of watches) if (sameKind(kind, change.kind)) told(change.object, change.type)
  })
  return {
    api,
    tasks,
    client,
    recorder: makeRecorder(client, tasks),
    controller: (delay, pass) =>
      makeController(tasks, delay, (key) => (api.faults.isDown() ? 1_000 : pass(key))),
    watch: (kind, told) => {
      watches.push({ kind, told })
      for (const object of client.list(kind)) told(object, "ADDED")
    },
    watchAll: (told) => {
      everything.push(told)
    },
    resync: () => {
      for (const { kind, told } of watches) for (const object of client.list(kind)) told(object, "MODIFIED")
    },
    close,
  }
}

/** Queues each object of a kind that changes under its own key. */
export const watchOwn = (cluster: Cluster, kind: ResourceKind, controller: Controller) =>
  cluster.watch(kind, ({ metadata }) => controller.add(keyOf(metadata)))

/** Queues the owner of each object of a kind that changes. */
export const watchOwned = (cluster: Cluster, kind: ResourceKind, ownerKind: string, controller: Controller) =>
  cluster.watch(kind, ({ metadata }) => {
    const owner = metadata.ownerReferences?.find(
      (each) => each.controller === true && each.kind === ownerKind,
    )
    if (owner !== undefined) controller.add(`${metadata.namespace ?? ""}/${owner.name}`)
  })

// One pod on the node, from its volumes to its end. What it was is in the API; what it runs is only here, and a power
// failure takes it.
import { Effect } from "effect"
import { ConfigMap, PersistentVolumeClaim, Pod, Secret } from "../../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiClient } from "../../kubernetes/ApiServer.ts"
import type { Recorder } from "../Recorder.ts"
import { claimOf, podOf, timestamp, type Volume } from "../Shapes.ts"
import type { Tasks } from "../Tasks.ts"
import { type ContainerHost, type ContainerRun, makeContainer } from "./ContainerRun.ts"
import type { NodeFiles } from "./Files.ts"
import type { Images } from "./Images.ts"
import { podStatus } from "./PodStatus.ts"
import type { NodeVolume, Storage } from "./Storage.ts"

export interface NodeParts {
  readonly client: ApiClient
  readonly tasks: Tasks
  readonly recorder: Recorder
  readonly images: Images
  readonly storage: Storage
  readonly files: NodeFiles
  readonly hostIP: string
  readonly newPodIP: () => string
  readonly newContainerId: () => string
}

export interface PodWorker {
  /** Ends all containers, each with so many seconds of grace. */
  readonly stop: (graceSeconds: number) => void
  /** At once, without a trace in the API: the power is gone. */
  readonly cut: () => void
}

/** `restarts`: how often each container of it had been started again before, by name. */
export const startPod = (
  node: NodeParts,
  first: KubeObject,
  restarts: ReadonlyMap<string, number>,
  ended: () => void,
): PodWorker => {
  const { client, tasks, recorder, images, storage, files } = node
  const { uid } = first.metadata
  const shape = podOf(first)
  const startTime = shape.status?.startTime ?? timestamp(tasks.now())
  const policy = shape.spec.restartPolicy
  const restartPolicy = policy === "Never" || policy === "OnFailure" ? policy : "Always"
  let podIP: string | undefined
  let ending = false
  let dead = false

  const live = (): KubeObject | undefined => {
    const pod = client.get(Pod, first.metadata)
    return pod?.metadata.uid === uid ? pod : undefined
  }

  const publish = () => {
    const pod = dead ? undefined : live()
    if (pod === undefined) return
    const state = {
      init: init.map((each) => each.record),
      main: main.map((each) => each.record),
      podIP,
      hostIP: node.hostIP,
      startTime,
      ending,
    }
    const status = podStatus(pod, tasks.now(), state)
    if (JSON.stringify(pod.status) !== JSON.stringify(status)) client.updateStatus(Pod, { ...pod, status })
  }

  const volumeOf = (volume: Volume): NodeVolume | undefined => {
    if (volume.emptyDir !== undefined) return storage.open(`${uid}/${volume.name}`)
    if (volume.persistentVolumeClaim === undefined) return undefined
    const ref = { namespace: first.metadata.namespace ?? "", name: volume.persistentVolumeClaim.claimName }
    const claim = client.get(PersistentVolumeClaim, ref)
    const name = claim === undefined ? undefined : claimOf(claim).spec.volumeName
    return name === undefined ? undefined : storage.open(name)
  }

  const volumes = shape.spec.volumes ?? []
  const mounts = [...shape.spec.containers, ...(shape.spec.initContainers ?? [])].flatMap(
    (container) => container.volumeMounts?.map(({ name }) => name) ?? [],
  )
  /** A volume that no container mounts is not even looked at (seen on 1.35.4). */
  const mounted = volumes.filter(({ name }) => mounts.includes(name))
  const host: ContainerHost = {
    tasks,
    images,
    recorder,
    newContainerId: node.newContainerId,
    pod: () => live() ?? first,
    changed: publish,
    context: (container) => ({
      pod: live() ?? first,
      podIP: podIP ?? "",
      env: (name) => container.env?.find((each) => each.name === name)?.value,
      volume: (name) => {
        const volume = volumes.find((each) => each.name === name)
        return volume === undefined ? undefined : volumeOf(volume)
      },
      mounted: (mountPath) => {
        const mount = container.volumeMounts?.find((each) => each.mountPath === mountPath)
        const path = volumes.find(({ name }) => name === mount?.name)?.hostPath?.path
        return path === undefined ? undefined : files.resolve(path)
      },
      files,
      tasks,
    }),
  }
  const containers = (
    list: typeof shape.spec.containers,
    policyOf: typeof restartPolicy,
  ): ReadonlyArray<ContainerRun> =>
    list.map((container) =>
      makeContainer(host, container, policyOf, { restarts: restarts.get(container.name) ?? 0 }),
    )
  const init = containers(shape.spec.initContainers ?? [], restartPolicy === "Never" ? "Never" : "OnFailure")
  const main = containers(shape.spec.containers, restartPolicy)
  if (init.length > 0)
    for (const each of [...init.slice(1), ...main])
      each.record.state = { waiting: { reason: "PodInitializing" } }

  /** What keeps a volume from being mounted, in the kubelet's words. */
  const obstacle = (volume: Volume): string | undefined => {
    const missing = (kind: ResourceKind, name: string, what: string) =>
      client.get(kind, { namespace: first.metadata.namespace ?? "", name }) === undefined
        ? `MountVolume.SetUp failed for volume "${volume.name}" : ${what} "${name}" not found`
        : undefined
    if (volume.secret !== undefined && volume.secret.optional !== true)
      return missing(Secret, volume.secret.secretName, "secret")
    if (volume.configMap !== undefined && volume.configMap.optional !== true)
      return missing(ConfigMap, volume.configMap.name, "configmap")
    if (volume.hostPath === undefined) return undefined
    const { path, type = "" } = volume.hostPath
    const entry = files.get(files.resolve(path))
    if (type === "DirectoryOrCreate" && entry === undefined) files.makeDirectory(files.resolve(path))
    const wrong =
      type === "Directory" || type === "DirectoryOrCreate"
        ? entry?.type === "file" || (type === "Directory" && entry === undefined)
        : false
    return wrong
      ? `MountVolume.SetUp failed for volume "${volume.name}" : hostPath type check failed: ${path} is not a directory`
      : undefined
  }

  /** Tried again after 0.5 s, then 1, 2… up to 122 s. */
  const mount = Effect.gen(function* () {
    let delay = 500
    while (!ending) {
      const obstacles = mounted.flatMap((volume) => obstacle(volume) ?? [])
      if (obstacles.length === 0) return
      for (const message of obstacles) recorder.event(host.pod(), "Warning", "FailedMount", message)
      yield* Effect.sleep(delay)
      delay = Math.min(delay * 2, 122_000)
    }
  })

  const life = Effect.gen(function* () {
    publish()
    yield* mount
    if (!ending) yield* Effect.sleep(300 + tasks.random() * 900)
    if (!ending) {
      podIP = node.newPodIP()
      publish()
    }
    for (const each of init) {
      if (ending) break
      yield* each.life
      if (!("terminated" in each.record.state) || each.record.state.terminated.exitCode !== 0) {
        publish()
        return
      }
    }
    if (ending) return
    for (const each of main)
      if ("waiting" in each.record.state) each.record.state = { waiting: { reason: "ContainerCreating" } }
    yield* Effect.forEach(main, (each) => each.life, { concurrency: "unbounded", discard: true })
  })

  /** The last words to the API: all containers have ended, and a pod that is being deleted goes. */
  const finish = () => {
    for (const each of [...init, ...main]) each.record.ready = false
    publish()
    const pod = live()
    if (pod?.metadata.deletionTimestamp !== undefined)
      client.delete(Pod, pod.metadata, { uid, gracePeriodSeconds: 0 })
    if (live() === undefined) storage.dropOf(uid)
    ended()
  }
  const cancel = tasks.run(life.pipe(Effect.andThen(Effect.sync(() => !dead && finish()))))

  return {
    stop: (graceSeconds) => {
      if (ending) return
      ending = true
      for (const each of [...init, ...main]) {
        if ("running" in each.record.state)
          recorder.event(host.pod(), "Normal", "Killing", `Stopping container ${each.record.name}`)
        each.stop(graceSeconds * 1000)
      }
    },
    cut: () => {
      dead = true
      cancel()
    },
  }
}

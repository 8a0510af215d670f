// The pod the operator runs in: its object in the API, its volumes, its containers one after another, and the ways in
// which all of it dies.
import { Effect, Random } from "effect"
import { Pod } from "../../../src/services/Kubernetes/Kinds.ts"
import { makeFiles } from "../files/Files.ts"
import type { Volume } from "../files/Volume.ts"
import type { ApiServer } from "../kubernetes/ApiServer.ts"
import { type Container, makeContainer } from "../processes/Container.ts"
import type { Program } from "../processes/Program.ts"
import type { Simulation } from "../simulation/Simulation.ts"
import { operatorUser, paths, registryToken, unpackImage } from "./Image.ts"

/** Of the changes of names that nobody has synced: all, or any number of the newest. */
export type Lost = "all" | "some"

export interface OperatorPodOptions {
  readonly api: ApiServer
  readonly namespace: string
  readonly image: string
  /** The claim: it outlives every pod. */
  readonly state: Volume
  readonly passphrase: () => string | undefined
  /** Of the image, as `resource-kubernetes-v4.25.0`. */
  readonly plugins: ReadonlyArray<string>
  /** By the paths of the image, for a pod of this host name. */
  readonly programs: (hostname: string) => Readonly<Record<string, Program>>
  readonly labels: Readonly<Record<string, string>>
  /** What a power cut takes, asked when there is one. */
  readonly lost: () => Lost
}

export interface OperatorPod {
  readonly name: string
  readonly uid: string
  /** The container that runs, or the last one. */
  readonly container: () => Container
  /** Another container of the same pod: its own layer is new, the pod's volumes are as they were left. */
  readonly restartContainer: Effect.Effect<void, never, Simulation>
  /** Memory that belongs to the pod loses its content with the machine's power, and disks what was not synced. */
  readonly powerCut: Effect.Effect<void>
  /** The pod is gone from its node and from the API. */
  readonly remove: Effect.Effect<void>
}

/** The kernel takes 64 characters, Kubernetes gives it 63. */
export const hostnameOf = (podName: string): string => podName.slice(0, 63)

const letters = "bcdfghjklmnpqrstvwxz2456789"

const randomName = Effect.map(
  Effect.replicateEffect(Random.nextIntBetween(0, letters.length - 1), 5),
  (indices) => `platform-operator-${indices.map((index) => letters.charAt(index)).join("")}`,
)

export const makeOperatorPod = Effect.fnUntraced(function* (options: OperatorPodOptions) {
  const { api, namespace, image } = options
  const kubelet = api.as("kubernetes-admin", "kubelet")
  const name = yield* randomName
  const created = kubelet.create(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, labels: options.labels },
    spec: {
      // A node of its own, which no kubelet of the simulation serves.
      nodeName: "operators",
      serviceAccountName: "platform-operator",
      // As the chart has it.
      terminationGracePeriodSeconds: 90,
      containers: [{ name: "operator", image }],
    },
  })
  const report = (state: Readonly<Record<string, unknown>>) => {
    const current = kubelet.get(Pod, { namespace, name })
    if (current === undefined) return
    kubelet.updateStatus(Pod, {
      ...current,
      status: {
        phase: "Running",
        containerStatuses: [{ name: "operator", image, imageID: image, ready: true, restartCount: 0, state }],
      },
    })
  }

  const memory = { memory: true, ...operatorUser, mode: 0o777 } as const
  const emptyDir = { ...operatorUser, mode: 0o777 } as const
  const outer = yield* makeFiles
  const volumes = {
    [paths.memory]: outer.makeVolume(memory),
    [paths.tmp]: outer.makeVolume(emptyDir),
    "/home/platform-operator": outer.makeVolume(emptyDir),
    [paths.state]: options.state,
  }

  const startContainer = Effect.gen(function* () {
    const twin = yield* makeFiles
    unpackImage(twin.files, options.plugins)
    twin.files.mkdir(paths.passphrase)
    const passphrase = options.passphrase()
    if (passphrase !== undefined) twin.files.writeText(`${paths.passphrase}/passphrase`, passphrase, 0o444)
    twin.files.mkdir(paths.npmrc.slice(0, paths.npmrc.lastIndexOf("/")))
    twin.files.writeText(paths.npmrc, `//registry.npmjs.org/:_authToken=${registryToken}\n`, 0o444)
    for (const [path, volume] of Object.entries(volumes)) twin.mount(path, volume)
    twin.volume.settle()
    const container = yield* makeContainer({ name, files: twin, uid: operatorUser.uid })
    for (const [path, program] of Object.entries(options.programs(hostnameOf(name))))
      container.install(path, program)
    report({ running: {} })
    return container
  })
  let container = yield* startContainer

  return {
    name,
    uid: created.metadata.uid,
    container: () => container,
    restartContainer: Effect.gen(function* () {
      container.kill()
      container = yield* startContainer
    }),
    powerCut: Effect.gen(function* () {
      container.kill()
      for (const volume of Object.values(volumes)) {
        const some = yield* Random.nextIntBetween(0, volume.unsyncedChanges)
        volume.powerCut(options.lost() === "all" ? undefined : some)
      }
    }),
    remove: Effect.sync(() => {
      container.kill()
      kubelet.delete(Pod, { namespace, name }, { gracePeriodSeconds: 0 })
    }),
  } satisfies OperatorPod
})

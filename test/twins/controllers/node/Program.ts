// What runs in the containers of the simulated node: effects that are registered for an image.
import { Effect } from "effect"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import type { Container } from "../Shapes.ts"
import type { Tasks } from "../Tasks.ts"
import type { NodeFiles } from "./Files.ts"
import type { NodeVolume } from "./Storage.ts"

export interface Health {
  /** What a readiness or startup probe would be answered. */
  readonly ready: boolean
  /** What a liveness probe would be answered. */
  readonly alive: boolean
}

export interface ContainerContext {
  /** As it was when the container started, with its address. */
  readonly pod: KubeObject
  readonly container: Container
  readonly podIP: string
  readonly env: (name: string) => string | undefined
  /** A claim or an emptyDir, by the name of the volume. */
  readonly volume: (name: string) => NodeVolume | undefined
  /** The folder of the node that is mounted at this path. */
  readonly mounted: (mountPath: string) => string | undefined
  readonly files: NodeFiles
  readonly tasks: Tasks
  /** A container without probes needs none of it. Begins as not ready, alive. */
  readonly health: (health: Health) => void
  /** Completes when the container is asked to end. It is killed when its grace period is over. */
  readonly stopping: Effect.Effect<void>
}

export interface Exit {
  readonly code: number
  /** Its last words, which become the termination message of a container that failed and asks for that. */
  readonly log?: string
}

/** One life of a container. It may be interrupted at any moment, which is SIGKILL: what it then does has no effect. */
export type ContainerProgram = (context: ContainerContext) => Effect.Effect<Exit>

/** Serves from the first moment on, until it is asked to end. */
export const idle: ContainerProgram = ({ health, stopping }) =>
  Effect.suspend(() => {
    health({ ready: true, alive: true })
    return Effect.as(stopping, { code: 0 })
  })

/** Ends by itself after so many milliseconds. */
export const lasting =
  (millis: number, exit: Exit = { code: 0 }): ContainerProgram =>
  () =>
    Effect.as(Effect.sleep(millis), exit)

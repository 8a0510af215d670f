// The simulated cluster on a live clock, with the operator in it and its API on loopback.
import { readFileSync } from "node:fs"
import { Duration, Effect, Schema } from "effect"
import { parse } from "yaml"
import { hostNamespace } from "../../src/schema/Names.ts"
import { Node, PlatformInstance, Pod } from "../../src/services/Kubernetes/Kinds.ts"
import type { ApiServer, Change } from "../../test/twins/kubernetes/ApiServer.ts"
import { ApiStatus } from "../../test/twins/kubernetes/ApiServer.ts"
import { type Live, runLive, type Timers } from "../../test/twins/simulation/Live.ts"
import { Simulation } from "../../test/twins/simulation/Simulation.ts"
import type { Operator } from "../../test/twins/world/Operators.ts"
import { makeWorld } from "../../test/twins/world/World.ts"
import type { LogLine } from "./PodLog.ts"
import { Refusal } from "./Refusal.ts"

export interface PlaygroundOptions {
  readonly speed: number
  readonly seed: number
  /** The wall clock at the beginning. */
  readonly start: Date
  /** A line of the operator's log, as the shipped one writes it, and the pod that has written it. */
  readonly log: (pod: string, line: LogLine) => void
  /** Told when it cannot go on. */
  readonly onEnd: (error: Error) => void
  /** Default: the machine's. */
  readonly timers?: Timers
}

export interface Playground {
  readonly api: ApiServer
  readonly enter: Live["enter"]
  readonly elapsed: Live["elapsed"]
  /** The clock of the simulated world. */
  readonly now: () => Date
  /** By so many milliseconds it is ahead of this machine's. */
  readonly ahead: () => number
  /** Told of each change in the cluster from now on. */
  readonly subscribe: (listener: (change: Change) => void) => void
  /** Applies a manifest of a PlatformInstance as its user does. Throws a `Refusal` where the API refuses it. */
  readonly apply: (manifest: string) => void
  /** Nothing of it runs any more. */
  readonly stop: () => void
}

const OPERATORS = "platform-operator"

const decodeGrace = Schema.decodeUnknownSync(
  Schema.Struct({ deletionGracePeriodSeconds: Schema.optionalKey(Schema.Finite) }),
)

const decodeInstance = Schema.decodeUnknownSync(
  Schema.StructWithRest(
    Schema.Struct({
      apiVersion: Schema.String,
      kind: Schema.String,
      metadata: Schema.StructWithRest(
        Schema.Struct({
          name: Schema.String,
          namespace: Schema.String,
          annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
        }),
        [Schema.Record(Schema.String, Schema.Unknown)],
      ),
    }),
    [Schema.Record(Schema.String, Schema.Unknown)],
  ),
)

/**
 * The operator's pod has no kubelet: who deletes it has it ended here, and another one takes its place. It has its grace
 * period, in which it gives its lease back, unless it is deleted with `--force`.
 */
const endDeletedPods = (api: ApiServer, operator: Operator, enter: Live["enter"]) =>
  api.subscribe(({ kind, object: { metadata }, previous, type }) => {
    if (kind.kind !== Pod.kind || metadata.namespace !== OPERATORS || type !== "MODIFIED") return
    if (metadata.deletionTimestamp === undefined || metadata.name !== operator.container()?.name) return
    const { deletionGracePeriodSeconds: grace = 0 } = decodeGrace(metadata)
    const end =
      grace === 0
        ? () => operator.killNow("pod")
        : previous?.metadata.deletionTimestamp === undefined
          ? () => operator.evictNow(Duration.seconds(grace))
          : undefined
    // Not while the request that deletes it is being answered.
    if (end !== undefined) setImmediate(() => enter(end))
  })

/** Nodes have address ranges for their pods, as a cluster's own controllers give them: by those instances are kept apart. */
const giveRanges = (host: ApiServer) => {
  const controllers = host.as("system:kube-controller-manager", "kube-controller-manager")
  for (const [index, { metadata }] of controllers.list(Node).entries()) {
    const podCIDR = `10.42.${index}.0/24`
    const spec = { podCIDR, podCIDRs: [podCIDR] }
    controllers.apply(Node, { apiVersion: "v1", kind: Node.kind, metadata: { name: metadata.name }, spec })
  }
}

/** With what kubectl writes on an object that it applies: without it, it warns at the next `kubectl apply` of it. */
const asApplied = (manifest: ReturnType<typeof decodeInstance>) => {
  const { metadata } = manifest
  const last = { "kubectl.kubernetes.io/last-applied-configuration": `${JSON.stringify(manifest)}\n` }
  return { ...manifest, metadata: { ...metadata, annotations: { ...metadata.annotations, ...last } } }
}

/** Resolves when the cluster is there and the operator has been started in it. */
export const startPlayground = (options: PlaygroundOptions): Promise<Playground> =>
  new Promise((resolve, reject) => {
    let live: Live | undefined
    let started = false
    const world = Effect.gen(function* () {
      const { now } = yield* Simulation
      const { host, startOperator } = yield* makeWorld({
        traced: false,
        log: (text, pod) => options.log(pod, { text, time: new Date(now()) }),
      })
      giveRanges(host)
      const operator = yield* startOperator({ leaderElect: true })
      const user = host.as("admin", "kubectl")
      const running = live
      if (running === undefined) return yield* Effect.die(new Error("the world ran before its time"))
      endDeletedPods(host, operator, running.enter)
      started = true
      resolve({
        api: host,
        enter: running.enter,
        elapsed: running.elapsed,
        now: () => new Date(now()),
        ahead: () => Math.floor(running.elapsed() * (1 - 1 / options.speed)),
        subscribe: host.subscribe,
        apply: (manifest) => {
          try {
            running.enter(() => user.apply(PlatformInstance, asApplied(decodeInstance(parse(manifest)))))
          } catch (error) {
            if (!(error instanceof ApiStatus)) throw error
            throw new Refusal(`the simulated API refuses the manifest: ${error.message}`)
          }
        },
        stop: running.stop,
      })
      return yield* Effect.never
    })
    live = runLive(world, {
      seed: options.seed,
      start: options.start,
      speed: options.speed,
      ...(options.timers === undefined ? {} : { timers: options.timers }),
      onEnd: (error) => {
        const cause = error ?? new Error("the simulated world has ended by itself")
        if (started) options.onEnd(cause)
        else reject(cause)
      },
    })
  })

/** The example that is applied first. */
export const example = (): string => readFileSync(new URL("../../examples/one.yaml", import.meta.url), "utf8")

export const exampleHostNamespace = hostNamespace({ namespace: "team-a", name: "one" })

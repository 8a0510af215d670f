// Operators in the world: started, stopped, killed, and started again by whoever looks after containers.
import { Deferred, type Duration, Effect, Exit, Fiber, type Option, Random } from "effect"
import type { InstanceSettings } from "../../../src/actors/instance/Settings.ts"
import type { Http } from "../../../src/services/Kubernetes/Http.ts"
import type { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { formatIdentity } from "../../../src/services/LeaderElection/Identity.ts"
import type { Spans } from "../../support/spans.ts"
import { type CrashPlan, type EdgeCall, type EdgeFault, makeEdge } from "../crash/Edge.ts"
import type { Container } from "../processes/Container.ts"
import type { Process } from "../processes/Process.ts"
import { Simulation } from "../simulation/Simulation.ts"
import { paths } from "./Image.ts"
import type { OperatorPod } from "./OperatorPod.ts"
import { type Direct, type LogSink, logTo, operatorProcess } from "./OperatorProcess.ts"

/**
 * What dies: the container with all its processes; the operator's process alone, whose children live on; the pod, which is
 * replaced by another one; or the machine, which loses what it had not written to its disk.
 */
export type Death = "container" | "process" | "pod" | "power"

export interface OperatorsOptions {
  readonly settings: InstanceSettings
  /** As the operator's service account. */
  readonly http: Http
  readonly connect: Kubernetes["Service"]["connect"]
  /** Without it, the operator stands on its edge. */
  readonly direct?: Direct
  readonly makePod: Effect.Effect<OperatorPod, never, Simulation>
  /** What else happens to the machine when its power fails, and when it comes back. */
  readonly machine: { readonly powerOff: () => void; readonly powerOn: () => void }
  /** Calls and logs are written to the trace. */
  readonly traced: boolean
  /** Where their logs go when they are not traced, a line of JSON each, and whose pod has written it. Default: nowhere. */
  readonly log?: (line: string, pod: string) => void
  readonly spans?: Spans
}

/** Another release of the operator than the one of this repository: what of it an instance could notice. */
export interface OtherRelease {
  /** Of the vCluster chart in its image, whose templates are the same. */
  readonly chartVersion?: string
  readonly settings?: Partial<InstanceSettings>
}

export interface StartOptions {
  /** With leader election. Default: without, it is alone. */
  readonly leaderElect?: boolean
  readonly release?: OtherRelease
  readonly plan?: CrashPlan
  /** Of what the operator dies where the plan says, asked then. Default: its container. */
  readonly death?: () => Death
  /** What goes wrong with calls of disk and children, in every process of it. */
  readonly fault?: (call: EdgeCall) => EdgeFault | undefined
  /** `identity`: as the process that makes the call names itself in the Lease. */
  readonly onCall?: (call: EdgeCall, identity: string) => void
  /** Told when a call has had its effect, or what it failed with. */
  readonly onAnswer?: (call: EdgeCall, failure?: unknown) => void
  /** It can be scraped. */
  readonly metrics?: boolean
}

export interface Operator {
  /** What a scrape gets; nothing while there is no process that answers. */
  readonly scrape: Effect.Effect<Option.Option<string>>
  /** SIGTERM; returns when it has ended. Nobody starts it again. */
  readonly stop: Effect.Effect<void>
  /** Kills it at this moment; it is started again. */
  readonly kill: (death: Death) => Effect.Effect<void>
  /** The same, from what is no effect. */
  readonly killNow: (death: Death) => void
  /**
   * Its pod is deleted, as the kubelet does that: SIGTERM, SIGKILL to what is left after the grace period, and another pod
   * takes its place. From what is no effect.
   */
  readonly evictNow: (grace: Duration.Input) => void
  /** The container it runs in, while it does. */
  readonly container: () => Container | undefined
}

interface Running {
  readonly process: Process
  readonly kill: (death: Death) => void
  readonly evict: (grace: Duration.Input) => void
}

/** From a container's end to its next start, as the kubelet has it: at once, then 10 s. */
const restartAfter = "1 second"
const restartAfterFailure = "10 seconds"

const randomId = Effect.map(Effect.replicateEffect(Random.nextIntBetween(0, 0xffff), 8), (words) =>
  words.map((word) => word.toString(16).padStart(4, "0")).join(""),
)

const setChartVersion = ({ files: { files } }: Container, version: string) => {
  const file = `${paths.chart}/Chart.yaml`
  files.writeText(file, files.readText(file).replace(/^version: .*$/m, `version: ${version}`), 0o644)
}

export const makeOperators = Effect.fnUntraced(function* (options: OperatorsOptions) {
  const { trace } = yield* Simulation
  const scope = yield* Effect.scope
  let count = 0

  /** One process of an operator in a pod. It is over when this returns; how, is what it gives. */
  const run = Effect.fnUntraced(function* (
    pod: OperatorPod,
    start: StartOptions,
    started: (running: Running) => void,
    onMetrics: (scrape: Effect.Effect<string>) => void,
  ) {
    count += 1
    const name = `operator ${count}`
    const container = pod.container()
    const incarnation = yield* randomId
    if (start.release?.chartVersion !== undefined) setChartVersion(container, start.release.chartVersion)
    let death: Death | undefined
    const identity = formatIdentity({ podName: pod.name, podUID: pod.uid, incarnation })
    const evicted = yield* Deferred.make<Duration.Input>()
    const log = options.traced
      ? logTo(trace, name)
      : ({ form: "json", write: (line) => options.log?.(line, pod.name) } satisfies LogSink)
    const process: Process = container.start(
      (context) => {
        const operator = operatorProcess({
          settings: { ...options.settings, ...start.release?.settings },
          ownChart: start.release?.chartVersion === undefined,
          container,
          life: process.life,
          edge: makeEdge({
            life: process.life,
            kill: () => kill(start.death?.() ?? "container"),
            ...(start.plan === undefined ? {} : { plan: start.plan }),
            ...(start.fault === undefined ? {} : { fault: start.fault }),
            ...(start.onAnswer === undefined ? {} : { onAnswer: start.onAnswer }),
            ...(options.traced || start.onCall !== undefined
              ? {
                  onCall: (call: EdgeCall) => {
                    if (options.traced) trace.add(`${name} call ${call.number}: ${call.what}`)
                    start.onCall?.(call, identity)
                  },
                }
              : {}),
          }),
          http: options.http,
          connect: options.connect,
          podName: pod.name,
          podUID: pod.uid,
          incarnation,
          ...(options.traced || options.log !== undefined ? { log } : {}),
          ...(options.spans === undefined ? {} : { spans: options.spans }),
          ...(options.direct === undefined ? {} : { direct: options.direct }),
          onReady: Effect.void,
          leaderElect: start.leaderElect ?? false,
          ...(start.metrics === true ? { onMetrics } : {}),
        })
        return Effect.as(Effect.raceFirst(operator, context.signalled), 0)
      },
      { argv: [paths.node, "main.mjs"], env: {}, cwd: "/opt/platform-operator" },
    )
    const kill = (how: Death) => {
      death = how
      trace.add(`${name} dies: ${how}`)
      if (how === "process") container.signal(process.facts.pid, "SIGKILL")
      else container.kill()
      if (how === "power") options.machine.powerOff()
    }
    const evict = (grace: Duration.Input) => {
      death = "pod"
      trace.add(`${name} is to end`)
      process.signal("SIGTERM")
      Deferred.doneUnsafe(evicted, Exit.succeed(grace))
    }
    started({ process, kill, evict })
    const ended = yield* Effect.callback<Process["ended"]>((resume) =>
      process.onEnd((how) => resume(Effect.succeed(how))),
    ).pipe(
      Effect.raceFirst(
        Deferred.await(evicted).pipe(
          Effect.flatMap(Effect.sleep),
          Effect.andThen(Effect.sync(() => kill("pod"))),
          Effect.andThen(Effect.never),
        ),
      ),
    )
    return { ended, death }
  })

  /** Brings back what an operator needs after its death. */
  const recover = Effect.fnUntraced(function* (pod: OperatorPod, death: Death | undefined) {
    switch (death) {
      case "process":
        yield* Effect.sleep(restartAfter)
        return pod
      case "pod":
        yield* pod.remove
        yield* Effect.sleep(restartAfter)
        return yield* options.makePod
      case "power":
        yield* pod.powerCut
        yield* Effect.sleep("1 minute")
        options.machine.powerOn()
        yield* pod.restartContainer
        return pod
      default:
        yield* Effect.sleep(death === "container" ? restartAfter : restartAfterFailure)
        yield* pod.restartContainer
        return pod
    }
  })

  /** Starts an operator in a pod of its own; the plan is for its first process alone. */
  const start = Effect.fnUntraced(function* (given: StartOptions = {}) {
    let current: Running | undefined
    let container: Container | undefined
    let metrics: Effect.Effect<string> | undefined
    let stopped = false
    const live = Effect.gen(function* () {
      let pod = yield* options.makePod
      let plan: StartOptions = given
      while (!stopped) {
        const { death } = yield* run(
          pod,
          plan,
          (running) => {
            current = running
            container = pod.container()
          },
          (scrape) => {
            metrics = scrape
          },
        )
        metrics = undefined
        current = undefined
        container = undefined
        if (!stopped) pod = yield* recover(pod, death)
        plan = {
          ...(given.onCall === undefined ? {} : { onCall: given.onCall }),
          ...(given.onAnswer === undefined ? {} : { onAnswer: given.onAnswer }),
          ...(given.fault === undefined ? {} : { fault: given.fault }),
          ...(given.leaderElect === undefined ? {} : { leaderElect: given.leaderElect }),
          ...(given.release === undefined ? {} : { release: given.release }),
          ...(given.metrics === undefined ? {} : { metrics: given.metrics }),
        }
      }
      yield* pod.remove
    })
    const fiber = yield* Effect.forkIn(live, scope)
    const killNow = (death: Death) => current?.kill(death)
    return {
      stop: Effect.suspend(() => {
        stopped = true
        current?.process.signal("SIGTERM")
        return Effect.asVoid(Fiber.await(fiber))
      }),
      kill: (death) => Effect.sync(() => killNow(death)),
      killNow,
      evictNow: (grace) => current?.evict(grace),
      container: () => container,
      scrape: Effect.suspend(() => (metrics === undefined ? Effect.succeedNone : Effect.asSome(metrics))),
    } satisfies Operator
  })
  return { start }
})

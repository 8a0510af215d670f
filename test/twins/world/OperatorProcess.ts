// The operator as a process of a simulated container: its live layers, over the edge of that process.
import { Context, Effect, FileSystem, Layer, Logger, Metric, Option, References } from "effect"
import { ChildProcessSpawner } from "effect/process"
import releaseJson from "../../../release.json" with { type: "json" }
import { awaitCaches, runInstances } from "../../../src/actors/instance/Instances.ts"
import { type InstanceSettings, Settings } from "../../../src/actors/instance/Settings.ts"
import { actorsLayer, type OperatorOptions, operatorLayer } from "../../../src/actors/Operator.ts"
import { Disk } from "../../../src/services/Disk/Disk.ts"
import { HelmLive } from "../../../src/services/Helm/HelmLive.ts"
import type { Http } from "../../../src/services/Kubernetes/Http.ts"
import type { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { WatchHealth } from "../../../src/services/Kubernetes/WatchHealth.ts"
import { formatIdentity, holderIsDead } from "../../../src/services/LeaderElection/Identity.ts"
import { type LeaseOptions, lead } from "../../../src/services/LeaderElection/LeaderElection.ts"
import { Collectors, makeCollectors, scrape } from "../../../src/services/Metrics/Collectors.ts"
import { measuresLayer } from "../../../src/services/Metrics/MetricsLive.ts"
import { ShownInstances } from "../../../src/services/Metrics/ShownInstances.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { jsonLogger } from "../../../src/services/Telemetry/Telemetry.ts"
import type { Spans } from "../../support/spans.ts"
import type { Edge } from "../crash/Edge.ts"
import {
  edgeConnect,
  edgeDisk,
  edgeFileSystem,
  edgeHttp,
  edgeProcesses,
  edgeSpawner,
} from "../crash/EdgeServices.ts"
import { type Machine as DirectMachine, DirectPulumi } from "../direct/Pulumi.ts"
import { diskOf } from "../files/DiskTwin.ts"
import { fileSystemOf } from "../files/FileSystemTwin.ts"
import { kubernetesOver } from "../kubernetes/KubernetesTwin.ts"
import type { Container } from "../processes/Container.ts"
import { spawnerOf } from "../processes/Spawner.ts"
import type { Lifetime } from "../simulation/Lifetime.ts"
import type { Trace } from "../simulation/Trace.ts"
import { operatorUser, paths } from "./Image.ts"
import { hostnameOf } from "./OperatorPod.ts"

/** What puts the operator's services of the cluster and the engine straight on their twins, in place of its edge. */
export interface Direct {
  readonly kubernetes: Layer.Layer<Kubernetes>
  readonly target: Omit<DirectMachine, "files">
}

export interface LogSink {
  readonly write: (line: string) => void
  /** Lines as the shipped operator writes them, or, shorter, for a trace. */
  readonly form: "json" | "trace"
}

export interface OperatorProcessOptions {
  readonly direct?: Direct
  readonly settings: InstanceSettings
  /** The chart in the image is the one of this repository. */
  readonly ownChart: boolean
  readonly container: Container
  readonly life: Lifetime
  readonly edge: Edge
  /** The host's API server, as the pod's service account. */
  readonly http: Http
  /** The network, from the operator's pod. */
  readonly connect: Kubernetes["Service"]["connect"]
  readonly podName: string
  readonly podUID: string
  readonly incarnation: string
  /** Where its log goes; nowhere when absent. */
  readonly log?: LogSink
  /** Where its spans go; it makes none when absent. */
  readonly spans?: Spans
  readonly onReady: Effect.Effect<void>
  /** Works only while it holds the operators' Lease. */
  readonly leaderElect: boolean
  /** Given what a scrape of this process gets. When absent, nothing is measured beside what is counted. */
  readonly onMetrics?: (scrape: Effect.Effect<string>) => void
}

const layerOptions = (options: OperatorProcessOptions): OperatorOptions => ({
  settings: options.settings,
  stateDir: paths.state,
  helm: {
    helm: paths.helm,
    chart: {
      path: paths.chart,
      digest: options.ownChart ? Option.some(releaseJson.vcluster.chartDigest) : Option.none(),
    },
  },
  pulumi: {
    nodePath: paths.node,
    runnerPath: paths.runner,
    wrapperPath: paths.wrapper,
    pulumiPath: paths.pulumi,
    npmPath: paths.npm,
    helmPath: paths.helm,
    passphraseFile: `${paths.passphrase}/passphrase`,
    npmrc: paths.npmrc,
    pluginDirectories: [paths.plugins],
    tmpDir: `${paths.tmp}/platform-operator`,
    memoryDir: paths.memory,
    identity: {
      podUID: options.podUID,
      podName: options.podName,
      incarnation: options.incarnation,
      hostname: hostnameOf(options.podName),
    },
  },
})

const machine = ({ container, direct, edge, life }: OperatorProcessOptions) => {
  const user = { ...operatorUser, umask: 0o022 }
  if (direct !== undefined) {
    return Layer.succeedContext(
      Context.make(Disk, diskOf(container.files, user)).pipe(
        Context.add(FileSystem.FileSystem, fileSystemOf(container.files, user)),
        Context.add(ChildProcessSpawner.ChildProcessSpawner, spawnerOf(container, life)),
        Context.add(Processes, container.processesService()),
      ),
    )
  }
  return Layer.succeedContext(
    Context.make(Disk, edgeDisk(edge, diskOf(container.files, user))).pipe(
      Context.add(FileSystem.FileSystem, edgeFileSystem(edge, fileSystemOf(container.files, user))),
      Context.add(ChildProcessSpawner.ChildProcessSpawner, edgeSpawner(edge, spawnerOf(container, life))),
      Context.add(Processes, edgeProcesses(edge, container.processesService())),
    ),
  )
}

const kubernetes = ({ connect, edge, http }: OperatorProcessOptions) =>
  Layer.effectContext(kubernetesOver(edgeHttp(edge, http), edgeConnect(edge, connect)))

const direct = (options: OperatorProcessOptions, { kubernetes, target }: Direct) => {
  const { settings, stateDir, helm, pulumi } = layerOptions(options)
  const files = options.container.files.files.as({ ...operatorUser, umask: 0o077 })
  const isPodAlive = () => Effect.succeed(true)
  return Layer.mergeAll(
    HelmLive.layer(helm),
    DirectPulumi({ ...pulumi, isPodAlive }, { ...target, files }),
    actorsLayer(pulumi.identity),
  ).pipe(
    Layer.provideMerge(StateStoreLive.layer({ stateDir })),
    Layer.provideMerge(Layer.succeed(Settings, settings)),
    // Straight on the server there are no connections that could fall silent.
    Layer.provideMerge(Layer.succeed(WatchHealth, { statuses: Effect.succeed([]) })),
    Layer.provideMerge(kubernetes),
  )
}

const services = (options: OperatorProcessOptions) =>
  options.direct === undefined
    ? operatorLayer(layerOptions(options)).pipe(Layer.provideMerge(kubernetes(options)))
    : direct(options, options.direct)

const traceLogger = Logger.make((entry) => {
  const { level, message, annotations, cause } = Logger.formatStructured.log(entry)
  const rest = [annotations, cause].filter((each) => each !== undefined)
  return [level, ...[message].flat(), ...rest]
    .map((each) => (typeof each === "string" ? each : JSON.stringify(each)))
    .join(" ")
})

const logger = (log: LogSink | undefined) =>
  log === undefined
    ? Layer.mergeAll(Logger.layer([]), Layer.succeed(References.MinimumLogLevel, "None"))
    : Logger.layer([Logger.map(log.form === "json" ? jsonLogger : traceLogger, log.write)])

/** As main.ts has it. */
const election = (options: OperatorProcessOptions) =>
  Effect.map(
    holderIsDead(options.settings.operatorNamespace, options),
    (isDead): LeaseOptions => ({
      namespace: options.settings.operatorNamespace,
      name: "platform-operator",
      identity: formatIdentity(options),
      isDead,
      overdue: Effect.die(new Error("work did not end in time after the lease was lost")),
    }),
  )

const work = (options: OperatorProcessOptions) =>
  options.leaderElect ? Effect.flatMap(election(options), (lease) => lead(lease, runInstances)) : runInstances

/** As main.ts has it, but for what tells of the process that runs the tests. */
const measures = ({ onMetrics }: OperatorProcessOptions) =>
  onMetrics === undefined
    ? Layer.empty
    : measuresLayer({
        version: releaseJson.operatorVersion,
        sandboxed: false,
        tmpDir: paths.tmp,
        memoryDir: paths.memory,
      })

const tellMetrics = ({ onMetrics }: OperatorProcessOptions) =>
  Effect.map(Effect.context<never>(), (context) => onMetrics?.(Effect.provideContext(scrape, context)))

/** Runs until it is interrupted, as SIGTERM does. Fails when the operator cannot start. */
export const operatorProcess = (options: OperatorProcessOptions) =>
  Effect.andThen(tellMetrics(options), awaitCaches).pipe(
    Effect.andThen(Effect.andThen(options.onReady, work(options))),
    Effect.provide(
      measures(options).pipe(
        Layer.provideMerge(services(options)),
        Layer.provideMerge(machine(options)),
        Layer.provideMerge(logger(options.log)),
      ),
    ),
    // Each process counts from 0.
    Effect.provideService(Metric.MetricRegistry, new Map()),
    Effect.provideService(Collectors, makeCollectors()),
    Effect.provideService(ShownInstances, new Map()),
    options.spans === undefined
      ? Effect.provideService(References.TracerEnabled, false)
      : options.spans.traced,
  )

/** A log line in the trace. */
export const logTo = (trace: Trace, name: string): LogSink => ({
  form: "trace",
  write: (line) => trace.add(`${name} log: ${line}`),
})

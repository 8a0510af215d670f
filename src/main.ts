// Flags -> config -> layers -> run. Composition only.
import { randomUUID } from "node:crypto"
import { hostname, tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import {
  Cause,
  Config,
  Console,
  Data,
  Effect,
  Exit,
  FileSystem,
  Layer,
  Option,
  Ref,
  Runtime,
  Schema,
} from "effect"
import { Command } from "effect/cli"
import releaseJson from "../release.json" with { type: "json" }
import { awaitCaches, runInstances } from "./actors/instance/Instances.ts"
import { operatorLayer } from "./actors/Operator.ts"
import { refuseBesideAnother } from "./actors/SoleOperator.ts"
import { pinnedTenantHostImage, pinnedVclusterImage, Release } from "./schema/Release.ts"
import { DiskLive } from "./services/Disk/DiskLive.ts"
import { checkFlags, type Flags, flags, parseAddress } from "./services/Flags/Flags.ts"
import * as Help from "./services/Flags/Help.ts"
import { CrdCheck } from "./services/Health/CrdCheck.ts"
import { healthLayer, metricsLayer } from "./services/Health/Health.ts"
import { Ready } from "./services/Health/Readiness.ts"
import { logWaiting, tellSandbox, warnOfPassphrase } from "./services/Health/StartLog.ts"
import * as KubernetesLive from "./services/Kubernetes/KubernetesLive.ts"
import { formatIdentity, holderIsDead } from "./services/LeaderElection/Identity.ts"
import { lead } from "./services/LeaderElection/LeaderElection.ts"
import { measuresLayer } from "./services/Metrics/MetricsLive.ts"
import { processMetricsLayer } from "./services/Metrics/ProcessMetrics.ts"
import { ProcessesLive } from "./services/Process/ProcessesLive.ts"
import { findPrograms } from "./services/Process/Programs.ts"
import { isWhole, probeSandbox, type SandboxState } from "./services/Process/Sandbox.ts"
import { redaction } from "./services/Pulumi/Redact.ts"
import { logLayer } from "./services/Telemetry/Telemetry.ts"
import { telemetryLayer } from "./services/Telemetry/Traces.ts"

/** Beside the bundle in the image; in the repository when the sources run as they are. */
const assets = (() => {
  const here = fileURLToPath(new URL(".", import.meta.url))
  const bundled = import.meta.url.endsWith(".mjs")
  const root = bundled ? here : fileURLToPath(new URL("..", import.meta.url))
  return {
    chart: `${root}charts/vcluster`,
    runner: bundled ? `${here}runner.mjs` : `${here}services/Pulumi/runner/main.ts`,
    wrapper: bundled ? `${here}wrapper/index.js` : `${here}services/Pulumi/wrapper/index.js`,
    /** What the runner is made of. */
    code: bundled ? [here] : [here, `${root}node_modules`, `${root}package.json`],
  }
})()

/** What this build consists of; bundled with it. */
const release = Schema.decodeSync(Release)(releaseJson)

const pod = Config.all({
  name: Config.withDefault(Config.String("POD_NAME"), hostname()),
  uid: Config.withDefault(Config.String("POD_UID"), "outside"),
  namespace: Config.option(Config.String("POD_NAMESPACE")),
  image: Config.option(Config.String("OPERATOR_IMAGE")),
  kubeconfig: Config.option(Config.String("KUBECONFIG")),
})

class StartError extends Data.TaggedError("StartError")<{ readonly message: string }> {}

const need = (value: Option.Option<string>, problem: string) =>
  Effect.mapError(Effect.fromOption(value), () => new StartError({ message: problem }))

/** Fails where one is required and this kernel has none, or none that keeps files of others from being cut off. */
const findSandbox = Effect.fnUntraced(function* (given: Flags) {
  const state: SandboxState = given.sandbox
    ? yield* probeSandbox()
    : { _tag: "Unavailable", reason: "turned off by --sandbox=false" }
  const refusal =
    state._tag === "Unavailable"
      ? state.reason
      : isWhole(state.abi)
        ? undefined
        : `this kernel has version ${state.abi} of Landlock's interface, which keeps no file from being cut off; Linux 6.2 has 3`
  return given.requireSandbox && refusal !== undefined
    ? yield* new StartError({
        message: `--require-sandbox: programs of packages cannot be kept from files of others: ${refusal}`,
      })
    : state
})

const start = Effect.fnUntraced(function* (given: Flags) {
  yield* checkFlags(given).pipe(Effect.mapError((message) => new StartError({ message })))
  const env = yield* pod
  const fs = yield* FileSystem.FileSystem
  const operatorNamespace = yield* need(
    Option.orElse(given.operatorNamespace, () => env.namespace),
    "--operator-namespace is needed outside a cluster (POD_NAMESPACE is not set)",
  )
  const operatorImage = yield* need(
    Option.orElse(given.operatorImage, () => env.image),
    "--operator-image is needed outside a cluster (OPERATOR_IMAGE is not set)",
  )
  const { helm, pulumi, npm } = yield* findPrograms()
  const sandbox = yield* findSandbox(given)
  const identity = { podName: env.name, podUID: env.uid, incarnation: randomUUID() }

  // The chart mounts memory there; outside a pod the machine's own has to do.
  const memoryDir = (yield* fs.exists("/run/platform-operator")) ? "/run/platform-operator" : "/dev/shm"

  const chart = Option.match(given.vclusterChart, {
    onNone: () => ({ path: assets.chart, digest: Option.some(release.vcluster.chartDigest) }),
    onSome: (path) => ({ path, digest: given.vclusterChartDigest }),
  })
  const services = operatorLayer({
    settings: {
      storageRootBase: given.storageRootBase,
      installTimeout: given.installTimeout,
      repairInterval: given.repairInterval,
      targetPoll: given.targetPoll,
      maxConcurrentInstalls: given.maxConcurrentInstalls,
      maxConcurrentTargets: given.maxConcurrentTargets,
      watchNamespaces: given.watchNamespaces,
      allowPrivilegedInstances: given.allowPrivilegedInstances,
      protectInstances: given.protectInstances,
      isolateInstanceNetwork: given.isolateInstanceNetwork,
      podRanges: given.podRanges,
      instanceQuota: given.instanceQuota,
      controlPlanePriority: given.controlPlanePriority,
      cleanupNamespace: Option.getOrElse(given.cleanupNamespace, () => operatorNamespace),
      operatorNamespace,
      operatorImage,
      defaultTenantHostImage: Option.orElse(given.defaultTenantHostImage, () =>
        pinnedTenantHostImage(release),
      ),
      images: {
        // Another chart has an image of its own.
        vcluster: Option.orElse(given.vclusterImage, () =>
          Option.isSome(given.vclusterChart) ? Option.none() : pinnedVclusterImage(release),
        ),
        kubernetes: given.vclusterKubernetesImage,
        registry: given.imageRegistry,
      },
    },
    stateDir: given.stateDir,
    helm: {
      helm,
      chart,
      ...Option.match(env.kubeconfig, { onNone: () => ({}), onSome: (kubeconfig) => ({ kubeconfig }) }),
    },
    pulumi: {
      nodePath: process.execPath,
      ...(sandbox._tag === "Available" ? { sandbox: { launcher: sandbox.launcher, code: assets.code } } : {}),
      runnerPath: assets.runner,
      wrapperPath: assets.wrapper,
      pulumiPath: pulumi,
      npmPath: npm,
      helmPath: helm,
      passphraseFile: given.passphraseFile,
      ...Option.match(given.npmRegistry, { onNone: () => ({}), onSome: (registry) => ({ registry }) }),
      ...Option.match(given.pluginServer, {
        onNone: () => ({}),
        onSome: (pluginServer) => ({ pluginServer }),
      }),
      ...Option.match(given.npmrc, { onNone: () => ({}), onSome: (npmrc) => ({ npmrc }) }),
      pluginDirectories: [...Option.toArray(given.pluginDirectory), "/opt/pulumi/plugins"],
      minFreeSpace: given.minFreeSpace,
      ...(given.operationMemory === 0 ? {} : { operationMemory: given.operationMemory }),
      tmpDir: "/tmp/platform-operator",
      memoryDir,
      identity: { ...identity, hostname: hostname() },
    },
  }).pipe(Layer.provideMerge(KubernetesLive.layer))
  const serving = Layer.mergeAll(
    healthLayer(parseAddress(given.healthAddress)),
    metricsLayer(parseAddress(given.metricsAddress)),
    processMetricsLayer,
    measuresLayer({
      version: release.operatorVersion,
      sandboxed: sandbox._tag === "Available",
      tmpDir: tmpdir(),
      memoryDir,
    }),
  )
  const telemetry = telemetryLayer(release.operatorVersion, redaction([]), logLayer(given.logLevel))
  const operator = Effect.gen(function* () {
    const ready = yield* Ready
    const lease = {
      namespace: operatorNamespace,
      name: "platform-operator",
      identity: formatIdentity(identity),
      isDead: yield* holderIsDead(operatorNamespace, identity),
      // Nothing else could keep what is still at work from meeting the next leader's.
      overdue: Effect.andThen(
        Effect.logError("work did not end in time after the lease was lost"),
        Effect.sync(() => process.exit(1)),
      ),
    }
    yield* Effect.addFinalizer(() => Ref.set(ready, false))
    yield* Effect.logInfo("platform operator starting").pipe(
      Effect.annotateLogs({ version: release.operatorVersion, stateDir: given.stateDir }),
    )
    yield* warnOfPassphrase(given.passphraseFile)
    yield* tellSandbox(sandbox)
    yield* Effect.forkScoped(logWaiting)
    yield* refuseBesideAnother({
      lease: lease.name,
      isDead: (namespace, holder) =>
        Effect.flatMap(holderIsDead(namespace, identity), (isDead) => isDead(holder)),
    })
    yield* awaitCaches
    yield* Ref.set(ready, true)
    yield* Effect.logInfo("platform operator ready").pipe(
      Effect.annotateLogs({ secondsSinceStart: Number(process.uptime().toFixed(3)) }),
    )
    return yield* given.leaderElect ? lead(lease, runInstances) : runInstances
  })
  return yield* Effect.scoped(operator).pipe(
    Effect.provide(
      serving.pipe(
        Layer.provideMerge(CrdCheck.layer),
        Layer.provideMerge(services),
        Layer.provideMerge(Ready.layer),
        Layer.provideMerge(telemetry),
      ),
    ),
  )
})

/** SIGTERM is the ordinary end: everything has been stopped in order. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    ? onExit(0)
    : Runtime.defaultTeardown(exit, onExit)

const command = Command.make("platform-operator", flags, start).pipe(
  Command.withDescription(
    [
      "Turns PlatformInstances into running, isolated copies of the di-framework platform",
      "Durations are written as in Go (30m, 1h30m, 10s), bytes as in Kubernetes (512Mi). What else it takes from its",
      `environment, and what each flag means, is in https://github.com/di-framework/platform/blob/v${release.operatorVersion}/docs/reference.md#the-operators-flags`,
    ].join("\n  "),
  ),
)

/** The machine this runs on: files, disk, child processes and processes. */
const machine = Layer.mergeAll(NodeServices.layer, DiskLive.layer, ProcessesLive.layer)

/** What went wrong before the operator ran, in the words of whoever found it: a line, not a stack. */
const describe = (error: { readonly _tag: string; readonly message: string }): string =>
  error._tag === "HelmError" ? `helm show chart: ${error.message || "failed without a word"}` : error.message

Command.run(command, { version: release.operatorVersion }).pipe(
  Effect.catchTag(
    [
      "AddressError",
      "AnotherOperator",
      "EndpointError",
      "HelmError",
      "KubeError",
      "LeaseLost",
      "ProgramMissing",
      "StartError",
      "StateStoreError",
    ],
    (error) =>
      Effect.andThen(
        Console.error(`platform-operator: ${describe(error)}`),
        Effect.sync(() => process.exit(1)),
      ),
  ),
  Effect.provide(Help.layer.pipe(Layer.provideMerge(machine))),
  NodeRuntime.runMain({ teardown }),
)

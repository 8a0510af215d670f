// The operator of the bench: everything is what ships but Helm and the engine, which the bench's tools stand for
// (tools.ts). As its peer it is told where they are; its cluster is that of $KUBECONFIG.
//
//   node operator.mjs --tools=URL --state=FOLDER [--slots=10] [--target-poll=10] [--probe-port=8081]
//
// SIGUSR2: prints the delay of its event loop since the last time, in milliseconds, as JSON.
import { mkdirSync, writeFileSync } from "node:fs"
import { Agent, request as httpRequest } from "node:http"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { parseArgs } from "node:util"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Duration, Effect, Layer, Option, Ref } from "effect"
import releaseJson from "../../../release.json" with { type: "json" }
import { awaitCaches, runInstances } from "../../../src/actors/instance/Instances.ts"
import { Settings } from "../../../src/actors/instance/Settings.ts"
import { actorsLayer } from "../../../src/actors/Operator.ts"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { CrdCheck } from "../../../src/services/Health/CrdCheck.ts"
import { healthLayer, metricsLayer } from "../../../src/services/Health/Health.ts"
import { Ready } from "../../../src/services/Health/Readiness.ts"
import { Helm, HelmError } from "../../../src/services/Helm/Helm.ts"
import {
  recordName,
  recordSelector,
  releaseState,
  storedRevision,
} from "../../../src/services/Helm/ReleaseRecord.ts"
import { Secret } from "../../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import * as KubernetesLive from "../../../src/services/Kubernetes/KubernetesLive.ts"
import { measuresLayer } from "../../../src/services/Metrics/MetricsLive.ts"
import { processMetricsLayer } from "../../../src/services/Metrics/ProcessMetrics.ts"
import { ProcessesLive } from "../../../src/services/Process/ProcessesLive.ts"
import { Pulumi, PulumiError } from "../../../src/services/Pulumi/Pulumi.ts"
import { redaction } from "../../../src/services/Pulumi/Redact.ts"
import { StateStore } from "../../../src/services/StateStore/StateStore.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { logLayer } from "../../../src/services/Telemetry/Telemetry.ts"
import { telemetryLayer } from "../../../src/services/Telemetry/Traces.ts"

const { values: flags } = parseArgs({
  options: {
    tools: { type: "string", default: "" },
    state: { type: "string", default: "" },
    slots: { type: "string", default: "10" },
    "target-poll": { type: "string", default: "10" },
    "probe-port": { type: "string", default: "8081" },
  },
})
const slots = Number(flags.slots)
const agent = new Agent({ keepAlive: true })

const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
process.on("SIGUSR2", () => {
  const [p50, p99, max] = [delay.percentile(50), delay.percentile(99), delay.max].map((nanos) => nanos / 1e6)
  process.stdout.write(`${JSON.stringify({ delay: { p50, p99, max } })}\n`)
  delay.reset()
})

/** Fails with what the tools said. */
const ask = (verb: string, query: Readonly<Record<string, string>>) =>
  Effect.callback<void, string>((resume) => {
    const url = new URL(`${flags.tools}/${verb}?${new URLSearchParams(query)}`)
    const asked = httpRequest(url, { method: "POST", agent }, (response) => {
      let body = ""
      response.on("data", (chunk) => {
        body += chunk
      })
      response.on("end", () => resume(response.statusCode === 200 ? Effect.void : Effect.fail(body)))
    })
    asked.on("error", ({ message }) => resume(Effect.fail(message)))
    asked.end()
    return Effect.sync(() => asked.destroy())
  })

/** The default tenant host, which every version here approves. */
const tenantHost = `tenant-host@sha256:${"0".repeat(64)}`

const helmFailed = (operation: HelmError["operation"], message: string) =>
  new HelmError({ operation, message, exitCode: Option.none() })

const helm = Layer.effect(
  Helm,
  Effect.gen(function* () {
    const kubernetes = yield* Kubernetes
    return Helm.of({
      chartVersion: releaseJson.vcluster.chartVersion,
      state: (release) =>
        kubernetes
          .list(Secret, {
            namespace: release.namespace,
            labelSelector: recordSelector(release),
            metadataOnly: true,
          })
          .pipe(
            Effect.map(releaseState),
            Effect.mapError(({ message }) => helmFailed("read", message)),
          ),
      stored: Effect.fnUntraced(function* (release, revision) {
        const ref = { namespace: release.namespace, name: recordName(release, revision) }
        const record = yield* kubernetes.get(Secret, ref)
        if (Option.isNone(record)) return yield* helmFailed("read", "its record is gone")
        return yield* Effect.mapError(storedRevision(record.value), (why) => helmFailed("read", why))
      }),
      install: ({ namespace }) =>
        Effect.mapError(ask("install", { namespace }), (message) => helmFailed("install", message)),
      upgrade: () => Effect.fail(helmFailed("upgrade", "not in this bench")),
      reapply: () => Effect.fail(helmFailed("rollback", "not in this bench")),
      rollback: () => Effect.fail(helmFailed("rollback", "not in this bench")),
      uninstall: () => Effect.void,
    })
  }),
)

const pulumi = Layer.effect(
  Pulumi,
  Effect.gen(function* () {
    const store = yield* StateStore
    return Pulumi.of({
      fetch: (version) =>
        Effect.succeed({
          version,
          directory: flags.state,
          digest: "sha256:0",
          approvedHostBuilds: [tenantHost],
        }),
      prune: () => Effect.void,
      stateDigest: () => Effect.succeed(""),
      exportState: () => Effect.void,
      preview: () => Effect.succeed({ steps: [], drifted: [] }),
      run: Effect.fnUntraced(
        function* ({ key }, onProgress) {
          yield* Effect.mapError(store.prepare(key), ({ message }) => message)
          const { project } = store.paths(key)
          mkdirSync(project, { recursive: true })
          writeFileSync(`${project}/index.js`, "")
          yield* onProgress({ step: "up" })
          yield* ask("up", { instance: `${key.namespace}/${key.name}` })
          return { endpoints: {}, namespace: "platform", changes: { create: 1 } }
        },
        (run, { version }) =>
          Effect.mapError(
            run,
            (message) => new PulumiError({ step: "up", version, message, reason: "Failed" }),
          ),
      ),
    })
  }),
)

const identity = { podName: "bench", podUID: "bench", incarnation: "bench", hostname: "bench" }
const settings = {
  storageRootBase: "/data",
  installTimeout: Duration.minutes(30),
  repairInterval: Duration.minutes(30),
  targetPoll: Duration.seconds(Number(flags["target-poll"])),
  maxConcurrentInstalls: slots,
  maxConcurrentTargets: slots,
  watchNamespaces: [],
  allowPrivilegedInstances: false,
  isolateInstanceNetwork: false,
  podRanges: [],
  protectInstances: true,
  instanceQuota: new Map(),
  controlPlanePriority: true,
  cleanupNamespace: "platform-operator",
  operatorNamespace: "platform-operator",
  operatorImage: "platform-operator:bench",
  defaultTenantHostImage: Option.some(tenantHost),
  images: { vcluster: Option.none(), kubernetes: Option.none(), registry: Option.none() },
}

const services = Layer.mergeAll(helm, pulumi, actorsLayer(identity)).pipe(
  Layer.provideMerge(StateStoreLive.layer({ stateDir: flags.state })),
  Layer.provideMerge(Layer.succeed(Settings, settings)),
  Layer.provideMerge(KubernetesLive.layer),
)
const serving = Layer.mergeAll(
  healthLayer({ host: "127.0.0.1", port: Number(flags["probe-port"]) }),
  metricsLayer({ host: "127.0.0.1", port: 0 }),
  processMetricsLayer,
  measuresLayer({
    version: releaseJson.operatorVersion,
    sandboxed: false,
    tmpDir: flags.state,
    memoryDir: "/dev/shm",
  }),
)

const operator = Effect.gen(function* () {
  yield* awaitCaches
  yield* Ref.set(yield* Ready, true)
  return yield* runInstances
})

Effect.scoped(operator).pipe(
  Effect.provide(
    serving.pipe(
      Layer.provideMerge(CrdCheck.layer),
      Layer.provideMerge(services),
      Layer.provideMerge(Ready.layer),
      Layer.provideMerge(telemetryLayer(releaseJson.operatorVersion, redaction([]), logLayer("Warn"))),
      Layer.provideMerge(Layer.mergeAll(NodeServices.layer, DiskLive.layer, ProcessesLive.layer)),
    ),
  ),
  NodeRuntime.runMain(),
)

// A world for the instance actors: a host cluster in memory with its controllers and vClusters, Helm, an engine and a
// state directory that outlive an operator; and operators, which are started in it and stopped.
import { Clock, Duration, Effect, Exit, Layer, Option, Random, Scope } from "effect"
import { TestClock } from "effect/testing"
import { awaitCaches, runInstances } from "../../../src/actors/instance/Instances.ts"
import { InstallPermits } from "../../../src/actors/instance/install/InstallPermits.ts"
import { type InstanceSettings, Settings } from "../../../src/actors/instance/Settings.ts"
import { HostNetwork } from "../../../src/actors/instance/target/HostNetwork.ts"
import { Protection } from "../../../src/actors/instance/target/Protection.ts"
import { Quotas } from "../../../src/actors/instance/target/Quotas.ts"
import { TargetPermits } from "../../../src/actors/instance/target/TargetPermits.ts"
import { OwnPod } from "../../../src/actors/instance/target/writer.ts"
import { ViewsLive } from "../../../src/actors/instance/ViewsLive.ts"
import { hostNamespace } from "../../../src/schema/Names.ts"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import { Events, type OperatorEvent } from "../../../src/services/Events/Events.ts"
import * as HistoryLive from "../../../src/services/History/HistoryLive.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { type Cluster, makeCluster } from "./Cluster.ts"
import { runControllers } from "./Controllers.ts"
import { runControlPlanes } from "./ControlPlanes.ts"
import { makePulumi, makeStateStore } from "./Engine.ts"
import { decoded, key, manifestOf } from "./instances.ts"
import { makeConnect, makeHelm } from "./Vcluster.ts"

export const hostImage = "ghcr.io/di-framework/wash@sha256:0"

export const settings: InstanceSettings = {
  storageRootBase: "/base",
  allowPrivilegedInstances: false,
  protectInstances: true,
  isolateInstanceNetwork: true,
  podRanges: [],
  instanceQuota: new Map(),
  controlPlanePriority: true,
  installTimeout: Duration.minutes(30),
  repairInterval: Duration.minutes(30),
  targetPoll: Duration.seconds(10),
  maxConcurrentInstalls: 2,
  maxConcurrentTargets: 4,
  watchNamespaces: [],
  cleanupNamespace: "ops",
  operatorNamespace: "platform-operator",
  operatorImage: "operator@sha256:0",
  defaultTenantHostImage: Option.some(hostImage),
  images: { vcluster: Option.none(), kubernetes: Option.none(), registry: Option.none() },
}

const inNamespaces = [
  Kinds.ServiceAccount,
  Kinds.Role,
  Kinds.RoleBinding,
  Kinds.Secret,
  Kinds.Service,
  Kinds.StatefulSet,
  Kinds.NetworkPolicy,
  Kinds.Pod,
  Kinds.Job,
] as const

const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })

/** The phases and reasons an instance has shown, in order, each once in a row. */
const follow = (cluster: Cluster) => {
  const statuses: Array<PlatformInstanceStatus> = []
  cluster.listeners.push(({ kind, object, deleted }) => {
    if (kind === Kinds.PlatformInstance && object.metadata.name === key.name && !deleted)
      statuses.push(decoded(object).status ?? {})
  })
  const story = () =>
    statuses
      .map(({ phase, conditions = [] }) => {
        const reason = (type: string) => conditions.find((each) => each.type === type)?.reason ?? "-"
        return `${phase ?? "-"}: ${reason("TargetReady")}, ${reason("Ready")}`
      })
      .filter((line, index, lines) => line !== lines[index - 1])
  return { statuses, story }
}

/**
 * Lets so much virtual time pass. Streams need turns of the scheduler between two moments, which the test clock does
 * not give by itself.
 */
export const pass = Effect.fnUntraced(function* (seconds: number, step = 1) {
  const settle = Effect.repeat(Effect.yieldNow, { times: 60 })
  yield* settle
  for (let passed = 0; passed < seconds; passed += step) {
    yield* TestClock.adjust(Duration.seconds(step))
    yield* settle
  }
})

export const makeWorld = Effect.fnUntraced(function* (choices: Partial<InstanceSettings> = {}) {
  const cluster = yield* makeCluster
  const jobs: Array<"Complete" | "Failed"> = []
  yield* runControllers(cluster, inNamespaces, jobs)
  const controlPlanes = yield* runControlPlanes(cluster)
  const { connect, network, checks } = makeConnect(controlPlanes)
  const helm = makeHelm(cluster)
  const store = makeStateStore()
  const pulumi = makePulumi(store.states, [hostImage])
  const events: Array<OperatorEvent & { readonly at: number }> = []
  const { statuses, story } = follow(cluster)
  for (const name of ["team-a", "ops", "platform-operator"]) cluster.create(Kinds.Namespace, namespace(name))

  const services = Layer.mergeAll(
    Layer.succeed(Kubernetes, { ...cluster.client, connect: (kubeconfig) => connect(kubeconfig) }),
    Layer.succeed(Settings, { ...settings, ...choices }),
    Layer.succeed(Events, {
      emit: (_, event) =>
        Effect.map(Clock.currentTimeMillis, (at) => void events.push({ ...event, at: at / 1000 })),
    }),
    helm.layer,
    Layer.succeed(OwnPod, { podName: "operator-0", podUID: "operator" }),
    store.layer,
    pulumi.layer,
  ).pipe((services) => Layer.provideMerge(HistoryLive.layer, services))
  const layer = ViewsLive.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(Protection.layer, Quotas.layer, InstallPermits.layer, TargetPermits.layer),
    ),
    Layer.provideMerge(
      Layer.succeed(HostNetwork, {
        facts: Effect.succeed({ podRanges: ["10.244.0.0/16"], apiServers: [], apiServices: [] }),
      }),
    ),
    Layer.provideMerge(services),
  )

  /** An operator process; what it gives back stops it, as SIGTERM does. */
  const startOperator = Effect.fnUntraced(function* () {
    const scope = yield* Scope.make()
    yield* Layer.build(layer).pipe(
      Effect.flatMap((context) => Effect.provideContext(Effect.andThen(awaitCaches, runInstances), context)),
      Random.withSeed("a world"),
      Scope.provide(scope),
      Effect.forkIn(scope),
    )
    return { stop: Scope.close(scope, Exit.void) }
  })

  return {
    cluster,
    helm,
    pulumi,
    store,
    events,
    /** Outcomes of the cleanup Jobs to come. */
    jobs,
    network,
    checks,
    controlPlanes,
    statuses,
    story,
    startOperator,
    /** What a user does: apply a manifest, change its spec, delete it. */
    apply: (spec?: Readonly<Record<string, unknown>>) =>
      void cluster.apply(Kinds.PlatformInstance, manifestOf(spec)),
    edit: (change: Readonly<Record<string, unknown>>) =>
      Effect.sync(
        () => void cluster.patch(Kinds.PlatformInstance, key, { type: "merge", patch: change }, false),
      ),
    remove: () => cluster.end(Kinds.PlatformInstance, key),
    host: hostNamespace(key),
    /** The instance's status, or nothing when it is gone. */
    status: () =>
      Option.map(Option.fromUndefinedOr(cluster.instance(key)), (object) => decoded(object).status ?? {}),
  }
})
export type World = Effect.Success<ReturnType<typeof makeWorld>>

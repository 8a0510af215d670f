// The whole simulated world: a host cluster with its controllers, one node and the vClusters on it, a network, a package
// registry; users; and operators, which are started in it, stopped and killed.
import { Duration, Effect, Option } from "effect"
import type { InstanceSettings } from "../../../src/actors/instance/Settings.ts"
import type { InstanceKey } from "../../../src/schema/InstanceKey.ts"
import { hostNamespace } from "../../../src/schema/Names.ts"
import { decodePlatformInstance, type PlatformInstance } from "../../../src/schema/PlatformInstance.ts"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Spans } from "../../support/spans.ts"
import { runControllerManager } from "../controllers/ControllerManager.ts"
import { cleanup, isCleanup } from "../controllers/node/Cleanup.ts"
import { runNode } from "../controllers/node/Node.ts"
import { type EndState, endState, type FoundFile, keepLedger, type Ledger } from "../crash/EndState.ts"
import { DirectKubernetes } from "../direct/Kubernetes.ts"
import { type Files, makeFiles } from "../files/Files.ts"
import { Volume } from "../files/Volume.ts"
import { helmProgram } from "../helm/Program.ts"
import { watched } from "../helm/Watched.ts"
import type { ApiServer } from "../kubernetes/ApiServer.ts"
import { httpOf } from "../kubernetes/Http.ts"
import { makeNetwork, type Network } from "../kubernetes/Network.ts"
import { makeApiServer } from "../kubernetes/Server.ts"
import { npmProgram } from "../npm/Npm.ts"
import { makePluginHost, pulumiProgram } from "../npm/PluginHost.ts"
import { makeRegistry } from "../npm/Registry.ts"
import { Pipe } from "../processes/Pipe.ts"
import type { ProcessContext } from "../processes/Program.ts"
import { runnerProgram } from "../pulumi/Runner.ts"
import { Simulation } from "../simulation/Simulation.ts"
import { runVclusters } from "../vcluster/Vclusters.ts"
import { operatorUser, paths } from "./Image.ts"
import { crd, operatorRules } from "./Installation.ts"
import { type Lost, makeOperatorPod } from "./OperatorPod.ts"
import { makeOperators, type StartOptions } from "./Operators.ts"

export interface WorldOptions {
  readonly settings?: Partial<InstanceSettings>
  /** Calls and logs of operators in the trace. Default: true; false for long runs. */
  readonly traced?: boolean
  /** Where the operators' logs go when they are not in the trace: a line of JSON each, of a pod. Default: nowhere. */
  readonly log?: (line: string, pod: string) => void
  /** Where the operators' spans go. Default: they make none. */
  readonly spans?: Spans
  /**
   * The operator's services of the cluster and the engine stand straight on their twins (../direct), which takes a tenth
   * of the time and leaves out what lies at the operator's edge. Default: false.
   */
  readonly direct?: boolean
  /** Instances have a tenant auth, with its client secret, unless they are applied with a platform of their own. Default: false. */
  readonly tenantAuth?: boolean
  /** Plugins of the image. Default: the one the platform needs. */
  readonly plugins?: ReadonlyArray<string>
  /** Told of each request of helm to the host's API before it has an effect; may throw `Unanswered`. */
  readonly onHelm?: (method: string, path: string) => void
  /** Of what nobody has synced, asked when there is a power cut. Default: some, by chance. */
  readonly powerCutTakes?: () => Lost
}

export const key: InstanceKey = { namespace: "team-a", name: "one" }

const operatorNamespace = "platform-operator"
const cleanupNamespace = "platform-cleanup"
const operatorImage = `ghcr.io/di-framework/platform-operator@sha256:${"0".repeat(64)}`
/** What the stand-in package approves. */
const tenantHostImage =
  "ghcr.io/di-framework/wash:2.8.0-wasi-tls-exclusive@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/** The defaults of the flags. */
const defaults: InstanceSettings = {
  storageRootBase: "/var/lib/platform-instances",
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
  cleanupNamespace,
  operatorNamespace,
  operatorImage,
  defaultTenantHostImage: Option.some(tenantHostImage),
  images: { vcluster: Option.none(), kubernetes: Option.none(), registry: Option.none() },
}

const operatorLabels = {
  "app.kubernetes.io/name": "platform-operator",
  "app.kubernetes.io/instance": "platform-operator",
}
const operatorAccount = `system:serviceaccount:${operatorNamespace}:platform-operator`

const spec = {
  version: "6.0.22",
  target: { type: "vcluster" },
  deletionPolicy: "Delete",
  platform: {
    tenants: [{ name: "acme" }, { name: "globex" }],
    users: [{ name: "dev", memberships: [{ tenant: "acme", role: "developer" }] }],
  },
}

const oauth = { name: "oauth", key: "clientSecret" }
const platformWithAuth = {
  ...spec.platform,
  tenantAuth: {
    image: `ghcr.io/di-framework/tenant-auth@sha256:${"a".repeat(64)}`,
    issuer: "https://id.example",
    clientId: "console",
    clientSecretRef: oauth,
  },
}

/** The books of the host's server, and of each other one from when it is first seen on the network. */
const keepBooks = (host: ApiServer, network: Network, { trace }: Simulation["Service"]) => {
  const ledgers = new Map<ApiServer, Ledger>([[host, keepLedger(host)]])
  const listening = new Map<ApiServer, number>()
  const count = (api: ApiServer, change: 1 | -1) => listening.set(api, (listening.get(api) ?? 0) + change)
  let written = 0
  const countWrites = (api: ApiServer) =>
    api.subscribe(({ type, object }) => {
      written += 1
      trace.digest(() => `${api.name} ${type} ${JSON.stringify(object)}`)
    })
  countWrites(host)
  const followed: Network = {
    ...network,
    listen: (name, port, endpoint) => {
      const { api } = endpoint
      if (!ledgers.has(api)) {
        ledgers.set(api, keepLedger(api))
        countWrites(api)
      }
      const stop = network.listen(name, port, endpoint)
      count(api, 1)
      return () => {
        stop()
        count(api, -1)
      }
    },
  }
  /** Of those that serve: what a server held that is gone is gone. */
  const books = () =>
    [...ledgers].flatMap(([api, ledger]) => (api === host || (listening.get(api) ?? 0) > 0 ? [ledger] : []))
  return { books, written: () => written, network: followed }
}

/** Stored objects never change: what one says is read once. */
const known = new WeakMap<KubeObject, PlatformInstance>()

const decoded = (object: KubeObject): PlatformInstance => {
  const before = known.get(object)
  if (before !== undefined) return before
  const instance = Effect.runSync(decodePlatformInstance(object))
  known.set(object, instance)
  return instance
}

export const makeWorld = Effect.fnUntraced(function* (options: WorldOptions = {}) {
  const simulation = yield* Simulation
  const settings = { ...defaults, ...options.settings }
  // The id of a trace stands in an annotation, and so in what the world comes to.
  options.spans?.seed(simulation.seed)
  const host = yield* makeApiServer({ name: "host" })
  const { books, written, network } = keepBooks(host, yield* makeNetwork, simulation)
  yield* runControllerManager(host, {})
  const node = yield* runNode(host)
  node.images.register((_, container) => isCleanup(container.command), cleanup)
  const vclusters = yield* runVclusters({ hostApi: host, node, network })
  const registry = makeRegistry()
  const pluginHost = makePluginHost([])
  const admin = host.as("kubernetes-admin", "kubectl")
  admin.create(Kinds.CustomResourceDefinition, crd)
  for (const name of [key.namespace, operatorNamespace, cleanupNamespace]) {
    admin.create(Kinds.Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
  }
  if (options.tenantAuth === true)
    admin.create(Kinds.Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: key.namespace, name: oauth.name },
      stringData: { [oauth.key]: "planted client secret" },
    })
  for (const { kind, manifest } of operatorRules(operatorNamespace, cleanupNamespace)) {
    admin.create(kind, manifest)
  }

  const machine = yield* makeFiles
  const state = machine.makeVolume({ ...operatorUser, mode: 0o770 })
  machine.mount(paths.state, state)
  const source = { namespace: operatorNamespace, labels: operatorLabels }
  const passphrase = { text: Option.some("correct horse battery staple") }
  const { onHelm } = options
  const helmClient = host.as(operatorAccount, "helm")
  const hostHelm = onHelm === undefined ? helmClient : watched(helmClient, onHelm)
  const programs = (hostname: string) => ({
    [paths.helm]: helmProgram<ProcessContext>({
      connect: (kubeconfig) =>
        kubeconfig === undefined ? hostHelm : network.open(source, kubeconfig, "helm"),
    }),
    [paths.npm]: npmProgram({ "https://registry.npmjs.org": registry }),
    [paths.pulumi]: pulumiProgram(pluginHost),
    [paths.node]: runnerProgram({
      hostname,
      open: (kubeconfig, manager) => network.open(source, kubeconfig, manager),
    }),
  })
  const operators = yield* makeOperators({
    settings,
    http: httpOf(host, { user: operatorAccount }),
    connect: network.connectFrom(source),
    traced: options.traced ?? true,
    ...(options.log === undefined ? {} : { log: options.log }),
    ...(options.spans === undefined ? {} : { spans: options.spans }),
    ...(options.direct === true && {
      direct: {
        kubernetes: DirectKubernetes(host, operatorAccount, network.connectDirect(source)),
        target: {
          open: (kubeconfig, manager) => network.openDirect(source, kubeconfig, manager),
          server: (kubeconfig) => network.server(source, kubeconfig),
        },
      },
    }),
    machine: node,
    makePod: makeOperatorPod({
      api: host,
      namespace: operatorNamespace,
      image: operatorImage,
      state,
      passphrase: () => Option.getOrUndefined(passphrase.text),
      plugins: options.plugins ?? ["resource-kubernetes-v4.25.0"],
      programs,
      labels: operatorLabels,
      lost: options.powerCutTakes ?? (() => "some"),
    }),
  })

  const stateNow = () => stateFiles(machine.files, paths.state)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => simulation.trace.digest(() => JSON.stringify(stateNow()))),
  )

  const find = (of: InstanceKey = key) => host.as("kubernetes-admin").get(Kinds.PlatformInstance, of)

  return {
    simulation,
    settings,
    host,
    admin,
    node,
    network,
    vclusters,
    registry,
    pluginHost,
    passphrase,
    /** The state directory's disk, and the files on it. */
    state,
    files: machine.files,
    startOperator: (start?: StartOptions) => operators.start(start),
    /** What a user does: apply a manifest, change it, delete it. */
    apply: (
      change: Readonly<Record<string, unknown>> = {},
      of: InstanceKey = key,
      annotations: Readonly<Record<string, string>> = {},
    ) =>
      admin.apply(Kinds.PlatformInstance, {
        apiVersion: "platform.di-framework.dev/v1alpha1",
        kind: "PlatformInstance",
        metadata: Object.keys(annotations).length === 0 ? of : { ...of, annotations },
        spec: {
          ...spec,
          ...(options.tenantAuth === true ? { platform: platformWithAuth } : {}),
          ...change,
        },
      }),
    edit: (patch: Readonly<Record<string, unknown>>, of: InstanceKey = key) =>
      admin.patch(Kinds.PlatformInstance, of, { type: "merge", patch }),
    remove: (of: InstanceKey = key) => admin.delete(Kinds.PlatformInstance, of),
    /** Undefined when it is gone. */
    instance: find,
    status: (of: InstanceKey = key): PlatformInstanceStatus | undefined => {
      const object = find(of)
      return object === undefined ? undefined : (decoded(object).status ?? {})
    },
    /** True when the newest generation is Ready. */
    isReady: (of: InstanceKey = key): boolean => {
      const object = find(of)
      if (object === undefined) return false
      const { status } = decoded(object)
      return status?.phase === "Ready" && status.observedGeneration === object.metadata.generation
    },
    /** The host namespace of an instance, and the API of the vCluster in it while it serves. */
    hostNamespace: (of: InstanceKey = key) => hostNamespace(of),
    inner: (of: InstanceKey = key) => vclusters.inner(hostNamespace(of)),
    events: (of: InstanceKey = key) =>
      admin
        .list(Kinds.Event, { namespace: of.namespace })
        .filter(({ regarding }) => JSON.stringify(regarding).includes(`"name":"${of.name}"`)),
    end: (): EndState => endState(books(), stateNow()),
    /**
     * The same text, the same world: the time, what is in the API servers and on the disks, which processes there are and
     * what they have been told. What an operator knows or is about to do is no part of it.
     */
    moment: (): string => {
      const { elapsed, trace } = simulation
      return [elapsed(), written(), Volume.changes, Pipe.changes, trace.lines.length].join(" ")
    },
  }
})
export type World = Effect.Success<ReturnType<typeof makeWorld>>

/** What lies in the state directory. Of text that is JSON, what it says. */
const stateFiles = (files: Files, folder: string): ReadonlyArray<FoundFile> =>
  files.list(folder).flatMap((name): ReadonlyArray<FoundFile> => {
    const path = `${folder}/${name}`
    const entry = files.lstat(path)
    if (entry === undefined) return []
    const about = `${entry.kind} ${entry.mode.toString(8)}`
    if (entry.kind === "directory") return [{ path, about }, ...stateFiles(files, path)]
    if (entry.kind === "file" && name === "instance.json") {
      return [{ path, about: `${about} ${files.readText(path)}` }]
    }
    return [{ path, about }]
  })

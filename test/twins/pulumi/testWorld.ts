// A machine for tests of this twin: the live Pulumi service over a simulated npm, runner, helm and target.
import { readFileSync } from "node:fs"
import { Context, Duration, Effect, FileSystem, Layer, Redacted } from "effect"
import { ChildProcessSpawner } from "effect/process"
import { Disk } from "../../../src/services/Disk/Disk.ts"
import { Namespace } from "../../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"
import { type OperationRequest, Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { optionsIn } from "../../services/Pulumi/harness.ts"
import { runControllerManager } from "../controllers/ControllerManager.ts"
import { diskOf } from "../files/DiskTwin.ts"
import { fileSystemOf } from "../files/FileSystemTwin.ts"
import { makeFiles } from "../files/Files.ts"
import { helmProgram } from "../helm/Program.ts"
import { makeNetwork } from "../kubernetes/Network.ts"
import { makeApiServer } from "../kubernetes/Server.ts"
import { npmProgram } from "../npm/Npm.ts"
import { makePluginHost, pulumiProgram } from "../npm/PluginHost.ts"
import { makeRegistry } from "../npm/Registry.ts"
import { makeContainer } from "../processes/Container.ts"
import { spawnerOf } from "../processes/Spawner.ts"
import { Simulation } from "../simulation/Simulation.ts"
import { runnerProgram } from "./Runner.ts"

const root = "/operator"
const source = { namespace: "platform-operator", labels: {} }
const [host, port] = ["vcluster.pi-team-a-one.svc", 443]
const [token, ca] = ["planted-token", "planted-ca"]
const url = "https://registry.example"

export const kubeconfigTo = (server: string, user = "operator"): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "c", cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: "c", context: { cluster: "c", user } }],
    "current-context": "c",
  })

/** In a simulation. */
export const makeWorld = Effect.fnUntraced(function* (own: Partial<PulumiOptions> = {}) {
  const { lifetime } = yield* Simulation
  const twin = yield* makeFiles
  const { files } = twin
  const container = yield* makeContainer({ name: "operator", files: twin, uid: 0 })
  const options = optionsIn(root, {
    nodePath: "/usr/bin/node",
    npmPath: "/usr/bin/npm",
    pulumiPath: "/usr/bin/pulumi",
    helmPath: "/usr/bin/helm",
    registry: url,
    grace: "60 seconds",
    ...own,
  })
  for (const folder of ["state", "memory", "tmp", "plugins"]) files.mkdirs(`${root}/${folder}`)
  files.writeText(options.passphraseFile, "planted-passphrase")
  files.mkdirs(options.wrapperPath.slice(0, options.wrapperPath.lastIndexOf("/")))
  files.writeText(options.wrapperPath, readFileSync(options.wrapperPath, "utf8"))

  const network = yield* makeNetwork
  const api = yield* makeApiServer({ name: "target" })
  yield* runControllerManager(api, {})
  const endpoint = { api, ca, certificateNames: [host], tokens: new Map([[token, "admin"]]) }
  const stopListening = network.listen(host, port, endpoint)
  const registry = makeRegistry()
  container.install(options.npmPath, npmProgram({ [url]: registry }))
  container.install(options.pulumiPath, pulumiProgram(makePluginHost(["resource-kubernetes-v4.25.0"])))
  container.install(
    options.helmPath,
    helmProgram({ connect: (text) => network.open(source, text ?? "", "helm") }),
  )
  container.install(
    options.nodePath,
    runnerProgram({
      hostname: options.identity.hostname,
      open: (text, manager) => network.open(source, text, manager),
    }),
  )
  const spawner = spawnerOf(container, lifetime())
  const services = Context.make(FileSystem.FileSystem, fileSystemOf(twin, files.user)).pipe(
    Context.add(Disk, diskOf(twin, files.user)),
    Context.add(Processes, container.processesService()),
    Context.add(ChildProcessSpawner.ChildProcessSpawner, spawner),
  )
  const layer = PulumiLive.layer(options).pipe(
    Layer.provide([
      Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })),
      Layer.mock(Kubernetes, { connect: network.connectFrom(source) }),
    ]),
    Layer.provide(Layer.succeedContext(services)),
  )
  const context = yield* Layer.build(layer)
  const admin = api.as("admin", "kubectl")
  const uid = admin.get(Namespace, { name: "kube-system" })?.metadata.uid ?? ""
  const steps: Array<string> = []
  const requestOf = Effect.fnUntraced(function* (own: Partial<OperationRequest>) {
    const version = own.version ?? "6.0.22"
    const request: OperationRequest = {
      key: { namespace: "team-a", name: "one" },
      generation: 1,
      kind: "FirstInstall",
      version,
      package: yield* Pulumi.use((pulumi) => pulumi.fetch(version)),
      refresh: false,
      config: new Map([
        ["networkPolicyEngine", "existing"],
        ["tenants", JSON.stringify([{ name: "acme" }])],
        ["fixtureSkipAwait", "true"],
      ]),
      secretConfig: new Map(),
      kubeconfig: Redacted.make(kubeconfigTo(`https://${host}:${port}`)),
      clusterIdentifier: uid,
      timeout: Duration.minutes(30),
      ...own,
    }
    return request
  })
  return {
    container,
    files,
    volume: twin.volume,
    network,
    api,
    admin,
    endpoint,
    registry,
    options,
    uid,
    address: { host, port },
    stopListening,
    /** What the operation said on its way. */
    steps,
    instance: `${root}/state/instances/team-a/one`,
    fetch: (version: string) =>
      Pulumi.use((pulumi) => pulumi.fetch(version)).pipe(Effect.provideContext(context)),
    prune: (versions: ReadonlySet<string>) =>
      Pulumi.use((pulumi) => pulumi.prune(versions)).pipe(Effect.provideContext(context)),
    run: (own: Partial<OperationRequest> = {}) =>
      requestOf(own).pipe(
        Effect.flatMap((request) =>
          Pulumi.use((pulumi) =>
            pulumi.run(request, ({ step, notice, low }) =>
              Effect.sync(() => steps.push(notice ?? low ?? step)),
            ),
          ),
        ),
        Effect.provideContext(context),
      ),
  }
})

export type World = Effect.Success<ReturnType<typeof makeWorld>>

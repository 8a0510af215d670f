// A host cluster with a node on which vClusters run, installed by helm as the operator does it.
import { Effect } from "effect"
import { vclusterValues } from "../../../../src/actors/instance/target/VclusterValues.ts"
import * as Kinds from "../../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { type ControllerManagerOptions, runControllerManager } from "../../controllers/ControllerManager.ts"
import { runNode } from "../../controllers/node/Node.ts"
import { readChart } from "../../helm/Chart.ts"
import { chartFolders, filesOnDisk, knownCharts } from "../../helm/charts/index.ts"
import type { JsonObject } from "../../helm/GoYaml.ts"
import { install, prepareInstall } from "../../helm/Install.ts"
import type { Session } from "../../helm/Session.ts"
import { uninstall } from "../../helm/Uninstall.ts"
import { prepareUpgrade, upgrade } from "../../helm/Upgrade.ts"
import { makeNetwork } from "../../kubernetes/Network.ts"
import { makeApiServer } from "../../kubernetes/Server.ts"
import { runVclusters } from "../Vclusters.ts"

/** Where the operator would ask from. */
export const source = { namespace: "platform-operator", labels: {} }

const helmOptions = {
  serverSide: true,
  forceConflicts: true,
  wait: false,
  timeoutMillis: 300_000,
  historyMax: 10,
  atomic: false,
}

export const makeHostWith = Effect.fnUntraced(function* (options: ControllerManagerOptions) {
  const api = yield* makeApiServer({ name: "host" })
  const network = yield* makeNetwork
  const controllers = yield* runControllerManager(api, options)
  const node = yield* runNode(api)
  const vclusters = yield* runVclusters({ hostApi: api, node, network })
  const admin = api.as("admin", "kubectl")
  const chart = readChart("vcluster", filesOnDisk(chartFolders.vcluster), knownCharts)

  const helmIn = (namespace: string): Session => ({
    api: api.as("admin", "helm"),
    namespace,
    major: 4,
    log: () => undefined,
  })
  const release = (values: JsonObject) => ({ name: "vcluster", chart, values })

  const installVcluster = Effect.fnUntraced(function* (namespace: string, values: JsonObject) {
    if (admin.get(Kinds.Namespace, { name: namespace }) === undefined)
      admin.create(Kinds.Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
    const session = helmIn(namespace)
    yield* install(session, yield* prepareInstall(session, release(values), helmOptions), helmOptions)
  })
  const upgradeVcluster = Effect.fnUntraced(function* (namespace: string, values: JsonObject) {
    const session = helmIn(namespace)
    yield* upgrade(session, yield* prepareUpgrade(session, release(values), helmOptions), helmOptions)
  })
  const uninstallVcluster = (namespace: string) =>
    uninstall(helmIn(namespace), "vcluster", { ...helmOptions, ignoreNotFound: false })

  /** What there is of a kind in a namespace of the host, by name. */
  const names = (kind: ResourceKind, namespace: string): ReadonlyArray<string> =>
    admin
      .list(kind, { namespace })
      .map(({ metadata }) => metadata.name)
      .toSorted()
  const find = (kind: ResourceKind, namespace: string, name: string): KubeObject | undefined =>
    admin.get(kind, { namespace, name })
  /** The kubeconfig the vCluster has written, if it has. */
  const kubeconfig = (namespace: string): string | undefined => {
    const config = Object(find(Kinds.Secret, namespace, "vc-vcluster")?.data).config
    return typeof config === "string" ? Buffer.from(config, "base64").toString("utf8") : undefined
  }
  /** A client by that kubeconfig, over the network. */
  const connect = (namespace: string, from = source) =>
    network.open(from, kubeconfig(namespace) ?? "", "test")
  return {
    api,
    network,
    controllers,
    node,
    vclusters,
    admin,
    installVcluster,
    upgradeVcluster,
    uninstallVcluster,
    names,
    find,
    kubeconfig,
    connect,
  }
})
export const makeHost = makeHostWith({})
export type Host = Effect.Success<typeof makeHost>

/** The values of an instance in this host namespace. */
export const valuesFor = (namespace: string): JsonObject =>
  JSON.parse(JSON.stringify(vclusterValues({ hostNamespace: namespace })))

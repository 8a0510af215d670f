// Helm, and the API of the vCluster that its release makes. The control plane behind it is in ControlPlanes.ts.
import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { Helm, HelmError, type ReleaseRef } from "../../../src/services/Helm/Helm.ts"
import { recordName, releaseState } from "../../../src/services/Helm/ReleaseRecord.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import {
  KubeError,
  type KubeManifest,
  type KubeObject,
  type KubernetesClient,
  type ResourceKind,
} from "../../../src/services/Kubernetes/Kubernetes.ts"
import { apiVersion } from "../../../src/services/Kubernetes/Paths.ts"
import type { Cluster } from "./Cluster.ts"
import type { ControlPlanes } from "./ControlPlanes.ts"

const { Secret, Service, StatefulSet } = Kinds
const HELM_TAKES = Duration.seconds(2)
/** The version of the operator's chart, unless a test says otherwise. */
const embedded = "0.37.3"

const labels = { app: "vcluster", release: "vcluster" }
const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }]

/** The objects of a release, owners before what they own. */
export const objectsOf = (
  namespace: string,
  chart = embedded,
): ReadonlyArray<readonly [ResourceKind, KubeManifest]> => {
  const object = (
    kind: ResourceKind,
    name: string,
    more: Readonly<Record<string, unknown>> = {},
  ): readonly [ResourceKind, KubeManifest] => {
    const place = kind.namespaced ? { namespace } : {}
    const metadata = { name, labels, ...place }
    return [kind, { apiVersion: apiVersion(kind), kind: kind.kind, metadata, ...more }]
  }
  const roleRef = { kind: "Role", name: "vc-vcluster" }
  return [
    object(Kinds.ServiceAccount, "vc-vcluster"),
    object(Kinds.Secret, "vc-config-vcluster", { data: { "config.yaml": "e30=" } }),
    object(Kinds.ClusterRole, `vc-vcluster-v-${namespace}`, { rules }),
    object(Kinds.ClusterRoleBinding, `vc-vcluster-v-${namespace}`, { roleRef }),
    object(Kinds.Role, "vc-vcluster", { rules }),
    object(Kinds.RoleBinding, "vc-vcluster", { roleRef }),
    object(Service, "vcluster", { spec: { selector: labels } }),
    object(Service, "vcluster-headless", { spec: { selector: labels } }),
    object(StatefulSet, "vcluster", { spec: { replicas: 1, template: { chart } } }),
  ]
}

/** As Helm applies it, with its mark. */
const marked = (namespace: string, manifest: KubeManifest): KubeManifest => ({
  ...manifest,
  metadata: { ...manifest.metadata, annotations: { "meta.helm.sh/release-namespace": namespace } },
})

export const makeHelm = (cluster: Cluster) => {
  /** Helm's commands so far, and errors that the next ones end with. */
  const commands: Array<string> = []
  const failures: Array<string> = []
  /** Why the stored release cannot be read, while there is something in here. */
  const unreadable: Array<string> = []
  /** The version of the operator's chart, and of those that revisions have. */
  const chart = { version: embedded }
  const charts = new Map<string, string>()
  const chartOf = (release: ReleaseRef, revision: number) =>
    charts.get(`${release.namespace} ${revision}`) ?? embedded

  const records = ({ namespace }: ReleaseRef) =>
    cluster.all(Secret, { namespace, labelSelector: "owner=helm,name=vcluster" })
  const lastDeployed = (release: ReleaseRef) =>
    Option.getOrElse(
      Option.flatMap(releaseState(records(release)), (state) => state.lastDeployed),
      () => 1,
    )
  /** Makes room for one more, as Helm does with `--history-max 5`: the oldest go, and the newest deployed one stays. */
  const prune = (release: ReleaseRef) => {
    const all = records(release).toSorted(
      (one, other) => Number(one.metadata.labels?.version) - Number(other.metadata.labels?.version),
    )
    const deployed = all.findLast(({ metadata }) => metadata.labels?.status === "deployed")
    const gone = all.filter((each) => each !== deployed).slice(0, Math.max(0, all.length - 4))
    for (const { metadata } of gone) cluster.end(Secret, metadata)
  }
  const setStatus = (record: KubeObject, status: string) =>
    cluster.put(Secret, record, {
      ...record,
      metadata: { ...record.metadata, labels: { ...record.metadata.labels, status } },
    })

  /** Writes a record in a pending status, applies, and says how it ended; interrupted, it ends as failed. */
  const revise = (release: ReleaseRef, pending: string, command: string, chartVersion: () => string) =>
    Effect.suspend(() => {
      commands.push(command)
      const version = chartVersion()
      const revision =
        1 + Math.max(0, ...records(release).map(({ metadata }) => Number(metadata.labels?.version)))
      const metadata = {
        name: recordName(release, revision),
        namespace: release.namespace,
        labels: { owner: "helm", name: "vcluster", version: String(revision), status: pending },
      }
      charts.set(`${release.namespace} ${revision}`, version)
      prune(release)
      const record = cluster.create(Secret, { apiVersion: "v1", kind: "Secret", metadata })
      const live = () => cluster.find(Secret, record.metadata)
      const ended = (status: string) =>
        Effect.sync(() => {
          const found = live()
          if (found !== undefined) setStatus(found, status)
        })
      return Effect.sleep(HELM_TAKES).pipe(
        Effect.andThen(
          Effect.suspend(() => {
            const message = failures.shift()
            return message === undefined
              ? Effect.void
              : Effect.fail(new HelmError({ operation: "install", message, exitCode: Option.some(1) }))
          }),
        ),
        Effect.andThen(
          Effect.sync(() => {
            for (const [kind, manifest] of objectsOf(release.namespace, version))
              cluster.apply(kind, marked(release.namespace, manifest))
            for (const each of records(release)) {
              if (each.metadata.labels?.status === "deployed") setStatus(each, "superseded")
            }
          }),
        ),
        Effect.onExit((exit) => ended(exit._tag === "Success" ? "deployed" : "failed")),
      )
    })

  /** Without a record of that revision Helm refuses, and writes none of the try. */
  const rollback = (release: ReleaseRef, revision: number) =>
    Effect.suspend(() => {
      const command = `rollback ${revision}`
      const record = { namespace: release.namespace, name: recordName(release, revision) }
      if (cluster.find(Secret, record) !== undefined)
        return revise(release, "pending-rollback", command, () => chartOf(release, revision))
      commands.push(command)
      return Effect.fail(
        new HelmError({ operation: "rollback", message: "release: not found", exitCode: Option.some(1) }),
      )
    })

  // Each operator has the chart that is there when it starts.
  const layer = Layer.suspend(() =>
    Layer.mock(Helm, {
      chartVersion: chart.version,
      state: (release) => Effect.sync(() => releaseState(records(release))),
      stored: (release, revision) =>
        Effect.suspend(() => {
          const message = unreadable[0]
          return message === undefined
            ? Effect.succeed({
                objects: objectsOf(release.namespace, chartOf(release, revision)).map(
                  ([, manifest]) => manifest,
                ),
                chartVersion: Option.some(chartOf(release, revision)),
              })
            : Effect.fail(new HelmError({ operation: "read", message, exitCode: Option.none() }))
        }),
      install: (release) => revise(release, "pending-install", "install", () => chart.version),
      upgrade: (release) => revise(release, "pending-upgrade", "upgrade", () => chart.version),
      reapply: (release) =>
        revise(release, "pending-upgrade", "reapply", () => chartOf(release, lastDeployed(release))),
      rollback,
      uninstall: (release) =>
        Effect.sync(() => commands.push("uninstall")).pipe(
          Effect.andThen(Effect.sleep(HELM_TAKES)),
          Effect.andThen(
            Effect.sync(() => {
              for (const [kind, { metadata }] of objectsOf(release.namespace)) cluster.end(kind, metadata)
              for (const record of records(release)) cluster.end(Secret, record.metadata)
            }),
          ),
        ),
    }),
  )
  return { layer, commands, failures, unreadable, chart, rollback }
}

/** What is between the operator and the vClusters, and inside them. */
interface Network {
  reachable: boolean
  /** Whether a pod of the DNS inside is ready. */
  dns: boolean
  /** How every request ends, and after how long. */
  fault: { readonly message: string; readonly after: Duration.Input } | undefined
}

/** What `connect` gives for a kubeconfig, and a switch for the network in between. */
export const makeConnect = ({ answers }: ControlPlanes) => {
  const network: Network = { reachable: true, dns: true, fault: undefined }
  const checks = { count: 0 }
  const refused = (request: string) =>
    new KubeError({ code: 0, reason: "Transport", request, message: "connection refused" })

  const connect = (kubeconfig: Redacted.Redacted) =>
    Effect.sync((): KubernetesClient => {
      const text = String(Redacted.value(kubeconfig))
      const answer = <A>(request: string, value: (identity: string) => A) =>
        Effect.suspend(() => {
          const { fault } = network
          if (fault !== undefined) {
            const failed = new KubeError({ code: 0, reason: "Transport", request, message: fault.message })
            return Effect.andThen(Effect.sleep(fault.after), Effect.fail(failed))
          }
          const identity = network.reachable ? answers(text) : undefined
          return identity === undefined ? Effect.fail(refused(request)) : Effect.succeed(value(identity))
        })
      const inside = (name: string, uid: string): KubeObject => ({
        apiVersion: "v1",
        kind: "Object",
        metadata: { name, uid, resourceVersion: "1" },
      })
      const never = (what: string) => () => Effect.die(new Error(`nobody should ${what} in a vCluster`))
      return {
        raw: (path) =>
          Effect.suspend(() => {
            checks.count += 1
            return answer(`GET ${path}`, () => "ok")
          }),
        get: (_, ref) => answer(`GET ${ref.name}`, (uid) => Option.some(inside(ref.name, uid))),
        list: (kind) =>
          answer(`GET ${kind.plural}`, () => [
            { ...inside("kube-dns-1", "dns"), endpoints: [{ conditions: { ready: network.dns } }] },
          ]),
        create: never("create"),
        apply: never("apply"),
        patch: never("patch"),
        delete: never("delete"),
      }
    })
  return { connect, network, checks }
}

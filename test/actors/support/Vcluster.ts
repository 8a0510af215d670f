// Helm and the vCluster that its release makes: the release's records and objects, the control plane that comes up
// after a while and writes its kubeconfig, and its API.
import { Duration, Effect, Layer, Option, Redacted, type Scope } from "effect"
import { Helm, HelmError, type ReleaseRef } from "../../../src/services/Helm/Helm.ts"
import { recordName, releaseState } from "../../../src/services/Helm/ReleaseRecord.ts"
import { Secret, Service, StatefulSet } from "../../../src/services/Kubernetes/Kinds.ts"
import {
  KubeError,
  type KubeObject,
  type KubernetesClient,
} from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Cluster } from "./Cluster.ts"

const HELM_TAKES = Duration.seconds(2)
const BOOT_TAKES = Duration.seconds(20)

const labels = { app: "vcluster", release: "vcluster" }
const objectsOf = (namespace: string) =>
  [
    [Service, { apiVersion: "v1", kind: "Service", metadata: { name: "vcluster", namespace, labels } }],
    [
      Service,
      { apiVersion: "v1", kind: "Service", metadata: { name: "vcluster-headless", namespace, labels } },
    ],
    [
      StatefulSet,
      {
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        metadata: { name: "vcluster", namespace, labels },
        spec: { replicas: 1 },
      },
    ],
  ] as const

export const makeHelm = (cluster: Cluster) => {
  /** Helm's commands so far, and errors that the next ones end with. */
  const commands: Array<string> = []
  const failures: Array<string> = []

  const records = ({ namespace }: ReleaseRef) =>
    cluster.all(Secret, { namespace, labelSelector: "owner=helm,name=vcluster" })
  const setStatus = (record: KubeObject, status: string) =>
    cluster.put(Secret, record, {
      ...record,
      metadata: { ...record.metadata, labels: { ...record.metadata.labels, status } },
    })

  /** Writes a record in a pending status, applies, and says how it ended; interrupted, it ends as failed. */
  const revise = (release: ReleaseRef, pending: string, command: string) =>
    Effect.suspend(() => {
      commands.push(command)
      const revision =
        1 + Math.max(0, ...records(release).map(({ metadata }) => Number(metadata.labels?.version)))
      const metadata = {
        name: recordName(release, revision),
        namespace: release.namespace,
        labels: { owner: "helm", name: "vcluster", version: String(revision), status: pending },
      }
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
            for (const [kind, manifest] of objectsOf(release.namespace)) cluster.apply(kind, manifest)
            for (const each of records(release)) {
              if (each.metadata.labels?.status === "deployed") setStatus(each, "superseded")
            }
          }),
        ),
        Effect.onExit((exit) => ended(exit._tag === "Success" ? "deployed" : "failed")),
      )
    })

  const layer = Layer.mock(Helm, {
    chartVersion: "0.37.3",
    state: (release) => Effect.sync(() => releaseState(records(release))),
    install: (release) => revise(release, "pending-install", "install"),
    reapply: (release) => revise(release, "pending-upgrade", "reapply"),
    rollback: (release, revision) => revise(release, "pending-rollback", `rollback ${revision}`),
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
  })
  return { layer, commands, failures }
}

/** What `connect` gives for a kubeconfig, and a switch for the network in between. */
export const runVclusters = Effect.fnUntraced(function* (cluster: Cluster): Effect.fn.Return<
  {
    readonly connect: (kubeconfig: Redacted.Redacted) => Effect.Effect<KubernetesClient, KubeError>
    readonly network: { reachable: boolean }
    readonly checks: { count: number }
  },
  never,
  Scope.Scope
> {
  const scope = yield* Effect.scope
  const context = yield* Effect.context()
  const network = { reachable: true }
  const checks = { count: 0 }
  /** The UID of `kube-system` inside, by the text of the kubeconfig that reaches it. */
  const clusters = new Map<string, string>()

  /** The data of a vCluster lies in its namespace: another namespace is another cluster. */
  const boot = (started: KubeObject) => {
    const namespace = started.metadata.namespace ?? ""
    const statefulSet = cluster.find(StatefulSet, started.metadata)
    const service = cluster.find(Service, { namespace, name: "vcluster" })
    if (statefulSet?.metadata.uid !== started.metadata.uid || service === undefined) return
    const home = cluster.all(Service, { namespace })[0]?.metadata.uid ?? ""
    const text = `kubeconfig of ${namespace} behind ${home}`
    clusters.set(text, `kube-system behind ${home}`)
    const { generation } = statefulSet.metadata
    cluster.put(StatefulSet, statefulSet, {
      ...statefulSet,
      status: { observedGeneration: generation, readyReplicas: 1, currentRevision: "a", updateRevision: "a" },
    })
    cluster.apply(Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name: "vc-vcluster",
        namespace,
        labels: { app: "vcluster" },
        ownerReferences: [{ apiVersion: "v1", kind: "Service", name: "vcluster", uid: service.metadata.uid }],
      },
      data: { config: Buffer.from(text).toString("base64") },
    })
  }

  const seen = new Set<string>()
  cluster.listeners.push(({ kind, object, deleted }) => {
    if (kind !== StatefulSet || deleted || seen.has(object.metadata.uid)) return
    seen.add(object.metadata.uid)
    Effect.runForkWith(context)(
      Effect.forkIn(
        Effect.andThen(
          Effect.sleep(BOOT_TAKES),
          Effect.sync(() => boot(object)),
        ),
        scope,
      ),
    )
  })

  const refused = (request: string) =>
    new KubeError({ code: 0, reason: "Transport", request, message: "connection refused" })

  const connect = (kubeconfig: Redacted.Redacted) =>
    Effect.sync((): KubernetesClient => {
      const text = String(Redacted.value(kubeconfig))
      const namespace = / of (\S+) /.exec(text)?.[1] ?? ""
      const alive = () =>
        network.reachable && cluster.find(StatefulSet, { namespace, name: "vcluster" })?.status !== undefined
      const answer = <A>(request: string, value: A) =>
        Effect.suspend(() => (alive() ? Effect.succeed(value) : Effect.fail(refused(request))))
      const inside = (name: string): KubeObject => ({
        apiVersion: "v1",
        kind: "Object",
        metadata: { name, uid: clusters.get(text) ?? "", resourceVersion: "1" },
      })
      const never = (what: string) => () => Effect.die(new Error(`nobody should ${what} in a vCluster`))
      return {
        raw: (path) =>
          Effect.suspend(() => {
            checks.count += 1
            return answer(`GET ${path}`, "ok")
          }),
        get: (_, ref) => answer(`GET ${ref.name}`, Option.some(inside(ref.name))),
        list: never("list"),
        create: never("create"),
        apply: never("apply"),
        patch: never("patch"),
        delete: never("delete"),
      }
    })
  return { connect, network, checks }
})

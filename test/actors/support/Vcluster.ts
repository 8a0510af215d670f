// Helm, and the API of the vCluster that its release makes. The control plane behind it is in ControlPlanes.ts.
import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { Helm, HelmError, type ReleaseRef } from "../../../src/services/Helm/Helm.ts"
import { recordName, releaseState } from "../../../src/services/Helm/ReleaseRecord.ts"
import { Secret, Service, StatefulSet } from "../../../src/services/Kubernetes/Kinds.ts"
import {
  KubeError,
  type KubeObject,
  type KubernetesClient,
} from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Cluster } from "./Cluster.ts"
import type { ControlPlanes } from "./ControlPlanes.ts"

const HELM_TAKES = Duration.seconds(2)

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
export const makeConnect = ({ answers }: ControlPlanes) => {
  const network = { reachable: true }
  const checks = { count: 0 }
  const refused = (request: string) =>
    new KubeError({ code: 0, reason: "Transport", request, message: "connection refused" })

  const connect = (kubeconfig: Redacted.Redacted) =>
    Effect.sync((): KubernetesClient => {
      const text = String(Redacted.value(kubeconfig))
      const answer = <A>(request: string, value: (identity: string) => A) =>
        Effect.suspend(() => {
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
        list: never("list"),
        create: never("create"),
        apply: never("apply"),
        patch: never("patch"),
        delete: never("delete"),
      }
    })
  return { connect, network, checks }
}

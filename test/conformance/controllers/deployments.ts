// Deployments, the endpoints of Services, and claims that are in use.
import { Effect, Schema } from "effect"
import { makeNamer, type Scenario } from "../Scenario.ts"
import {
  conditionsOf,
  get,
  list,
  ownersOf,
  type Rest,
  type Seen,
  until,
  untilGone,
  untilListed,
  untilSeen,
} from "./Rest.ts"

const core = "/api/v1/namespaces/default"
const apps = "/apis/apps/v1/namespaces/default"
const deployment = `${apps}/deployments/app`
const pods = `${core}/pods?labelSelector=app=app`
const slices =
  "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name=app"

const Free = Schema.Record(Schema.String, Schema.Json)
const decodeSlices = Schema.decodeUnknownSync(
  Schema.Struct({
    items: Schema.Array(
      Schema.Struct({
        endpoints: Schema.NullOr(Schema.Array(Free)),
        ports: Schema.NullOr(Schema.Array(Free)),
      }),
    ),
  }),
)

const manifest = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "app" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "app" } },
    template: {
      metadata: { labels: { app: "app" } },
      spec: { containers: [{ name: "c", image: "none:1" }] },
    },
  },
}

const ready = {
  status: {
    phase: "Running",
    podIP: "10.1.2.3",
    podIPs: [{ ip: "10.1.2.3" }],
    conditions: [
      { type: "Ready", status: "True" },
      { type: "ContainersReady", status: "True" },
    ],
  },
}

export const deployments = (): Scenario<Rest> => {
  const named = makeNamer("set")
  /** Names of ReplicaSets as they come. */
  const plain = (texts: ReadonlyArray<string>) =>
    texts.map((text) => text.replaceAll(/app-[a-z0-9]+/g, (name) => named(name) ?? ""))
  const statusOf = (object: Seen) => {
    const { conditions: _, ...status } = object.status ?? {}
    return [status, plain(conditionsOf(object))]
  }
  const firstPod = (rest: Rest, not?: string) =>
    Effect.map(
      untilListed(rest, pods, (all) =>
        all.some(({ metadata }) => metadata.uid !== not && metadata.deletionTimestamp === undefined),
      ),
      (all) => all.find(({ metadata }) => metadata.uid !== not) ?? { metadata: { name: "" } },
    )
  const markReady = (rest: Rest, { metadata }: Seen) =>
    rest.request("PATCH", `${core}/pods/${metadata.name}/status`, ready)
  return {
    name: "Deployments, endpoints and claims",
    steps: [
      {
        name: "a Deployment makes a ReplicaSet, which makes a pod",
        run: (rest) =>
          Effect.gen(function* () {
            yield* rest.request("POST", `${apps}/deployments`, manifest)
            const pod = yield* firstPod(rest)
            const [set] = yield* untilListed(
              rest,
              `${apps}/replicasets`,
              (all) => all[0]?.status?.replicas === 1,
            )
            const hash = pod.metadata.labels?.["pod-template-hash"]
            return [
              plain(ownersOf(pod)),
              set === undefined ? "no set" : [ownersOf(set), set.metadata.annotations, set.status],
              set?.metadata.name === `app-${hash}`,
            ]
          }),
      },
      {
        name: "its status while the pod is pending",
        run: (rest) =>
          Effect.map(
            untilSeen(
              rest,
              deployment,
              ({ status }) => status?.unavailableReplicas === 1 && status.updatedReplicas === 1,
            ),
            statusOf,
          ),
      },
      {
        name: "its status when the pod is ready",
        run: (rest) =>
          Effect.gen(function* () {
            yield* markReady(rest, yield* firstPod(rest))
            const done = yield* untilSeen(
              rest,
              deployment,
              (object) =>
                object.status?.availableReplicas === 1 &&
                conditionsOf(object).some((each) => each.includes("NewReplicaSetAvailable")),
            )
            return statusOf(done)
          }),
      },
      {
        name: "the endpoints of a Service are the ready pods it selects",
        run: (rest) =>
          Effect.gen(function* () {
            const spec = {
              selector: { app: "app" },
              ports: [{ port: 80, targetPort: 8080 }],
              publishNotReadyAddresses: true,
            }
            yield* rest.request("POST", `${core}/services`, {
              apiVersion: "v1",
              kind: "Service",
              metadata: { name: "app" },
              spec,
            })
            const slice = yield* until(
              "the slice has an endpoint",
              Effect.map(rest.request("GET", slices), ({ body }) => {
                const [first] = decodeSlices(body).items
                return (first?.endpoints ?? []).length === 0 ? undefined : first
              }),
            )
            const found = yield* list(rest, slices)
            yield* rest.request("DELETE", `${core}/services/app`)
            yield* untilListed(rest, slices, (all) => all.length === 0)
            return [
              found.map(ownersOf),
              (slice.endpoints ?? []).map((each: Readonly<Record<string, unknown>>) => [
                each.addresses,
                each.conditions,
              ]),
              slice.ports,
            ]
          }),
      },
      {
        name: "another template makes another ReplicaSet, and the old pod goes when the new one is ready",
        run: (rest) =>
          Effect.gen(function* () {
            const old = yield* firstPod(rest)
            const template = { metadata: { annotations: { hash: "two" } } }
            yield* rest.request("PATCH", deployment, { spec: { template } })
            const fresh = yield* firstPod(rest, old.metadata.uid)
            const kept = yield* get(rest, `${core}/pods/${old.metadata.name}`)
            yield* markReady(rest, fresh)
            yield* untilGone(rest, `${core}/pods/${old.metadata.name}`)
            const sets = yield* untilListed(rest, `${apps}/replicasets`, (all) => all.length === 2)
            const revisions = sets.map(
              ({ metadata }) => metadata.annotations?.["deployment.kubernetes.io/revision"],
            )
            return [kept === undefined ? "gone" : "kept meanwhile", revisions.toSorted()]
          }),
      },
      {
        name: "deleted in the foreground, nothing is left",
        run: (rest) =>
          Effect.gen(function* () {
            yield* rest.request("DELETE", `${deployment}?propagationPolicy=Foreground`)
            yield* untilGone(rest, deployment)
            const sets = yield* untilListed(rest, `${apps}/replicasets`, (all) => all.length === 0)
            const left = yield* untilListed(rest, pods, (all) => all.length === 0)
            return [sets.length, left.length]
          }),
      },
      {
        name: "a claim in use stays until its pod has gone",
        run: (rest) =>
          Effect.gen(function* () {
            const claims = `${core}/persistentvolumeclaims`
            const request = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
            yield* rest.request("POST", claims, {
              apiVersion: "v1",
              kind: "PersistentVolumeClaim",
              metadata: { name: "data" },
              spec: request,
            })
            yield* rest.request("POST", `${core}/pods`, {
              apiVersion: "v1",
              kind: "Pod",
              metadata: { name: "user" },
              spec: {
                nodeName: "nowhere",
                containers: [{ name: "c", image: "none:1" }],
                volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
              },
            })
            yield* Effect.sleep("2 seconds")
            yield* rest.request("DELETE", `${claims}/data`)
            yield* Effect.sleep("2 seconds")
            const held = yield* get(rest, `${claims}/data`)
            yield* rest.request("DELETE", `${core}/pods/user?gracePeriodSeconds=0`)
            return [held?.metadata.finalizers, yield* untilGone(rest, `${claims}/data`)]
          }),
      },
    ],
  }
}

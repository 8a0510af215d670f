// StatefulSets without a node: their pods never run, unless the scenario says so in their status.
import { Effect, Schema } from "effect"
import { makeNamer, type Scenario } from "../Scenario.ts"
import {
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
const pod = `${core}/pods/web-0`
const claim = `${core}/persistentvolumeclaims/data-web-0`
const set = `${apps}/statefulsets/web`

const manifest = (name: string, whenDeleted: string) => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name },
  spec: {
    serviceName: `${name}-headless`,
    replicas: 1,
    podManagementPolicy: "Parallel",
    selector: { matchLabels: { app: name } },
    persistentVolumeClaimRetentionPolicy: { whenDeleted },
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ],
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [{ name: "c", image: "none:1", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      },
    },
  },
})

const ready = {
  status: {
    phase: "Running",
    conditions: [
      { type: "Ready", status: "True" },
      { type: "ContainersReady", status: "True" },
    ],
  },
}

/** Revisions by the order in which they are seen. */
const makeView = () => {
  const revision = makeNamer("revision")
  const text = (value: unknown) => (typeof value === "string" ? revision(value) : undefined)
  return {
    status: ({ status = {} }: Seen) => ({
      ...status,
      currentRevision: text(status.currentRevision),
      updateRevision: text(status.updateRevision),
    }),
    pod: ({ metadata, spec }: Seen) => ({
      labels: {
        ...metadata.labels,
        "controller-revision-hash": revision(metadata.labels?.["controller-revision-hash"]),
      },
      owners: ownersOf({ metadata }),
      hostname: spec?.hostname,
      subdomain: spec?.subdomain,
      finalizers: metadata.finalizers,
      volumes: (Array.isArray(spec?.volumes) ? spec.volumes : []).map(
        (volume: unknown) => Object(volume).persistentVolumeClaim,
      ),
    }),
    revision,
  }
}

const Notes = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({ reason: Schema.optionalKey(Schema.String), note: Schema.optionalKey(Schema.String) }),
  ),
})
const decodeNotes = Schema.decodeUnknownSync(Notes)

/** What the events say of a set whose pod its namespace does not admit. */
const refusedPod = (rest: Rest, level: string) =>
  Effect.gen(function* () {
    const labels = { "pod-security.kubernetes.io/enforce": level }
    yield* rest.request("POST", "/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: level, labels },
    })
    yield* rest.request("POST", `/apis/apps/v1/namespaces/${level}/statefulsets`, {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "root" },
      spec: {
        serviceName: "root",
        selector: { matchLabels: { app: "root" } },
        template: {
          metadata: { labels: { app: "root" } },
          spec: {
            containers: [
              {
                name: "c",
                image: "none:1",
                securityContext: {
                  runAsUser: 0,
                  capabilities: { drop: ["ALL"], add: ["DAC_OVERRIDE", "SYS_ADMIN"] },
                },
              },
              { name: "d", image: "none:1" },
            ],
            volumes: [{ name: "storage", hostPath: { path: "/var/lib/x", type: "DirectoryOrCreate" } }],
          },
        },
      },
    })
    const note = yield* until(
      "it is said",
      Effect.map(rest.request("GET", `/apis/events.k8s.io/v1/namespaces/${level}/events`), ({ body }) =>
        decodeNotes(body).items.find(({ reason }) => reason === "FailedCreate"),
      ),
    )
    yield* rest.request("DELETE", `/api/v1/namespaces/${level}`)
    return note.note
  })

/** A scenario of its own for each side: the names of revisions are counted. */
export const statefulSets = (): Scenario<Rest> => {
  const view = makeView()
  const settled = (rest: Rest, holds: (status: Readonly<Record<string, unknown>>) => boolean) =>
    Effect.map(
      untilSeen(
        rest,
        set,
        ({ status = {}, metadata }) => status.observedGeneration === metadata.generation && holds(status),
      ),
      view.status,
    )
  return {
    name: "StatefulSets",
    steps: [
      {
        name: "a set makes its claim and its pod",
        run: (rest) =>
          Effect.gen(function* () {
            yield* rest.request("POST", `${apps}/statefulsets`, manifest("web", "Retain"))
            const made = yield* untilSeen(rest, pod)
            const data = yield* untilSeen(rest, claim)
            return [
              view.pod(made),
              data.metadata.labels,
              ownersOf(data),
              data.metadata.finalizers,
              data.status,
            ]
          }),
      },
      {
        name: "its status while the pod is pending",
        run: (rest) => settled(rest, ({ replicas }) => replicas === 1),
      },
      {
        name: "its revision is an object of its own",
        run: (rest) =>
          Effect.gen(function* () {
            const revisions = yield* list(rest, `${apps}/controllerrevisions`)
            return revisions.map((each) => [
              view.revision(each.metadata.name),
              ownersOf(each),
              Object.keys(each.metadata.labels ?? {}).toSorted(),
            ])
          }),
      },
      {
        name: "its status when the pod is ready",
        run: (rest) =>
          Effect.gen(function* () {
            yield* rest.request("PATCH", `${pod}/status`, ready)
            return yield* settled(rest, ({ readyReplicas }) => readyReplicas === 1)
          }),
      },
      {
        name: "another template replaces the pod",
        run: (rest) =>
          Effect.gen(function* () {
            const before = yield* get(rest, pod)
            const template = { metadata: { annotations: { hash: "two" } } }
            yield* rest.request("PATCH", set, { spec: { template } })
            const after = yield* untilSeen(rest, pod, ({ metadata }) => metadata.uid !== before?.metadata.uid)
            return [view.pod(after), after.metadata.annotations]
          }),
      },
      {
        name: "current stays the old revision until the new pod is ready",
        run: (rest) =>
          Effect.gen(function* () {
            const rolling = yield* settled(rest, ({ updatedReplicas }) => updatedReplicas === 1)
            yield* rest.request("PATCH", `${pod}/status`, ready)
            const rolled = yield* settled(rest, (status) => status.currentRevision === status.updateRevision)
            return [rolling, rolled]
          }),
      },
      {
        name: "a pod that is deleted comes back as another one, with the claim it had",
        run: (rest) =>
          Effect.gen(function* () {
            const before = yield* get(rest, pod)
            const data = yield* get(rest, claim)
            yield* rest.request("DELETE", pod)
            const after = yield* untilSeen(rest, pod, ({ metadata }) => metadata.uid !== before?.metadata.uid)
            const kept = yield* get(rest, claim)
            return [view.pod(after), kept?.metadata.uid === data?.metadata.uid ? "the same" : "another"]
          }),
      },
      {
        name: "a pod that has failed is replaced",
        run: (rest) =>
          Effect.gen(function* () {
            const before = yield* get(rest, pod)
            yield* rest.request("PATCH", `${pod}/status`, { status: { phase: "Failed" } })
            const after = yield* untilSeen(rest, pod, ({ metadata }) => metadata.uid !== before?.metadata.uid)
            return after.metadata.name
          }),
      },
      {
        name: "scaled to none, the claim stays",
        run: (rest) =>
          Effect.gen(function* () {
            yield* rest.request("PATCH", set, { spec: { replicas: 0 } })
            yield* untilGone(rest, pod)
            const status = yield* settled(rest, ({ replicas }) => replicas === 0)
            const kept = yield* get(rest, claim)
            return [status, kept?.metadata.deletionTimestamp ?? "lives"]
          }),
      },
      {
        name: "deleted, its pod goes and its claim stays",
        run: (rest) =>
          Effect.gen(function* () {
            yield* rest.request("PATCH", set, { spec: { replicas: 1 } })
            yield* untilSeen(rest, pod)
            yield* rest.request("DELETE", set)
            yield* untilGone(rest, pod)
            const kept = yield* get(rest, claim)
            const revisions = yield* untilListed(
              rest,
              `${apps}/controllerrevisions`,
              (all) => all.length === 0,
            )
            return [
              kept?.metadata.deletionTimestamp ?? "lives",
              ownersOf(kept ?? { metadata: { name: "" } }),
              revisions.length,
            ]
          }),
      },
      {
        name: "with the policy Delete the claim is the set's, and goes with it",
        run: (rest) =>
          Effect.gen(function* () {
            yield* rest.request("POST", `${apps}/statefulsets`, manifest("tmp", "Delete"))
            const path = `${core}/persistentvolumeclaims/data-tmp-0`
            const made = yield* untilSeen(rest, path, (object) => ownersOf(object).length > 0)
            yield* rest.request("DELETE", `${apps}/statefulsets/tmp`)
            return [ownersOf(made), yield* untilGone(rest, path)]
          }),
      },
      ...["baseline", "restricted"].map((level) => ({
        name: `a namespace at level ${level} refuses a pod that takes the node's folders and runs as root`,
        run: (rest: Rest) => refusedPod(rest, level),
      })),
      {
        name: "deleted as an orphan, its pod lives on and belongs to nobody",
        run: (rest) =>
          Effect.gen(function* () {
            yield* rest.request("POST", `${apps}/statefulsets`, manifest("web", "Retain"))
            yield* untilSeen(rest, pod)
            yield* rest.request("DELETE", `${set}?propagationPolicy=Orphan`)
            yield* untilGone(rest, set)
            const left = yield* get(rest, pod)
            yield* rest.request("DELETE", pod)
            return left === undefined ? "gone" : [ownersOf(left), left.metadata.deletionTimestamp ?? "lives"]
          }),
      },
    ],
  }
}

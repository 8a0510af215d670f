// What goes wrong for each alert of the chart, in the simulated world, with a Prometheus that looks on. The operator, its
// numbers and the time they take are the product's own.
import { type Duration, Effect, type Scope } from "effect"
import { ANNOTATION_PAUSED, ANNOTATION_SLEEP } from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../src/services/Kubernetes/Kubernetes.ts"
import { Unanswered } from "../twins/helm/Session.ts"
import { runSimulation, Simulation, until } from "../twins/simulation/Simulation.ts"
import type { Operator, StartOptions } from "../twins/world/Operators.ts"
import { key, makeWorld, type World, type WorldOptions } from "../twins/world/World.ts"
import { type Recording, record } from "./scraping.ts"

type Running<A> = Effect.Effect<A, never, Simulation | Scope.Scope>

export interface Fault {
  readonly alert: string
  /** What somebody did, or what broke. */
  readonly name: string
  readonly world?: WorldOptions
  readonly start?: StartOptions
  /** What there is before it: one Ready instance, unless this says otherwise. */
  readonly prepare?: (world: World) => Running<void>
  /** The fault, and for how long it is looked on. */
  readonly run: (world: World, operator: Operator) => Running<unknown>
}

const ready = (world: World) => until(() => world.isReady(), "20 minutes", "the instance is Ready")
const installed = (world: World) => {
  world.apply()
  return ready(world)
}
const nothing = () => Effect.void
const act = (what: () => unknown) => Effect.sync(() => void what())

/** Again and again, until the scope closes. */
const every = (pause: Duration.Input, what: () => unknown) =>
  act(what).pipe(Effect.andThen(Effect.sleep(pause)), Effect.forever, Effect.forkScoped)

const always = 10_000_000

const lease = { namespace: "platform-operator", name: "platform-operator" }

/** Somebody takes the Lease of the operators, and does not work. */
const holdLease = (world: World) => {
  const spec = () => ({
    holderIdentity: "somebody",
    leaseDurationSeconds: 120,
    renewTime: `${new Date(world.simulation.now()).toISOString().slice(0, -1)}000Z`,
  })
  return every("10 seconds", () =>
    world.admin.patch(Kinds.Lease, lease, { type: "merge", patch: { spec: spec() } }),
  )
}

const refOf = ({ metadata: { namespace, name } }: KubeObject) =>
  namespace === undefined ? { name } : { namespace, name }

const removeInside = (world: World, objects: ReadonlyArray<readonly [ResourceKind, string]>) => {
  const admin = world.inner()?.as("kubernetes-admin")
  for (const [kind, name] of objects) {
    const found = admin?.list(kind).find(({ metadata }) => metadata.name === name)
    if (found !== undefined) admin?.delete(kind, refOf(found))
  }
}

/** What the chart has made of one kind in the host namespace. */
const removeOfRelease = (world: World, kinds: ReadonlyArray<ResourceKind>) => {
  for (const kind of kinds) {
    const namespace = world.hostNamespace()
    for (const { metadata } of world.admin.list(kind, { namespace }))
      if (metadata.labels?.release === "vcluster")
        world.admin.delete(kind, { namespace, name: metadata.name })
  }
}

const instances = ["two", "three", "four", "five"].map((name) => ({ namespace: key.namespace, name }))

let helmAnswers = true

const pause = (world: World) =>
  act(() => world.edit({ metadata: { annotations: { [ANNOTATION_PAUSED]: "true" } } }))

export const faults: ReadonlyArray<Fault> = [
  {
    alert: "PlatformOperatorDown",
    name: "the operator is scaled to nothing",
    run: (_, operator) => Effect.andThen(operator.stop, Effect.sleep("20 minutes")),
  },
  {
    alert: "PlatformOperatorNotLeading",
    name: "somebody else holds the Lease",
    start: { leaderElect: true },
    run: (world) => Effect.andThen(holdLease(world), Effect.sleep("30 minutes")),
  },
  {
    alert: "PlatformOperatorApiUnavailable",
    name: "the API server refuses connections",
    run: ({ host }) => Effect.andThen(act(host.faults.down), Effect.sleep("40 minutes")),
  },
  {
    alert: "PlatformOperatorWatchStale",
    name: "the right to watch pods is taken away",
    run: ({ host }) =>
      act(() => {
        host.faults.answer(403, { method: "GET", kind: Kinds.Pod, path: "/pods?", times: always })
        host.faults.cutWatches(Kinds.Pod)
      }).pipe(Effect.andThen(Effect.sleep("40 minutes"))),
  },
  {
    alert: "PlatformOperatorPassesFail",
    name: "the right to write a status is taken away",
    run: (world) =>
      act(() => {
        world.host.faults.answer(403, {
          method: "PATCH",
          kind: Kinds.PlatformInstance,
          path: "/status",
          times: always,
        })
        world.edit({ spec: { version: "6.0.21" } })
      }).pipe(Effect.andThen(Effect.sleep("40 minutes"))),
  },
  {
    alert: "PlatformOperatorStateVolumeFilling",
    name: "the state volume fills",
    run: ({ state }) =>
      Effect.andThen(
        act(() => state.free(500 * 2 ** 20)),
        Effect.sleep("40 minutes"),
      ),
  },
  {
    alert: "PlatformOperatorInstallsQueue",
    name: "installs that never end hold the permits",
    run: (world) =>
      act(() => {
        for (const each of instances) world.apply({ version: "6.0.91" }, each)
      }).pipe(Effect.andThen(Effect.sleep("4 hours"))),
  },
  {
    alert: "PlatformOperatorHelmFails",
    name: "helm cannot reach the API server",
    world: {
      onHelm: () => {
        if (!helmAnswers) throw new Unanswered("connection refused")
      },
    },
    prepare: nothing,
    run: (world) =>
      act(() => {
        helmAnswers = false
        world.apply()
      }).pipe(
        Effect.andThen(Effect.sleep("90 minutes")),
        Effect.ensuring(
          act(() => {
            helmAnswers = true
          }),
        ),
      ),
  },
  {
    alert: "PlatformOperatorReleaseObjectsChanged",
    name: "somebody keeps deleting what the vCluster's chart has made",
    run: (world) =>
      Effect.andThen(
        every("15 minutes", () =>
          removeOfRelease(world, [Kinds.Role, Kinds.RoleBinding, Kinds.ServiceAccount]),
        ),
        Effect.sleep("80 minutes"),
      ),
  },
  {
    alert: "PlatformOperatorInstanceDnsLost",
    name: "CoreDNS is scaled to nothing inside",
    run: (world) =>
      act(() =>
        world
          .inner()
          ?.as("kubernetes-admin")
          .patch(
            Kinds.Deployment,
            { namespace: "kube-system", name: "coredns" },
            { type: "merge", patch: { spec: { replicas: 0 } } },
          ),
      ).pipe(Effect.andThen(Effect.sleep("30 minutes"))),
  },
  {
    alert: "PlatformInstanceFailed",
    name: "a version whose program throws",
    run: (world) =>
      Effect.andThen(
        act(() => world.edit({ spec: { version: "6.0.90" } })),
        Effect.sleep("80 minutes"),
      ),
  },
  {
    alert: "PlatformInstanceNotReady",
    name: "no node takes the control plane",
    prepare: nothing,
    run: (world) =>
      act(() => {
        world.node.cordon()
        world.apply()
      }).pipe(Effect.andThen(Effect.sleep("100 minutes"))),
  },
  {
    alert: "PlatformInstanceRepairOverdue",
    name: "the instance's API cannot be reached",
    run: (world) =>
      Effect.andThen(
        act(() => world.network.blackHole(`vcluster.${world.hostNamespace()}.svc`, 443)),
        Effect.sleep("130 minutes"),
      ),
  },
  {
    alert: "PlatformInstanceDeletionStuck",
    name: "a finalizer of somebody else's in the host namespace",
    run: (world) =>
      act(() => {
        world.admin.create(Kinds.ConfigMap, {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            namespace: world.hostNamespace(),
            name: "held",
            finalizers: ["example.com/somebody-else"],
          },
        })
        world.remove()
      }).pipe(Effect.andThen(Effect.sleep("60 minutes"))),
  },
  {
    alert: "PlatformInstanceDriftRepeats",
    name: "somebody keeps deleting what the platform has made inside",
    run: (world) =>
      Effect.andThen(
        every("20 minutes", () =>
          removeInside(world, [
            [Kinds.ConfigMap, "di-platform-version"],
            [Kinds.Deployment, "wasmcloud-hosts"],
          ]),
        ),
        Effect.sleep("4 hours"),
      ),
  },
  {
    alert: "PlatformInstanceCertificateExpires",
    name: "eleven months and a half without a start of the vCluster, which renews its certificates",
    prepare: (world) =>
      Effect.andThen(
        installed(world),
        Effect.flatMap(Simulation, ({ shiftWallClock }) => act(() => shiftWallClock("352 days"))),
      ),
    run: () => Effect.sleep("100 minutes"),
  },
]

export interface Recorded extends Recording {
  /** Scrapes before the fault. */
  readonly calm: number
}

/** Plays a fault, after half an hour in which nothing is wrong. */
/** Instances that somebody has put to sleep. */
export const sleeps: ReadonlyArray<Omit<Fault, "alert">> = [
  {
    name: "that is asleep for hours, and woken",
    run: (world) => {
      const annotate = (value: string | null) =>
        act(() => world.edit({ metadata: { annotations: { [ANNOTATION_SLEEP]: value } } }))
      return annotate("true").pipe(
        Effect.andThen(Effect.sleep("6 hours")),
        Effect.andThen(annotate(null)),
        Effect.andThen(Effect.sleep("2 hours")),
      )
    },
  },
]

/** Instances that somebody has paused, in whatever state: nobody is to be told that nothing is done about them. */
export const pauses: ReadonlyArray<Omit<Fault, "alert">> = [
  {
    name: "of one whose repairs are due",
    run: (world) => Effect.andThen(pause(world), Effect.sleep("6 hours")),
  },
  {
    name: "of one that has lost its control plane",
    run: (world) =>
      pause(world).pipe(
        Effect.andThen(Effect.sleep("1 minute")),
        Effect.andThen(
          act(() =>
            world.admin.delete(Kinds.StatefulSet, { namespace: world.hostNamespace(), name: "vcluster" }),
          ),
        ),
        Effect.andThen(Effect.sleep("6 hours")),
      ),
  },
  {
    name: "of one whose install has failed",
    run: (world) =>
      act(() => world.edit({ spec: { version: "6.0.90" } })).pipe(
        Effect.andThen(until(() => world.status()?.phase === "Failed", "20 minutes", "it has failed")),
        Effect.andThen(pause(world)),
        Effect.andThen(Effect.sleep("6 hours")),
      ),
  },
]

export const play = (fault: Omit<Fault, "alert">): Recorded =>
  runSimulation(
    Effect.gen(function* () {
      const world = yield* makeWorld({ traced: false, ...fault.world })
      const operator = yield* world.startOperator({ metrics: true, ...fault.start })
      yield* until(() => operator.container() !== undefined, "1 minute", "the operator runs")
      yield* (fault.prepare ?? installed)(world)
      yield* Effect.sleep("1 second")
      const recording = yield* record([operator])
      yield* Effect.sleep("30 minutes")
      const calm = recording.scrapes()
      yield* fault.run(world, operator)
      return { ...recording, calm }
    }).pipe(Effect.orDie),
    { seed: 1, stacks: false, maxSteps: 20_000_000 },
  ).result

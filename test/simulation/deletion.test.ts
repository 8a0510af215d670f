// The field reports about deleting, with the operator as it is and the world around it simulated.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { seeds } from "../twins/simulation/seeds.ts"
import { key } from "../twins/world/World.ts"
import {
  assertCanariesLive,
  assertNothingLeft,
  condition,
  gone,
  jobs,
  leavesNothing,
  notes,
  phase,
  ready,
  recordDeletion,
  restoreRecords,
  type StartedWorld,
  start,
  storageRoot,
  uidOf,
  wholeRecord,
} from "./deletions.ts"

const helmRecord = (world: StartedWorld) =>
  world.admin.list(Kinds.Secret, { namespace: world.hostNamespace(), labelSelector: "owner=helm" })[0]
const uninstalls = (world: StartedWorld) =>
  world.simulation.trace.lines.filter((line) => / started: \S+helm uninstall /.test(line))
const programs = (world: StartedWorld, since: number) =>
  world.simulation.trace.lines.slice(since).filter((line) => / started: (?!\S+node main\.mjs)/.test(line))

describe("deleting a healthy instance", () => {
  it.each(seeds(3))("F26: takes one step after the other, and the finalizer goes last, seed %i", (seed) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const record = recordDeletion(world)
        world.remove()
        yield* leavesNothing(world)
        assert.deepStrictEqual(record, wholeRecord)
      }),
      { seed },
    ),
  )

  it.each(["Background", "Foreground", "Orphan"] as const)(
    "leaves nothing with the cascade %s",
    (propagation) =>
      simulate(
        Effect.gen(function* () {
          const world = yield* start()
          world.admin.delete(Kinds.PlatformInstance, key, { propagation })
          yield* leavesNothing(world)
          // Nothing of the one before is in its successor's way.
          world.apply()
          yield* ready(world)
        }),
        { seed: 1 },
      ),
  )

  it("F36: leaves no pod of a Job that it deletes", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        world.node.images.cutOff()
        world.node.images.pullTakes = [60_000, 60_000]
        world.remove()
        yield* until(
          () => world.admin.list(Kinds.Pod, { namespace: "platform-cleanup" }).length > 0,
          "10 minutes",
          "a pod",
        )
        world.edit({ spec: { deletionPolicy: "Retain" } })
        yield* gone(world, "2 minutes")
        assert.deepStrictEqual(jobs(world), [])
        assert.deepStrictEqual(world.admin.list(Kinds.Pod, { namespace: "platform-cleanup" }), [])
        assert.isDefined(world.node.files.get(storageRoot))
      }),
      { seed: 1 },
    ))
})

describe("F06: a release that was half uninstalled", () => {
  /** How much of the release is left. */
  const left = (world: StartedWorld) =>
    [Kinds.StatefulSet, Kinds.Service, Kinds.Role, Kinds.RoleBinding, Kinds.ServiceAccount].flatMap((kind) =>
      world.admin
        .list(kind, { namespace: world.hostNamespace() })
        .filter(({ metadata }) => metadata.annotations?.["meta.helm.sh/release-name"] === "vcluster"),
    ).length

  it.each(seeds(3))("is uninstalled again, seed %i", (seed) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const all = left(world)
        world.remove()
        yield* until(() => left(world) <= all / 2, "5 minutes", "half of it is gone")
        assert.strictEqual(helmRecord(world)?.metadata.labels?.status, "uninstalling")
        assert.isAbove(left(world), 0)
        yield* world.operator.kill("container")
        yield* leavesNothing(world)
        assert.lengthOf(uninstalls(world), 2)
      }),
      { seed },
    ),
  )

  /** What a chart makes outside of the namespace, and Helm may leave. */
  const makeClusterRole = (world: StartedWorld, release: string) => {
    const annotations = {
      "meta.helm.sh/release-name": release,
      "meta.helm.sh/release-namespace": world.hostNamespace(),
    }
    const name = `vc-vcluster-v-${world.hostNamespace()}`
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name }
    const manifest = (kind: string) => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind,
      metadata: { name, annotations },
    })
    world.admin.create(Kinds.ClusterRole, { ...manifest("ClusterRole"), rules: [] })
    world.admin.create(Kinds.ClusterRoleBinding, { ...manifest("ClusterRoleBinding"), roleRef, subjects: [] })
  }

  it("is looked for object by object: what Helm has left outside of the namespace goes, too", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        makeClusterRole(world, "vcluster")
        world.remove()
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ))

  it("is told of what is somebody else's under a name of its own", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        makeClusterRole(world, "other")
        world.remove()
        yield* gone(world)
        assert.lengthOf(
          world.admin.list(Kinds.ClusterRole).filter(({ metadata }) => metadata.name.startsWith("vc-")),
          1,
        )
        assert.match(
          notes(world, "LeftBehind").join(),
          /clusterrolebinding\/vc-vcluster-v-.*clusterrole\/vc-vcluster-v-/,
        )
      }),
      { seed: 1 },
    ))

  it("whose record is there again each time is told and tried at growing distances", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const stop = restoreRecords(world)
        world.remove()
        yield* until(
          () => condition(world, "TargetReady")?.reason === "TargetDeleteFailed",
          "10 minutes",
          "the uninstall failed",
        )
        assert.match(condition(world, "Ready")?.message ?? "", /^uninstall vcluster: .*record of revision 1/)
        assert.strictEqual(phase(world), "Deleting")
        yield* Effect.sleep("10 minutes")
        assert.isAtMost(uninstalls(world).length, 14)
        const namespace = world.admin.get(Kinds.Namespace, { name: world.hostNamespace() })
        assert.isUndefined(namespace?.metadata.deletionTimestamp)
        stop()
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ))
})

describe("F14: a cleanup Job", () => {
  const withJob = Effect.fnUntraced(function* () {
    const world = yield* start()
    world.remove()
    yield* until(() => jobs(world).length > 0, "10 minutes", "the Job is made")
    yield* world.operator.stop
    return world
  })
  /** Looks of the operator at the Jobs before it acts on what it sees. */
  const looks = (world: StartedWorld, since: number, act: RegExp) => {
    const calls = world.calls.slice(since).map(({ what }) => what)
    const acted = calls.findIndex((what) => act.test(what))
    assert.isAtLeast(acted, 0, "it acted")
    return calls
      .slice(0, acted)
      .filter((what) => /^GET \/apis\/batch\/v1\/namespaces\/platform-cleanup\/jobs/.test(what)).length
  }

  it("that ended while the operator was down is taken as it ended", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* withJob()
        yield* until(() => JSON.stringify(jobs(world)).includes('"Complete"'), "10 minutes", "the Job ends")
        const since = world.calls.length
        yield* world.startAgain
        yield* leavesNothing(world)
        assert.isAtMost(looks(world, since, /^PATCH .*platforminstances\/one\?/), 2)
        assert.lengthOf(
          world.calls.filter(({ what }) => /^POST .*\/jobs/.test(what)),
          1,
        )
      }),
      { seed: 1 },
    ))

  it("that does not exist any more is made again, once", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* withJob()
        for (const { metadata } of jobs(world))
          world.admin.delete(Kinds.Job, metadata, { propagation: "Foreground" })
        yield* until(() => jobs(world).length === 0, "10 minutes", "the Job is gone")
        // What it removed meanwhile is no matter.
        const since = world.calls.length
        yield* world.startAgain
        yield* leavesNothing(world)
        assert.isAtMost(looks(world, since, /^POST .*\/jobs/), 2)
        assert.lengthOf(
          world.calls.filter(({ what }) => /^POST .*\/jobs/.test(what)),
          2,
        )
      }),
      { seed: 1 },
    ))
})

describe("F22: an instance whose target is gone already", () => {
  it.each(["its namespace was deleted", "its control plane answers nobody"])(
    "ends within two minutes, without a destroy: %s",
    (how) =>
      simulate(
        Effect.gen(function* () {
          const world = yield* start()
          if (how.startsWith("its namespace")) {
            yield* world.operator.stop
            world.admin.delete(Kinds.Namespace, { name: world.hostNamespace() })
            const missing = () =>
              world.admin.get(Kinds.Namespace, { name: world.hostNamespace() }) === undefined
            yield* until(missing, "10 minutes", "the namespace is gone")
            yield* world.startAgain
          } else {
            world.vclusters.hang(world.hostNamespace())
          }
          const since = world.simulation.trace.lines.length
          world.remove()
          yield* gone(world, "2 minutes")
          assert.deepStrictEqual(
            programs(world, since).filter((line) => !/ started: \S+helm (uninstall|show) /.test(line)),
            [],
          )
          yield* leavesNothing(world)
        }),
        { seed: 1 },
      ),
  )
})

describe("F34: an instance that is made again", () => {
  const kubeSystem = (world: StartedWorld) =>
    world.inner()?.as("kubernetes-admin").get(Kinds.Namespace, { name: "kube-system" })?.metadata.uid
  const claim = (world: StartedWorld) =>
    world.admin.list(Kinds.PersistentVolumeClaim, { namespace: world.hostNamespace() })[0]
  const identity = (world: StartedWorld) => ({
    inside: kubeSystem(world) ?? assert.fail("it has a vCluster"),
    volume: JSON.stringify(claim(world)?.spec),
    claim: claim(world)?.metadata.uid,
    pod: world.admin.get(Kinds.Pod, { namespace: world.hostNamespace(), name: "vcluster-0" })?.metadata.uid,
  })

  it.each(seeds(2))("after Delete begins with nothing, seed %i", (seed) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const first = identity(world)
        const uid = uidOf(world)
        world.remove()
        yield* gone(world)
        world.apply()
        yield* ready(world)
        const second = identity(world)
        assert.notStrictEqual(uidOf(world), uid)
        for (const what of ["inside", "volume", "claim", "pod"] as const)
          assert.notStrictEqual(first[what], second[what], what)
        assert.isUndefined(world.node.files.get(`${storageRoot}/di-tenants/acme/blob`))
      }),
      { seed },
    ),
  )

  it.each(seeds(2))("after Retain picks up the very same, seed %i", (seed) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start({ spec: { deletionPolicy: "Retain" } })
        const first = identity(world)
        world.remove()
        yield* gone(world)
        world.apply()
        yield* ready(world)
        assert.deepStrictEqual(identity(world), first)
        assert.isDefined(world.node.files.get(`${storageRoot}/di-tenants/acme/blob`))
        assert.lengthOf(notes(world, "Adopted"), 1)
        assertCanariesLive(world)
        world.edit({ spec: { deletionPolicy: "Delete" } })
        world.remove()
        yield* leavesNothing(world)
        assertNothingLeft(world)
      }),
      { seed },
    ),
  )
})

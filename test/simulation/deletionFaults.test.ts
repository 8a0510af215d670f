// Deleting while something around it is broken, missing or going away.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { seeds } from "../twins/simulation/seeds.ts"
import { paths } from "../twins/world/Image.ts"
import { crd } from "../twins/world/Installation.ts"
import { key } from "../twins/world/World.ts"
import {
  assertNothingLeft,
  base,
  condition,
  gone,
  jobs,
  leavesNothing,
  notes,
  phase,
  ready,
  restoreRecords,
  type StartedWorld,
  start,
  storageRoot,
} from "./deletions.ts"

const failures = (world: StartedWorld) =>
  world.instance()?.metadata.annotations?.["platform.di-framework.dev/storage-cleanup-failures"]
const finalizers = (world: StartedWorld) => world.instance()?.metadata.finalizers
const destructive = ({ what }: { readonly what: string }) => /^DELETE |helm uninstall|\/dropped\//.test(what)

describe("F27: a cleanup that fails five times", () => {
  /** Until it has failed so often. */
  const failed = (world: StartedWorld, times: number) =>
    until(
      () => {
        if (Number(failures(world) ?? "0") > 0) {
          assert.include(finalizers(world) ?? [], "platform.di-framework.dev/instance")
          assert.strictEqual(phase(world), "Deleting")
        }
        return failures(world) === String(times)
      },
      "1 hour",
      `${times} failures`,
    )

  const cases = [
    { title: "is tried after 10 s, doubling, and ends well", killed: false },
    { title: "is tried after 10 s, doubling, whoever is killed in the pauses", killed: true },
  ]
  it.each(cases)("$title", ({ killed }) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const stop = world.node.files.refuse(`${storageRoot}/di-tenants/acme/blob`, "EPERM")
        const started: Array<number> = []
        const counted: Array<number> = []
        let count: string | undefined
        world.host.subscribe(({ type, kind, object }) => {
          const at = world.simulation.elapsed()
          if (kind.kind === "Job" && type === "ADDED") started.push(at)
          const now = object.metadata.annotations?.["platform.di-framework.dev/storage-cleanup-failures"]
          if (kind.kind !== "PlatformInstance" || now === count) return
          count = now
          counted.push(at)
        })
        world.remove()
        for (let times = 1; times <= 5; times++) {
          yield* failed(world, times)
          const told = condition(world, "Installed")
          assert.deepInclude(told, { status: "False", reason: "StorageCleanupFailed" })
          assert.match(told?.message ?? "", new RegExp(`^remove storage root ${storageRoot}: .*EPERM`))
          if (killed) yield* world.operator.kill("container")
        }
        stop()
        yield* leavesNothing(world)
        const pauses = counted.slice(0, 5).map((at, index) => ((started[index + 1] ?? 0) - at) / 1_000)
        for (const [index, pause] of pauses.entries()) {
          // The time of a failure is written in whole seconds; a killed operator takes a while to lead again.
          assert.isAtLeast(pause, 10 * 2 ** index - 1)
          assert.isAtMost(pause, 10 * 2 ** index + (killed ? 60 : 3))
        }
        assert.lengthOf(started, 6)
      }),
      { seed: 1 },
    ),
  )

  it("is counted once, although the operator dies when it has counted and not yet removed the Job", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        world.node.files.refuse(`${storageRoot}/di-tenants/acme/blob`, "EPERM")
        yield* world.operator.stop
        let died = false
        yield* world.startOperator({
          plan: ({ what }) => {
            if (died || !/^DELETE .*\/jobs\//.test(what)) return undefined
            died = true
            return "before"
          },
        })
        world.remove()
        yield* until(() => died && jobs(world).length === 0, "10 minutes", "another has removed the Job")
        assert.strictEqual(failures(world), "1")
      }),
      { seed: 1 },
    ))

  it("waits no longer than five minutes", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const stop = world.node.files.refuse(`${storageRoot}/di-tenants/acme/blob`, "EPERM")
        world.remove()
        yield* failed(world, 8)
        stop()
        yield* gone(world, "6 minutes")
      }),
      { seed: 1 },
    ))
})

describe("F28: what deleting does not need", () => {
  it.each(seeds(2))("are registry, plugin host, chart, passphrase and package, seed %i", (seed) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        yield* world.operator.stop
        world.registry.refuse()
        world.pluginHost.reachable = false
        world.passphrase.text = Option.none()
        world.files.remove("/var/lib/platform-operator/packages")
        const operator = yield* world.startOperator()
        yield* until(() => operator.container() !== undefined, "5 minutes", "it runs")
        yield* Effect.sleep("30 seconds")
        operator.container()?.files.files.remove(paths.chart)
        world.remove()
        yield* leavesNothing(world)
      }),
      { seed },
    ),
  )
})

describe("F29: the namespace of the instance is deleted", () => {
  /** By a POST, or by an apply, which makes what is not there. */
  const isCreate = (what: string) => what.startsWith("POST ") || what.includes("force=true")
  const creates = (world: StartedWorld, since: number) =>
    world.calls
      .slice(since)
      .filter(({ what }) => isCreate(what) && /^\S+ \/\S+\/namespaces\/team-a\//.test(what))
  const deleteNamespace = (world: StartedWorld) => {
    const since = world.calls.length
    world.admin.delete(Kinds.Namespace, { name: key.namespace })
    return since
  }
  const namespaceGone = (world: StartedWorld) =>
    until(
      () => world.admin.get(Kinds.Namespace, { name: key.namespace }) === undefined,
      "5 minutes",
      "the namespace is gone",
    )

  it.each(seeds(2))("with a Ready instance in it, seed %i", (seed) =>
    simulate(
      Effect.gen(function* () {
        // What is left behind would be worth an Event.
        const world = yield* start({ spec: { platform: { storageRoot: "/srv/mine" } } })
        const since = deleteNamespace(world)
        yield* namespaceGone(world)
        assert.isAtMost(creates(world, since).length, 1)
      }),
      { seed },
    ),
  )

  it.each(seeds(2))("with a cleanup that fails and ends in its own namespace, seed %i", (seed) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const stop = world.node.files.refuse(`${storageRoot}/di-tenants/acme/blob`, "EPERM")
        const since = deleteNamespace(world)
        yield* until(() => failures(world) === "2", "5 minutes", "two failures")
        stop()
        yield* namespaceGone(world)
        assert.isAtMost(creates(world, since).length, 1)
        const made = world.calls.filter(({ what }) => /^POST .*\/jobs\?/.test(what))
        assert.isTrue(made.every(({ what }) => what.includes("/namespaces/platform-cleanup/jobs")))
        assert.isUndefined(world.node.files.get(storageRoot))
      }),
      { seed },
    ),
  )

  it("with an uninstall that fails, of which nothing can be told in an Event any more", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start({ spec: { platform: { storageRoot: "/srv/mine" } } })
        const stop = restoreRecords(world)
        const since = deleteNamespace(world)
        const uninstalls = () =>
          world.calls.slice(since).filter(({ what }) => /^spawn \S+helm uninstall /.test(what)).length
        yield* until(() => uninstalls() === 4, "5 minutes", "it has failed three times")
        stop()
        yield* namespaceGone(world)
        assert.lengthOf(creates(world, since), 1)
      }),
      { seed: 1 },
    ))

  const moments: ReadonlyArray<readonly [string, (world: StartedWorld) => boolean]> = [
    [
      "is being installed",
      (world) =>
        world.admin.get(Kinds.StatefulSet, { namespace: world.hostNamespace(), name: "vcluster" }) !==
        undefined,
    ],
    [
      "has just been made known",
      (world) => world.admin.get(Kinds.Secret, { ...key, name: "one-kubeconfig" }) !== undefined,
    ],
  ]
  it.each(moments)("while the target %s", (_, has) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        world.remove()
        yield* gone(world)
        world.apply()
        yield* until(() => has(world), "10 minutes", "the moment has come")
        const since = deleteNamespace(world)
        yield* namespaceGone(world)
        assert.isAtMost(creates(world, since).length, 1)
        yield* Effect.sleep("2 minutes")
        const left = world.admin.get(Kinds.Namespace, { name: world.hostNamespace() })
        assert.isUndefined(left)
        assert.isUndefined(world.node.files.get(storageRoot))
      }),
      { seed: 1 },
    ),
  )

  it("in the middle of an install", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        world.edit({ spec: { platform: { tenants: [{ name: "acme" }, { name: "third" }] } } })
        yield* until(() => phase(world) === "Installing", "1 minute", "it installs")
        const since = deleteNamespace(world)
        yield* namespaceGone(world)
        assert.isAtMost(creates(world, since).length, 1)
        assert.isUndefined(world.node.files.get(storageRoot))
      }),
      { seed: 1 },
    ))
})

describe("a deletion", () => {
  it("of twenty instances of a namespace at once leaves nothing of any", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start({
          traced: false,
          settings: { maxConcurrentInstalls: 1, maxConcurrentTargets: 20 },
        })
        const others = Array.from({ length: 19 }, (_, index) => ({ ...key, name: `other-${index}` }))
        for (const other of others) world.apply({}, other)
        // Most of them are deleted while their targets come up.
        const isBegun = (other: typeof key) =>
          world.admin.get(Kinds.Namespace, { name: world.hostNamespace(other) }) !== undefined
        yield* until(() => others.every(isBegun), "10 minutes", "all have begun")
        for (const one of [key, ...others]) world.remove(one)
        const left = () => [key, ...others].filter((one) => world.instance(one) !== undefined)
        yield* until(() => left().length === 0, "30 minutes", "all are gone")
        yield* Effect.sleep("2 minutes")
        assertNothingLeft(world)
      }),
      { seed: 1 },
    ))

  it("by the removal of the definition ends, and the operator takes it up when that is back", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        // As the API server does: the definition waits for its objects.
        world.remove()
        yield* gone(world)
        world.admin.delete(Kinds.CustomResourceDefinition, { name: crd.metadata.name })
        yield* Effect.sleep("10 minutes")
        world.admin.create(Kinds.CustomResourceDefinition, crd)
        world.apply()
        yield* ready(world)
        world.remove()
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ))

  it("does not follow a link at the namespace's folder, and ends when the folder is back in its place", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const elsewhere = `/elsewhere/${key.namespace}`
        world.node.files.put(`${elsewhere}/${key.name}/file`, { type: "file" })
        world.node.files.put(`${base}/${key.namespace}`, { type: "link", to: elsewhere })
        world.remove()
        yield* until(() => failures(world) === "2", "10 minutes", "two failures")
        assert.deepInclude(condition(world, "Installed"), { status: "False", reason: "StorageCleanupFailed" })
        assert.include(
          condition(world, "Installed")?.message ?? "",
          `remove storage root ${storageRoot}: the cleanup Job failed (2 so far): removed nothing: ` +
            `${base}/${key.namespace} leads to ${elsewhere} on the node; to leave the directory, annotate`,
        )
        world.node.files.put(`${base}/${key.namespace}`, { type: "directory" })
        yield* leavesNothing(world)
        assert.isDefined(world.node.files.get(`${elsewhere}/${key.name}/file`))
      }),
      { seed: 1 },
    ))

  it("leaves somebody else's finalizer on the instance", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const foreign = ["example.com/first", ...(finalizers(world) ?? []), "example.com/last"]
        world.edit({ metadata: { finalizers: foreign } })
        world.remove()
        yield* until(() => finalizers(world)?.length === 2, "10 minutes", "its own finalizer is gone")
        yield* Effect.sleep("10 minutes")
        assert.deepStrictEqual(finalizers(world), ["example.com/first", "example.com/last"])
        world.edit({ metadata: { finalizers: null } })
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ))

  it("waits for a host namespace that a foreign finalizer holds, and names the object", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const held = { namespace: world.hostNamespace(), name: "held" }
        const metadata = { ...held, finalizers: ["example.com/hold"] }
        world.admin.create(Kinds.ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata })
        world.remove()
        const message = () => condition(world, "Ready")?.message ?? ""
        yield* until(() => message().includes("configmaps/held"), "10 minutes", "the object is named")
        assert.include(message(), "(finalizer example.com/hold)")
        world.admin.patch(Kinds.ConfigMap, held, { type: "merge", patch: { metadata: { finalizers: null } } })
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ))
})

describe("a look at the instances that is behind", () => {
  const identity = (world: StartedWorld) =>
    world.inner()?.as("kubernetes-admin").get(Kinds.Namespace, { name: "kube-system" })?.metadata.uid ??
    assert.fail("it has a vCluster")

  it("does not remove what a successor is to pick up", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const before = identity(world)
        yield* world.operator.stop
        world.remove()
        world.host.faults.freezeCache(Kinds.PlatformInstance)
        world.edit({ metadata: { finalizers: null } })
        assert.isUndefined(world.instance())
        world.apply({ deletionPolicy: "Retain" })
        const since = world.calls.length
        yield* world.startAgain
        yield* Effect.sleep("10 minutes")
        assert.deepStrictEqual(world.calls.slice(since).filter(destructive), [])
        world.host.faults.thawCache(Kinds.PlatformInstance)
        yield* ready(world)
        assert.strictEqual(identity(world), before)
        assert.lengthOf(notes(world, "Adopted"), 1)
      }),
      { seed: 1 },
    ))

  it("does not remove what has been switched to Retain since", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const before = identity(world)
        yield* world.operator.stop
        world.remove()
        world.host.faults.freezeCache(Kinds.PlatformInstance)
        world.edit({ spec: { deletionPolicy: "Retain" } })
        const since = world.calls.length
        yield* world.startAgain
        yield* gone(world)
        const removed = world.calls.slice(since).filter(destructive)
        assert.isTrue(
          removed.every(({ what }) => what.includes("secrets/one-kubeconfig")),
          JSON.stringify(removed),
        )
        assert.strictEqual(identity(world), before)
        assert.isDefined(world.node.files.get(storageRoot))
      }),
      { seed: 1 },
    ))

  it("and shows none at all removes nothing", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const before = identity(world)
        world.host.faults.freezeCache(Kinds.PlatformInstance, "1")
        yield* world.operator.stop
        const since = world.calls.length
        yield* world.startAgain
        yield* Effect.sleep("1 hour")
        assert.deepStrictEqual(world.calls.slice(since).filter(destructive), [])
        world.host.faults.thawCache(Kinds.PlatformInstance)
        yield* ready(world)
        assert.strictEqual(identity(world), before)
      }),
      { seed: 1 },
    ))
})

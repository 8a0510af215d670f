// The cleanup Job of a deletion in its world: what keeps it from its work and what is told of that, the ways out at any
// moment of it, and a successor that is there before it has ended.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { key } from "../twins/world/World.ts"
import {
  condition,
  gone,
  jobs,
  leavesNothing,
  notes,
  phase,
  ready,
  type StartedWorld,
  start,
  storageRoot,
  uidOf,
} from "./deletions.ts"

const cleanupNamespace = "platform-cleanup"
const pods = (world: StartedWorld) => world.admin.list(Kinds.Pod, { namespace: cleanupNamespace })
const file = `${storageRoot}/di-tenants/acme/blob`
/** What the record says; empty when there is none. */
const recordOf = (world: StartedWorld): string => {
  const path = `/var/lib/platform-operator/instances/${key.namespace}/${key.name}/instance.json`
  return world.files.exists(path) ? world.files.readText(path) : ""
}
const told = (world: StartedWorld) => condition(world, "Ready")?.message ?? ""

describe("a cleanup Job that does not get on", () => {
  const setPodSecurity = (world: StartedWorld, level: string | null) =>
    world.admin.patch(
      Kinds.Namespace,
      { name: cleanupNamespace },
      {
        type: "merge",
        patch: { metadata: { labels: { "pod-security.kubernetes.io/enforce": level } } },
      },
    )
  const image = (world: StartedWorld) => world.settings.operatorImage

  const obstacles: ReadonlyArray<readonly [string, (world: StartedWorld) => () => void, RegExp]> = [
    [
      "is not scheduled",
      ({ node }) => {
        node.cordon()
        return node.uncordon
      },
      /Unschedulable: 0\/1 nodes are available/,
    ],
    ["has no image", (world) => world.node.images.remove(image(world)), /(ErrImagePull|ImagePullBackOff): /],
    [
      "is refused by Pod Security",
      (world) => {
        setPodSecurity(world, "baseline")
        return () => void setPodSecurity(world, null)
      },
      /FailedCreate: .*violates PodSecurity "baseline:latest": hostPath volumes \(volume "storage"\)/,
    ],
  ]
  it.each(obstacles)("because its pod %s says so, and ends when that is mended", (_, obstruct, words) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const mend = obstruct(world)
        world.remove()
        yield* until(() => words.test(told(world)), "20 minutes", "the pod's own words")
        const installed = condition(world, "Installed")
        assert.deepInclude(installed, { status: "False", reason: "StorageCleanupFailed" })
        assert.include(installed?.message ?? "", `remove storage root ${storageRoot}: `)
        assert.strictEqual(condition(world, "Ready")?.reason, "StorageCleanupFailed")
        assert.strictEqual(phase(world), "Deleting")
        assert.isDefined(world.node.files.get(file))
        mend()
        yield* gone(world, "30 minutes")
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ),
  )
})

describe("the way out of a cleanup", () => {
  const skip = (value: string) => ({
    metadata: { annotations: { "platform.di-framework.dev/skip-storage-cleanup": value } },
  })
  const ways = [skip("true"), { spec: { deletionPolicy: "Retain" } }]
  const moments: ReadonlyArray<readonly [string, (world: StartedWorld) => boolean]> = [
    ["while the release is uninstalled", (world) => phase(world) === "Deleting"],
    ["while its Job waits for a pod", (world) => jobs(world).length > 0],
    ["while its pod has no image yet", (world) => pods(world).length > 0],
    [
      "after it has failed",
      (world) =>
        world.instance()?.metadata.annotations?.["platform.di-framework.dev/storage-cleanup-failures"] ===
        "1",
    ],
  ]
  const cases = moments.flatMap(([when, has]) => ways.map((way) => ({ when, has, way })))

  it.each(cases)("$when: the Job is stopped, the data stays, the instance goes", ({ has, way }) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        world.node.images.remove(world.settings.operatorImage)
        world.remove()
        yield* until(() => has(world), "20 minutes", "the moment has come")
        const begun = recordOf(world).includes('"deleting"')
        world.edit(way)
        yield* gone(world, "5 minutes")
        yield* Effect.sleep("2 minutes")
        assert.deepStrictEqual([...jobs(world), ...pods(world)], [])
        assert.isDefined(world.node.files.get(file))
        // Until something is removed, a switch to Retain keeps all of it.
        const retained = "spec" in way && !begun
        assert.strictEqual(recordOf(world) !== "", retained)
        assert.deepStrictEqual(
          notes(world, "LeftBehind"),
          retained ? [] : [`not removed with the instance: storage root ${storageRoot}`],
        )
      }),
      { seed: 1 },
    ),
  )

  it.each(["True", "TRUE", "yes", "1", "", " true"])("is no %j", (value) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        world.edit(skip(value))
        world.remove()
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ),
  )

  it("is no mark of another life's cleanup", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        for (const value of ["true", "another-uid", ""]) {
          world.edit({ metadata: { annotations: { "platform.di-framework.dev/storage-cleaned": value } } })
        }
        world.remove()
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ))

  it("waits for a pod that does not end, and names it, until a person lets it go", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        world.node.images.cutOff()
        world.node.images.remove(world.settings.operatorImage)
        world.remove()
        yield* until(() => pods(world).length > 0, "10 minutes", "the pod is there")
        const [pod] = pods(world)
        const { name } = pod?.metadata ?? assert.fail("it is there")
        // Somebody looks at it: it has no kubelet that would end it.
        world.admin.patch(
          Kinds.Pod,
          { namespace: cleanupNamespace, name },
          { type: "merge", patch: { metadata: { finalizers: ["example.com/hold"] } } },
        )
        world.edit(skip("true"))
        yield* until(() => told(world).includes(name), "5 minutes", "the pod is named")
        yield* Effect.sleep("10 minutes")
        assert.deepInclude(condition(world, "Ready"), {
          status: "False",
          reason: "WaitingForStorageCleanup",
          message: `waiting for ${name} in namespace ${cleanupNamespace} to be gone`,
        })
        assert.isDefined(world.instance())
        world.admin.patch(
          Kinds.Pod,
          { namespace: cleanupNamespace, name },
          { type: "merge", patch: { metadata: { finalizers: null } } },
        )
        yield* gone(world, "2 minutes")
      }),
      { seed: 1 },
    ))
})

describe("a state directory that cannot be written", () => {
  it("holds the deletion with UninstallFailed before anything is removed", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        world.state.free(0)
        world.remove()
        yield* until(
          () => condition(world, "Installed")?.reason === "UninstallFailed",
          "10 minutes",
          "it is told",
        )
        assert.match(told(world), /^record the deletion: .*the volume of the state directory is full$/)
        assert.strictEqual(phase(world), "Deleting")
        yield* Effect.sleep("10 minutes")
        assert.isDefined(world.admin.get(Kinds.Namespace, { name: world.hostNamespace() }))
        assert.isDefined(world.node.files.get(file))
        world.state.free(undefined)
        yield* gone(world, "30 minutes")
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ))
})

describe("an instance that is made again while the one before is being removed", () => {
  const kubeSystem = (world: StartedWorld) =>
    world.inner()?.as("kubernetes-admin").get(Kinds.Namespace, { name: "kube-system" })?.metadata.uid
  const hostPhase = (world: StartedWorld) =>
    world.admin.get(Kinds.Namespace, { name: world.hostNamespace() })?.metadata.deletionTimestamp
  const moments: ReadonlyArray<readonly [string, (world: StartedWorld) => boolean]> = [
    ["the release is being uninstalled", (world) => phase(world) === "Deleting"],
    ["the host namespace is going", (world) => hostPhase(world) !== undefined],
    ["its cleanup Job runs", (world) => jobs(world).length > 0],
    ["its data is gone", (world) => world.node.files.get(storageRoot) === undefined],
  ]
  const cases = moments.flatMap(([when, has]) => [true, false].map((killed) => ({ when, has, killed })))

  it.each(cases)(
    "and $when (operator killed: $killed) has nothing of it, and loses nothing to it",
    ({ has, killed }) =>
      simulate(
        Effect.gen(function* () {
          const world = yield* start()
          const before = { uid: uidOf(world), inside: kubeSystem(world) }
          world.remove()
          yield* until(() => has(world), "10 minutes", "the moment has come")
          world.edit({ metadata: { finalizers: null } })
          assert.isUndefined(world.instance())
          world.apply()
          if (killed) yield* world.operator.kill("container")
          yield* until(() => kubeSystem(world) !== undefined && world.isReady(), "20 minutes", "it is Ready")
          assert.notStrictEqual(uidOf(world), before.uid)
          assert.notStrictEqual(kubeSystem(world), before.inside)
          // What the one before wrote is gone; what this one writes stays.
          assert.isUndefined(world.node.files.get(file))
          world.node.files.put(file, { type: "file" })
          assert.deepStrictEqual(jobs(world), [])
          yield* Effect.sleep("1 hour")
          assert.isDefined(world.node.files.get(file))
          yield* ready(world)
          world.remove()
          yield* leavesNothing(world)
        }),
        { seed: 1 },
      ),
  )
})

// An instance that is being restored is held by its state, whatever becomes of its annotation, or of the instance itself.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ANNOTATION_RESTORE } from "../../src/schema/Names.ts"
import { Event, Namespace } from "../../src/services/Kubernetes/Kinds.ts"
import { play, type Workload } from "../twins/crash/Crash.ts"
import { until } from "../twins/simulation/Simulation.ts"
import { key, type World } from "../twins/world/World.ts"
import { storageRoot } from "./deletions.ts"
import { workloads } from "./workloads.ts"

const patience = "30 minutes"
const blob = `${storageRoot}/di-tenants/acme/blob`

const isUp = (world: World) =>
  world.status()?.conditions?.some(({ type, status }) => type === "TargetReady" && status === "True") === true
const saysReady = (world: World) =>
  world.status()?.conditions?.find(({ type }) => type === "Ready")?.message ?? ""
const reasonsOf = (world: World) => world.admin.list(Event).map((event) => String(Object(event).reason))

const begun = Effect.fnUntraced(function* (world: World) {
  world.apply({ deletionPolicy: "Retain" }, key, { [ANNOTATION_RESTORE]: "00112233445566aa" })
  yield* until(() => isUp(world), patience, "its vCluster is there")
  yield* Effect.sleep("1 minute")
})

const isHeld = (world: World) => {
  assert.match(saysReady(world), /^backup 00112233445566aa is being restored/)
  assert.isUndefined(world.status()?.installedVersion)
  assert.notInclude(reasonsOf(world), "ClusterReplaced")
}

const workload = (name: string, run: Workload["run"]): Workload => ({
  name,
  run,
  ...(workloads.restore.prepare === undefined ? {} : { prepare: workloads.restore.prepare }),
})

it("installs nothing over its empty vCluster when the annotation is taken away", () => {
  play(
    workload(
      "a restore whose annotation is taken away",
      Effect.fnUntraced(function* (world) {
        yield* begun(world)
        world.edit({ metadata: { annotations: { [ANNOTATION_RESTORE]: null } } })
        yield* Effect.sleep("10 minutes")
        isHeld(world)
      }),
    ),
    1,
  )
}, 300_000)

it("nor for the next instance of its name, after one that was retained half-way", () => {
  play(
    workload(
      "a restore that is given up and retained",
      Effect.fnUntraced(function* (world) {
        yield* begun(world)
        world.remove()
        yield* until(() => world.instance() === undefined, patience, "the instance is gone")
        world.apply({ deletionPolicy: "Retain" })
        yield* until(() => isUp(world), patience, "its vCluster is there again")
        yield* Effect.sleep("10 minutes")
        isHeld(world)
      }),
    ),
    1,
  )
}, 300_000)

it("leaves the storage root that it has not made on the node when it is given up", () => {
  play(
    workload(
      "a restore that is given up",
      Effect.fnUntraced(function* (world) {
        world.node.files.put(blob, { type: "file" })
        yield* begun(world)
        world.edit({ spec: { deletionPolicy: "Delete" } })
        world.remove()
        yield* until(() => world.instance() === undefined, patience, "the instance is gone")
        assert.isUndefined(world.admin.get(Namespace, { name: world.hostNamespace() }))
        const told = world.admin.list(Event).map((event) => JSON.stringify(event))
        assert.isTrue(told.some((event) => /LeftBehind.*storage root /.test(event)))
        assert.isFalse(reasonsOf(world).includes("StorageCleanupFailed"))
        assert.isDefined(world.node.files.get(blob))
      }),
    ),
    1,
  )
}, 300_000)

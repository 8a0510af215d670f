// Deletions of an instance with data on the node, each to its end.
import { Effect } from "effect"
import { ANNOTATION_STORAGE_CLEANUP_FAILURES } from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { Workload } from "../twins/crash/Crash.ts"
import { until } from "../twins/simulation/Simulation.ts"
import { key, type World } from "../twins/world/World.ts"
import { storageRoot } from "./deletions.ts"

const patience = "30 minutes"
const blob = `${storageRoot}/di-tenants/acme/blob`

const act = (what: () => unknown) => Effect.sync(() => void what())
const gone = (world: World) => until(() => world.instance() === undefined, patience, "the instance is gone")
const ready = (world: World) => until(() => world.isReady(), patience, "the instance is Ready")
const hasData = (world: World) => world.node.files.get(blob) !== undefined
/** The books of the world are of the clusters and the state directory alone. */
const dataIs = (world: World, there: boolean) =>
  act(() => {
    if (hasData(world) !== there) throw new Error(`${blob} is ${there ? "gone" : "still there"}`)
  })

const prepare = Effect.fnUntraced(function* (world: World) {
  yield* act(() => world.apply())
  yield* ready(world)
  yield* act(() => world.node.files.put(blob, { type: "file" }))
})

const deletion: Workload = {
  name: "a deletion",
  prepare,
  run: Effect.fnUntraced(function* (world) {
    yield* act(() => world.remove())
    yield* gone(world)
    yield* dataIs(world, false)
  }),
}

const failing: Workload = {
  name: "a removal that fails at first",
  prepare,
  run: Effect.fnUntraced(function* (world) {
    const mend = world.node.files.refuse(blob, "EPERM")
    yield* act(() => world.remove())
    const failures = () => world.instance()?.metadata.annotations?.[ANNOTATION_STORAGE_CLEANUP_FAILURES]
    yield* until(() => failures() !== undefined, patience, "it has failed")
    yield* act(mend)
    yield* gone(world)
    yield* dataIs(world, false)
  }),
}

const switched: Workload = {
  name: "a removal that is switched to Retain half-way",
  prepare,
  run: Effect.fnUntraced(function* (world) {
    // The cleanup gets as far as to a pod, and no further.
    yield* act(() => world.node.images.remove(world.settings.operatorImage))
    yield* act(() => world.remove())
    const cleaning = () => world.admin.list(Kinds.Pod, { namespace: world.settings.cleanupNamespace })
    yield* until(() => cleaning().length > 0, patience, "the cleanup has a pod")
    yield* act(() => world.edit({ spec: { deletionPolicy: "Retain" } }))
    yield* gone(world)
    yield* dataIs(world, true)
  }),
}

const successor: Workload = {
  name: "an instance that is made again in the middle of a removal",
  prepare,
  run: Effect.fnUntraced(function* (world) {
    const isGoing = () =>
      world.admin.get(Kinds.Namespace, { name: world.hostNamespace() })?.metadata.deletionTimestamp !==
      undefined
    yield* act(() => world.remove())
    yield* until(isGoing, patience, "the host namespace is going")
    yield* act(() => world.edit({ metadata: { finalizers: null } }))
    yield* act(() => world.apply({}, key))
    yield* ready(world)
    yield* dataIs(world, false)
  }),
}

const oneOfTwo: Workload = {
  name: "a deletion beside another instance of the namespace",
  prepare: Effect.fnUntraced(function* (world) {
    const other = { ...key, name: "two" }
    yield* act(() => world.apply())
    yield* act(() => world.apply({}, other))
    yield* until(() => world.isReady() && world.isReady(other), patience, "both are Ready")
  }),
  run: Effect.fnUntraced(function* (world) {
    yield* act(() => world.remove())
    yield* gone(world)
  }),
}

export const deletionWorkloads = { deletion, failing, switched, successor, oneOfTwo }

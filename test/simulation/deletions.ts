// An instance in the simulated world, to be deleted: what is looked at meanwhile, and what is left afterwards.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { findCondition } from "../../src/schema/Conditions.ts"
import { LABEL_INSTANCE_HASH } from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../src/services/Kubernetes/Kubernetes.ts"
import type { Change } from "../twins/kubernetes/ApiServer.ts"
import { until } from "../twins/simulation/Simulation.ts"
import { key, makeWorld, type World, type WorldOptions } from "../twins/world/World.ts"

export const base = "/var/lib/platform-instances"
export const storageRoot = `${base}/${key.namespace}/${key.name}`
const stateRoot = "/var/lib/platform-operator"
const cleaned = "platform.di-framework.dev/storage-cleaned"

/** Beside the storage root, each with a file: nothing of them may ever go. */
const canaries = [`${base}/team-a/two/canary`, `${base}/team-b/one/canary`, "/var/lib/canary/file"]

export const condition = (world: World, type: Parameters<typeof findCondition>[1]) =>
  findCondition(world.status()?.conditions, type)
export const phase = (world: World) => world.status()?.phase
export const uidOf = (world: World): string => world.instance()?.metadata.uid ?? ""
export const notes = (world: World, reason: string): ReadonlyArray<string> =>
  world.events().flatMap((event) => (event.reason === reason ? [String(event.note)] : []))
export const jobs = (world: World) => world.admin.list(Kinds.Job)

const objects = (world: World) => [...world.end().objects.keys()]

export interface Started {
  /** Everything the operators have asked of the host since the instance was made, with the milliseconds of virtual time. */
  readonly calls: Array<{ readonly at: number; readonly what: string }>
  /** Names of the host's objects before the operator was there. */
  readonly before: ReadonlySet<string>
}

export interface StartOptions extends WorldOptions {
  readonly spec?: Readonly<Record<string, unknown>>
}

/** An operator and an instance, Ready, with data on the node and canaries beside it. */
export const start = Effect.fnUntraced(function* ({ spec = {}, ...options }: StartOptions = {}) {
  const world = yield* makeWorld(options)
  const calls: Array<{ at: number; what: string }> = []
  // Each namespace is given its service account and its CA first.
  yield* Effect.sleep("1 minute")
  const before = new Set(objects(world))
  for (const path of canaries) world.node.files.put(path, { type: "file" })
  const onCall = ({ what }: { readonly what: string }) =>
    void calls.push({ at: world.simulation.elapsed(), what })
  const operator = yield* world.startOperator({ onCall })
  world.apply(spec)
  yield* ready(world)
  world.node.files.put(`${storageRoot}/di-tenants/acme/blob`, { type: "file" })
  world.node.files.put(`${storageRoot}/di-tenants/acme/out`, { type: "link", to: "/var/lib/canary" })
  const started: Started = { calls, before }
  return { ...world, ...started, operator, startAgain: world.startOperator({ onCall }) }
})
export type StartedWorld = Effect.Success<ReturnType<typeof start>>

export const ready = (world: Pick<World, "isReady">) =>
  until(() => world.isReady(), "10 minutes", "the instance is Ready")
export const gone = (world: Pick<World, "instance">, within: Parameters<typeof until>[1] = "10 minutes") =>
  until(() => world.instance() === undefined, within, "the instance is gone")

/** The admission policies, their bindings and the PriorityClass stay until somebody removes them. */
const isPolicy = (name: string) => /^host (ValidatingAdmissionPolicy|PriorityClass)/.test(name)

export const assertCanariesLive = (world: World): void => {
  for (const path of canaries) assert.isDefined(world.node.files.get(path), path)
}

/** Nothing of an instance is anywhere: in the cluster, in the state directory, on the node. */
export const assertNothingLeft = (world: World & Started): void => {
  const left = objects(world).filter((name) => !world.before.has(name) && !isPolicy(name))
  assert.deepStrictEqual(left, [])
  assert.deepStrictEqual(world.files.list(`${stateRoot}/instances`), [])
  assert.deepStrictEqual(world.files.list(`${stateRoot}/dropped`), [])
  assert.isUndefined(world.node.files.get(storageRoot))
  assertCanariesLive(world)
}

/** Nothing left, once what runs by itself (volumes, owners that are gone) has come to its end. */
export const leavesNothing = (world: World & Started) =>
  Effect.andThen(
    Effect.andThen(gone(world), Effect.sleep("2 minutes")),
    Effect.sync(() => assertNothingLeft(world)),
  )

/** Somebody puts the release's record back each time it is removed, until told to stop: an uninstall that does not succeed. */
export const restoreRecords = (world: World): (() => void) =>
  world.host.subscribe(({ type, object }) => {
    const { namespace, name, labels = {} } = object.metadata
    if (type !== "DELETED" || namespace !== world.hostNamespace() || labels.owner !== "helm") return
    const { apiVersion, kind, data } = object
    world.admin.create(Kinds.Secret, { apiVersion, kind, data, metadata: { namespace, name, labels } })
  })

/** What happens to the instance's things, in order, each with its proof at that moment. */
export const recordDeletion = (world: World): ReadonlyArray<string> => {
  const record: Array<string> = []
  const uid = uidOf(world)
  const host = world.hostNamespace()
  const state = `${stateRoot}/instances/${key.namespace}/${key.name}`
  const say = (what: string) => {
    if (!record.includes(what)) record.push(what)
  }
  const isOurs = ({ metadata }: KubeObject) => metadata.labels?.[LABEL_INSTANCE_HASH] !== undefined
  const sayWhen = (is: boolean, what: string) => (is ? say(what) : undefined)
  const look = ({ type, kind, object }: Change) => {
    const { metadata } = object
    const deleted = type === "DELETED"
    if (metadata.namespace === host && metadata.labels?.owner === "helm" && deleted) {
      const marked = world.files.readText(`${state}/instance.json`).includes(`"deleting":"${uid}"`)
      sayWhen(marked, "deletion recorded")
      const namespace = world.admin.get(Kinds.Namespace, { name: host })
      sayWhen(namespace?.metadata.deletionTimestamp === undefined, "release uninstalled")
    }
    if (kind.kind === "Namespace" && metadata.name === host) {
      sayWhen(metadata.deletionTimestamp !== undefined, "host namespace going")
      sayWhen(deleted, "host namespace gone")
    }
    if (kind.kind === "Job" && isOurs(object)) {
      sayWhen(!world.files.exists(`${state}/backend`), "state dropped")
      say(deleted ? "Job gone" : "cleanup Job started")
    }
    if (kind.kind === "Pod" && isOurs(object) && deleted) say("pod gone")
    if (kind.kind === "PlatformInstance") {
      if (metadata.annotations?.[cleaned] === uid) {
        sayWhen(world.node.files.get(storageRoot) === undefined, "storage root gone")
        say("storage-cleaned")
      }
      sayWhen(deleted && !world.files.exists(state), "record dropped")
      sayWhen(deleted, "finalizer released")
    }
  }
  world.host.subscribe(look)
  return record
}

/** The order of the reference. The pod goes with its Job, in the background. */
export const wholeRecord = [
  "deletion recorded",
  "release uninstalled",
  "host namespace going",
  "host namespace gone",
  "state dropped",
  "cleanup Job started",
  "storage root gone",
  "storage-cleaned",
  "Job gone",
  "pod gone",
  "record dropped",
  "finalizer released",
]

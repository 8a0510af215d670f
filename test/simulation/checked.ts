// A simulated world that is looked at all the time (twins/world/Invariants.ts), with what a run is judged by in the end: the
// instance is really Ready, or gone with nothing left, and nothing is written any more.
import { assert } from "@effect/vitest"
import { Duration, Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { until } from "../twins/simulation/Simulation.ts"
import { paths } from "../twins/world/Image.ts"
import { editByHand, type Invariants, keepInvariants } from "../twins/world/Invariants.ts"
import type { Operator, StartOptions } from "../twins/world/Operators.ts"
import { key, makeWorld, type World, type WorldOptions } from "../twins/world/World.ts"

export interface CheckedWorld extends World {
  readonly invariants: Invariants
  /** Names of the objects that were there before any instance. */
  readonly before: ReadonlySet<string>
  /** An operator whose calls are looked at. */
  readonly operate: (options?: StartOptions) => ReturnType<World["startOperator"]>
}

const objects = (world: World) => [...world.end().objects.keys()]

/** No repair within what is waited for, so that a day in which nothing is to be done is a day without a write. */
export const restful = { repairInterval: Duration.hours(72), targetPoll: Duration.minutes(1) }

export const makeChecked = Effect.fnUntraced(function* (options: WorldOptions = {}) {
  const kept: { invariants?: Invariants } = {}
  const world = yield* makeWorld({
    traced: false,
    tenantAuth: true,
    log: (line) => kept.invariants?.onLog(line),
    ...options,
    settings: { ...restful, ...options.settings },
  })
  const invariants = keepInvariants(world)
  kept.invariants = invariants
  // Each namespace is given its service account and its CA first.
  yield* Effect.sleep("1 minute")
  const before = new Set(objects(world))
  const operate = (given: StartOptions = {}) => {
    let operator: Operator | undefined
    return Effect.tap(
      world.startOperator({
        ...given,
        onCall: (call, identity) => {
          invariants.onCall(call, {
            processes: operator?.container()?.processes ?? [],
            ...(given.leaderElect === true ? { candidate: identity } : {}),
          })
          given.onCall?.(call, identity)
        },
      }),
      (started) =>
        Effect.sync(() => {
          operator = started
        }),
    )
  }
  const edit = editByHand(world, invariants)
  return { ...world, edit, invariants, before, operate } satisfies CheckedWorld
})

/** Nothing that must hold at every instant was broken. */
export const assertHeld = ({ invariants }: CheckedWorld): void =>
  assert.deepStrictEqual(invariants.broken(), [])

/** Not only its status says so: the vCluster serves, and what the program makes is in it. */
export const isWell = (world: World, of = key): boolean =>
  world.isReady(of) &&
  world
    .inner(of)
    ?.as("kubernetes-admin")
    .list(Kinds.ConfigMap)
    .some(({ metadata }) => metadata.name === "di-platform-version") === true

/** Longer than the longest pause between two tries, and the install after it. */
export const patience = "40 minutes"

export const well = (world: World) => until(() => isWell(world), patience, "the instance is Ready")
export const gone = (world: World) =>
  until(() => world.instance() === undefined, patience, "the instance is gone")

/** The admission policies, their bindings and the PriorityClass stay until somebody removes them. */
const isPolicy = (name: string) => /^host (ValidatingAdmissionPolicy|PriorityClass)/.test(name)

/** What is still there of an instance that is gone. */
export const leftBehind = (world: CheckedWorld, others: ReadonlyArray<string> = []): ReadonlyArray<string> =>
  [
    ...objects(world).filter((name) => !world.before.has(name) && !isPolicy(name)),
    ...world.files.list(`${paths.state}/instances`).map((name) => `state of ${name}`),
    ...(world.node.files.get(`${world.settings.storageRootBase}/${key.namespace}/${key.name}`) === undefined
      ? []
      : ["the storage root"]),
  ].filter((name) => !others.includes(name))

/** Gone, and nothing left once what runs by itself has come to its end. */
export const goneWithAll = (world: CheckedWorld, others: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    yield* gone(world)
    yield* Effect.sleep("3 minutes")
    assert.deepStrictEqual(leftBehind(world, others), [])
  })

/** Nothing is written on the host for so long by anybody, but Leases. */
export const writesNothing = (world: World, forSo: Duration.Input = "24 hours") =>
  Effect.gen(function* () {
    const written: Array<string> = []
    const stop = world.host.subscribe(({ type, kind, object }) => {
      const { namespace = "", name } = object.metadata
      if (kind.kind !== "Lease") written.push(`${type} ${kind.kind} ${namespace}/${name}`)
    })
    yield* Effect.sleep(forSo)
    stop()
    assert.deepStrictEqual([...new Set(written)], [])
  })

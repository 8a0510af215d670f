// What an operator sees of the world, and not as it is: a watch that has stopped while the world goes on, a start over a cache
// that is behind, pairs of changes of which it sees the later alone, and a reconnection to a server that is behind.
import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { ResourceKind } from "../../src/services/Kubernetes/Kubernetes.ts"
import { collectionPath } from "../../src/services/Kubernetes/Paths.ts"
import type { Workload } from "../twins/crash/Crash.ts"
import { differences, type EndState } from "../twins/crash/EndState.ts"
import { runSimulation } from "../twins/simulation/Simulation.ts"
import type { Operator } from "../twins/world/Operators.ts"
import { type CheckedWorld, makeChecked, writesNothing } from "./checked.ts"
import { syncedAgain } from "./crashes.ts"

/** Every kind the operator follows; that these are all is tested. */
export const watchedKinds: ReadonlyArray<ResourceKind> = [
  Kinds.PlatformInstance,
  Kinds.Namespace,
  Kinds.NetworkPolicy,
  Kinds.Secret,
  Kinds.StatefulSet,
  Kinds.Service,
  Kinds.ServiceAccount,
  Kinds.Role,
  Kinds.RoleBinding,
  Kinds.ClusterRole,
  Kinds.ClusterRoleBinding,
  Kinds.Pod,
  Kinds.Job,
  Kinds.ValidatingAdmissionPolicy,
  Kinds.ValidatingAdmissionPolicyBinding,
]

/** The kind of a request to watch; undefined for any other request. */
export const watchedBy = (what: string): ResourceKind | undefined => {
  const path = /^GET (\S+)\?\S*\bwatch=1/.exec(what)?.[1]
  return path === undefined ? undefined : watchedKinds.find((kind) => collectionPath(kind) === path)
}

/** Begins with the workload, and gives what ends it; `past` is a version from before the instance. */
type Begin = (
  world: CheckedWorld,
  kind: ResourceKind,
  operator: Operator,
  past: string,
) => Effect.Effect<void>

/** So long what is seen stays as it was. */
const lasting = "5 minutes"

export const views: Readonly<Record<string, Begin>> = {
  "a watch that stands still": Effect.fnUntraced(function* ({ host: { faults } }, kind) {
    faults.freezeCache(kind)
    yield* Effect.sleep(lasting)
    faults.thawCache(kind)
  }),
  "a start over a cache that stands still": Effect.fnUntraced(function* (
    { host: { faults } },
    kind,
    operator,
  ) {
    faults.freezeCache(kind)
    yield* Effect.sleep("3 seconds")
    yield* operator.kill("container")
    yield* Effect.sleep(lasting)
    faults.thawCache(kind)
  }),
  "a start over a cache from before the instance": Effect.fnUntraced(function* (
    { host: { faults } },
    kind,
    operator,
    past,
  ) {
    yield* Effect.sleep("1 second")
    faults.freezeCache(kind, past)
    yield* operator.kill("container")
    yield* Effect.sleep(lasting)
    faults.thawCache(kind)
  }),
  "a reconnection to a server that is behind": Effect.fnUntraced(function* (
    { host: { faults } },
    kind,
    _,
    past,
  ) {
    yield* Effect.sleep("1 second")
    faults.freezeCache(kind, past)
    faults.cutWatches(kind)
    yield* Effect.sleep(lasting)
    faults.thawCache(kind)
  }),
  "changes in pairs": Effect.fnUntraced(function* ({ host: { faults } }) {
    faults.mergeEvents(true)
    yield* Effect.sleep(lasting)
    faults.mergeEvents(false)
  }),
}

export interface Viewed {
  readonly end: EndState
  readonly broken: ReadonlyArray<string>
  readonly watched: ReadonlySet<ResourceKind>
}

/** Plays the workload while the operator sees the kind so; as it is, without a view. */
export const playViewed = (
  workload: Workload,
  seed: number,
  view?: { readonly kind: ResourceKind; readonly begin: Begin },
): Viewed =>
  runSimulation(
    Effect.gen(function* () {
      const world = yield* makeChecked(workload.world)
      const past = String(
        Math.max(1, Number(world.admin.list(Kinds.Namespace)[0]?.metadata.resourceVersion ?? 1)),
      )
      const watched = new Set<ResourceKind>()
      const operator = yield* world.operate({
        onCall: ({ what }) => {
          const kind = watchedBy(what)
          if (kind !== undefined) watched.add(kind)
        },
      })
      if (workload.prepare !== undefined) yield* workload.prepare(world)
      const seen = view === undefined ? Effect.sleep(lasting) : view.begin(world, view.kind, operator, past)
      const viewing = yield* Effect.forkScoped(seen, { startImmediately: true })
      yield* workload.run(world)
      yield* Fiber.join(viewing)
      // What was seen late may lead to one thing more.
      yield* Effect.sleep("30 minutes")
      yield* writesNothing(world, "2 hours")
      const end = world.end()
      return { end, broken: world.invariants.broken(), watched }
    }),
    { seed, stacks: false, maxSteps: 20_000_000 },
  ).result

/** What may be otherwise, and why that is right. */
const tolerated: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /^object host Namespace \S+: \+ "platform\.di-framework\.dev\/helm-writer": "\{[^{}]*\}",$/,
    "the mark of a helm whose end the operator has not lived to see stays until the next run of helm",
  ],
  [
    /^file \S*\/\.pulumi\/locks\/organization/,
    "an empty folder that the engine makes for its lock, and makes again",
  ],
  syncedAgain,
]

/** What has come otherwise than without that view. */
export const differencesOf = (undisturbed: Viewed, { end, broken }: Viewed): ReadonlyArray<string> => [
  ...differences(undisturbed.end, end).filter((each) => !tolerated.some(([pattern]) => pattern.test(each))),
  ...broken,
]

export const assertWatched = (played: ReadonlyArray<Viewed>): void => {
  const all = new Set(played.flatMap(({ watched }) => [...watched]))
  assert.deepStrictEqual(
    watchedKinds.filter((kind) => !all.has(kind)).map(({ kind }) => kind),
    [],
  )
}

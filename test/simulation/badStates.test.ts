// From every bad state a good spec leads to Ready, and a deletion to nothing: from each reason of the reference, reached in the
// world and found stored in the object when an operator starts.
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { FINALIZER } from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { note } from "../support/figures.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { key } from "../twins/world/World.ts"
import {
  allReasons,
  formatReason,
  has,
  type Reason,
  type Road,
  reachedBy,
  roads,
  storedStatus,
} from "./badStates.ts"
import { assertHeld, type CheckedWorld, gone, goneWithAll, makeChecked, patience, well } from "./checked.ts"
import { full } from "./crashes.ts"

const timeout = 24 * 3_600_000

/** All that lies at the operator's edge is in it with `FULL=1`, at twice the time; and what is Ready is deleted, too. */
const direct = !full

let states = 0
let passed = 0
const state = (run: () => void) => {
  run()
  passed += 1
}
afterAll(() => {
  console.info(`bad states: ${passed} of ${states}`)
  note({ suite: "bad states", plans: passed, states: { done: passed, of: states } })
})

const oneTenant = { platform: { tenants: [{ name: "acme" }], users: [] } }
const exits = ["a good spec leads to Ready", "a deletion leads to nothing"] as const
type Exit = (typeof exits)[number]

const rows = (all: ReadonlyArray<Reason>) => {
  const found = all.flatMap((reason) => exits.map((exit) => ({ name: formatReason(reason), reason, exit })))
  states += found.length
  return found
}

const leave = (exit: Exit) => exit === exits[0]

/** By a deletion that is asked for, or is to be tried from Ready. */
const ended = Effect.fnUntraced(function* (world: CheckedWorld, exit: Exit) {
  if (leave(exit) && !full) return
  if (leave(exit)) world.remove()
  yield* goneWithAll(world)
})

const store = (world: CheckedWorld, reason: Reason) =>
  world.invariants.byHand(() => {
    const { generation } = world.instance()?.metadata ?? {}
    const status = storedStatus(reason)
    world.admin.patch(
      Kinds.PlatformInstance,
      key,
      { type: "merge", patch: { status: { ...status, observedGeneration: generation } } },
      { subresource: "status" },
    )
    assert.isTrue(has(world, reason), formatReason(reason))
  })

describe("a state that is found stored, of an instance of which nothing is there yet", () => {
  // Of what was installed there is a state, or the next install is refused: those are below.
  const unproven = allReasons.filter(({ type, status }) => !(type === "Installed" && status === "True"))

  it.each(rows(unproven))("$name: $exit", { timeout }, ({ reason, exit }) =>
    state(() =>
      simulate(
        Effect.gen(function* () {
          const world = yield* makeChecked({ direct })
          world.apply()
          world.edit({ metadata: { finalizers: [FINALIZER] } })
          store(world, reason)
          if (!leave(exit)) world.remove()
          yield* world.operate()
          if (leave(exit)) {
            world.edit({ spec: oneTenant })
            yield* well(world)
          }
          yield* ended(world, exit)
          assertHeld(world)
        }),
        { seed: 1, stacks: false },
      ),
    ),
  )
})

describe("a state that is found stored, of an instance that is installed", () => {
  const proven = allReasons.filter(({ status }) => status === "True" || full)

  it.each(rows(proven))("$name: $exit", { timeout }, ({ reason, exit }) =>
    state(() =>
      simulate(
        Effect.gen(function* () {
          const world = yield* makeChecked({ direct })
          const operator = yield* world.operate()
          world.apply()
          yield* well(world)
          yield* operator.stop
          store(world, reason)
          if (!leave(exit)) world.remove()
          yield* world.operate()
          if (leave(exit)) {
            world.edit({ spec: oneTenant })
            yield* well(world)
          }
          yield* ended(world, exit)
          assertHeld(world)
        }),
        { seed: 1, stacks: false },
      ),
    ),
  )
})

describe("a state that is reached", () => {
  it("is each reason of the reference that is no good", () => {
    const missing = allReasons.filter(
      (reason) => reason.status === "False" && reachedBy(reason) === undefined,
    )
    assert.deepStrictEqual(missing.map(formatReason), [])
  })

  const found = roads.flatMap((road) =>
    exits.map((exit) => ({ name: formatReason(road.reason), road, exit })),
  )
  states += found.length

  const goodSpec = (world: CheckedWorld, { good, immutable }: Road) =>
    Effect.gen(function* () {
      if (immutable === true) {
        world.remove()
        yield* gone(world)
        world.apply()
        return
      }
      world.edit({ spec: good ?? oneTenant })
    })

  it.each(found)("$name: $exit", { timeout }, ({ road, exit }) =>
    state(() =>
      simulate(
        Effect.gen(function* () {
          const world = yield* makeChecked({ direct, ...road.world })
          road.first?.(world)
          yield* world.operate()
          const mend = yield* road.reach(world)
          const going = road.going === true
          if (going) {
            // A spec does not bring back what is going.
            if (leave(exit)) world.edit({ spec: oneTenant })
            yield* Effect.sleep("5 minutes")
            assert.isDefined(world.instance(), "it waits until the cause is gone")
            mend()
          } else if (leave(exit)) {
            mend()
            yield* goodSpec(world, road)
            yield* well(world)
            yield* until(() => !has(world, road.reason), patience, "the reason is gone")
          } else {
            world.remove()
          }
          if (going) yield* goneWithAll(world, road.leaves)
          // What is somebody else's stays.
          else if (!leave(exit) && road.first !== undefined) yield* gone(world)
          else yield* ended(world, exit)
          assertHeld(world)
        }),
        { seed: 1, stacks: false },
      ),
    ),
  )
})

// Traces of the whole operator in its world, over its deaths.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ANNOTATION_TRACE } from "../../src/schema/Names.ts"
import { rowOf } from "../../src/services/Telemetry/TraceTable.ts"
import { makeSpans, type Spans } from "../support/spans.ts"
import { runSimulation, until } from "../twins/simulation/Simulation.ts"
import { makeWorld, type World } from "../twins/world/World.ts"

const annotation = (world: World): string => world.instance()?.metadata.annotations?.[ANNOTATION_TRACE] ?? ""

/** A world in which an install has just begun, and the operator that has begun it. */
const installing = Effect.fnUntraced(function* (spans: Spans) {
  const world = yield* makeWorld({ spans })
  const operator = yield* world.startOperator()
  world.apply()
  yield* until(() => world.status()?.phase === "Installing", "5 minutes", "the install has begun")
  return { world, operator }
})

describe("a change over the operator's deaths", () => {
  it.each(["process", "container", "pod"] as const)(
    "is one trace with one root, though its %s dies on the way",
    { timeout: 600_000 },
    (death) => {
      const spans = makeSpans()
      runSimulation(
        Effect.gen(function* () {
          const { world, operator } = yield* installing(spans)
          const begun = annotation(world)
          yield* operator.kill(death)
          yield* until(() => world.isReady(), "10 minutes", "the instance is Ready")
          yield* Effect.sleep("10 seconds")
          assert.strictEqual(annotation(world), begun)
          const [root = assert.fail(), ...others] = spans.roots()
          assert.isEmpty(others)
          assert.include(begun, `00-${root.traceId}-${root.spanId}-01 1 `)
          assert.strictEqual(root.attributes["platforminstance.outcome"], "Ready")
          assert.isTrue(spans.all.every(({ traceId }) => traceId === root.traceId))
          assert.isEmpty(spans.all.filter(({ name }) => rowOf(name) === undefined))
        }),
        { seed: 7 },
      )
    },
  )

  // The end of a deletion is seen before or after the next pass begins, as the seed has it.
  it.each([1, 2, 6, 7, 9])(
    "that is handed on in order leaves no orphan; install, repair and deletion are three; seed %d",
    { timeout: 600_000 },
    (seed) => {
      const spans = makeSpans()
      runSimulation(
        Effect.gen(function* () {
          const { world, operator } = yield* installing(spans)
          yield* operator.stop
          yield* world.startOperator()
          yield* until(() => world.isReady(), "10 minutes", "the instance is Ready")
          yield* Effect.sleep("35 minutes")
          world.remove()
          yield* until(() => world.instance() === undefined, "10 minutes", "the instance is gone")
          yield* Effect.sleep("10 seconds")
          const roots = spans
            .roots()
            .map(({ name, attributes }) => [name, attributes["platforminstance.outcome"]])
          assert.deepStrictEqual(roots, [
            ["Instance.change", "Ready"],
            ["Instance.repair", "Ready"],
            ["Instance.change", "Deleted"],
          ])
          const [, repair] = spans.roots()
          const names = spans.inTrace(repair?.traceId ?? "").map(({ name }) => name)
          assert.isAtMost(names.length, 20, names.join(", "))
          assert.isEmpty(spans.orphans())
        }),
        { seed },
      )
    },
  )
})

// What becomes of an instance, as traces.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { formatChange, parseChange } from "../../../src/actors/instance/trace/annotation.ts"
import { ANNOTATION_TRACE } from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { rowOf } from "../../../src/services/Telemetry/TraceTable.ts"
import { makeSpans, type SeenSpan, type Spans } from "../../support/spans.ts"
import { key } from "../support/instances.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const start = Effect.fnUntraced(function* () {
  const world = yield* makeWorld()
  const spans = makeSpans()
  const operator = yield* spans.traced(world.startOperator())
  return { world, spans, operator }
})

const phase = (world: World) => Option.getOrUndefined(world.status())?.phase
const annotation = (world: World) =>
  world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_TRACE] ?? ""
const rootsNamed = (spans: Spans) => spans.roots().map(({ name }) => name)

/** The share of the root's time that work and waits fill. */
const coverage = (root: SeenSpan, spans: ReadonlyArray<SeenSpan>): number => {
  const parts = spans.filter(({ spanId }) => spanId !== root.spanId).toSorted((a, b) => a.from - b.from)
  let reached = root.from
  let covered = 0
  for (const { from, to } of parts) {
    covered += Math.max(0, Math.min(to, root.to) - Math.max(from, reached))
    reached = Math.max(reached, to)
  }
  return covered / (root.to - root.from)
}

describe("an install", () => {
  it.effect("is one trace, named, whole and covered, and nothing follows it at rest", () =>
    Effect.gen(function* () {
      const { world, spans } = yield* start()
      world.apply()
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(rootsNamed(spans), ["Instance.change"])
      const [root = assert.fail()] = spans.roots()
      assert.isTrue(spans.all.every(({ traceId }) => traceId === root.traceId))
      assert.isEmpty(spans.orphans())
      assert.isEmpty(spans.all.filter(({ name }) => rowOf(name) === undefined))
      assert.deepInclude(root.attributes, {
        "platforminstance.namespace": "team-a",
        "platforminstance.name": "one",
        "platforminstance.generation": 1,
        "platforminstance.outcome": "Ready",
      })
      assert.isAtLeast(coverage(root, spans.all), 0.95)
      assert.match(annotation(world), new RegExp(`^00-${root.traceId}-${root.spanId}-01 1 `))
      const seen = new Set(spans.all.map(({ name }) => name))
      for (const name of [
        "Instance.pass",
        "Instance.observe",
        "Instance.plan",
        "Instance.act",
        "Instance.report",
        "Target.step",
        "Target.helm",
        "Wait.controlPlane",
        "Target.probe",
        "Install.run",
      ])
        assert.include([...seen], name)
      const before = spans.all.length
      yield* pass(600, 5)
      assert.lengthOf(spans.all, before)
    }),
  )

  it.effect(
    "that is cut off by the operator's end is gone on with by the next process, in the same trace",
    () =>
      Effect.gen(function* () {
        const { world, spans, operator } = yield* start()
        world.apply()
        yield* pass(8)
        assert.notStrictEqual(phase(world), "Ready")
        yield* operator.stop
        assert.isEmpty(spans.roots())
        yield* spans.traced(world.startOperator())
        yield* pass(120)
        assert.strictEqual(phase(world), "Ready")
        assert.deepStrictEqual(rootsNamed(spans), ["Instance.change"])
        assert.isEmpty(spans.orphans())
        assert.lengthOf([...new Set(spans.all.map(({ traceId }) => traceId))], 1)
      }),
  )

  it.effect(
    "that fails says why on its root and its span; the retry is a trace of its own, linked to it",
    () =>
      Effect.gen(function* () {
        const { world, spans } = yield* start()
        world.pulumi.failures.push("Failed")
        world.apply()
        yield* pass(200)
        assert.strictEqual(phase(world), "Ready")
        assert.deepStrictEqual(rootsNamed(spans), ["Instance.change", "Instance.retry"])
        const [change = assert.fail(), retry = assert.fail()] = spans.roots()
        assert.strictEqual(change.code, 2)
        assert.deepInclude(change.attributes, {
          "error.type": "InstallFailed",
          "platforminstance.outcome": "Failed",
        })
        assert.include(change.message, "(version 6.0.22)")
        const [failed = assert.fail()] = spans.named("Install.run")
        assert.strictEqual(failed.attributes["error.type"], "InstallFailed")
        assert.strictEqual(failed.message, change.message)
        assert.deepStrictEqual(retry.links, [change.traceId])
        assert.strictEqual(retry.attributes["platforminstance.outcome"], "Ready")
        assert.isEmpty(spans.orphans())
      }),
  )
})

describe("after an install", () => {
  const ready = Effect.fnUntraced(function* () {
    const started = yield* start()
    started.world.apply()
    yield* pass(120)
    assert.strictEqual(phase(started.world), "Ready")
    started.spans.all.length = 0
    return started
  })

  it.effect("a repair without drift is a trace of at most 20 spans, linked to the change", () =>
    Effect.gen(function* () {
      const { world, spans } = yield* ready()
      yield* pass(2_000, 5)
      assert.deepStrictEqual(rootsNamed(spans), ["Instance.repair"])
      const [root = assert.fail()] = spans.roots()
      assert.deepStrictEqual(root.links, [annotation(world).split("-")[1] ?? ""])
      assert.isAtMost(spans.all.length, 20)
      assert.lengthOf(spans.named("Install.run"), 1)
      assert.isEmpty(spans.orphans())
    }),
  )

  it.effect("an edit is the next change, linked to the one before; the annotation names it", () =>
    Effect.gen(function* () {
      const { world, spans } = yield* ready()
      const before = annotation(world).split("-")[1] ?? ""
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(120)
      assert.deepStrictEqual(rootsNamed(spans), ["Instance.change"])
      const [root = assert.fail()] = spans.roots()
      assert.deepStrictEqual(root.links, [before])
      assert.strictEqual(root.attributes["platforminstance.generation"], 2)
      assert.match(annotation(world), new RegExp(`^00-${root.traceId}-.* 2 `))
      assert.isEmpty(spans.orphans())
    }),
  )

  it.effect("a Service that is replaced is a resync from the loss to its install", () =>
    Effect.gen(function* () {
      const { world, spans } = yield* ready()
      world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster" })
      yield* pass(200)
      assert.strictEqual(phase(world), "Ready")
      assert.isEmpty(spans.orphans())
      assert.deepStrictEqual(rootsNamed(spans), ["Instance.resync"])
      assert.lengthOf(
        spans
          .named("Install.run")
          .filter(({ attributes }) => attributes["platforminstance.reason"] === "Resync"),
        1,
      )
    }),
  )

  it.effect("a deletion is a change that ends with the instance", () =>
    Effect.gen(function* () {
      const { world, spans } = yield* ready()
      world.remove()
      yield* pass(200)
      assert.isUndefined(world.cluster.instance(key))
      assert.deepStrictEqual(rootsNamed(spans), ["Instance.change"])
      const [root = assert.fail()] = spans.roots()
      assert.strictEqual(root.attributes["platforminstance.outcome"], "Deleted")
      assert.isAtLeast(coverage(root, spans.all), 0.95)
      for (const name of ["Deletion.observe", "Deletion.step", "Deletion.uninstall"])
        assert.isNotEmpty(spans.named(name), name)
      assert.isEmpty(spans.orphans())
    }),
  )
})

describe("an instance made from a copy of one", () => {
  it.effect("is a change of its own, not a part of the other's", () =>
    Effect.gen(function* () {
      const { world, spans } = yield* start()
      world.apply()
      yield* pass(120)
      const copied = annotation(world)
      const [first = assert.fail()] = spans.roots()
      assert.include(copied, `00-${first.traceId}-${first.spanId}-01 1 `)
      const { spec } = world.cluster.instance(key) ?? assert.fail()
      world.remove()
      yield* pass(200)
      assert.isUndefined(world.cluster.instance(key))
      spans.all.length = 0
      world.cluster.apply(Kinds.PlatformInstance, {
        apiVersion: "platform.di-framework.dev/v1alpha1",
        kind: "PlatformInstance",
        metadata: { ...key, annotations: { [ANNOTATION_TRACE]: copied } },
        spec,
      })
      yield* pass(200)
      assert.strictEqual(phase(world), "Ready")
      const [root = assert.fail(), ...others] = spans.roots()
      assert.isEmpty(others)
      assert.notStrictEqual(root.traceId, first.traceId)
      assert.deepStrictEqual(root.links, [])
      assert.include(annotation(world), root.traceId)
    }),
  )
})

describe("the annotation", () => {
  const change = {
    parent: { traceId: "a".repeat(32), spanId: "b".repeat(16), sampled: true },
    generation: 2,
    since: 0,
  }

  it("is believed on the instance it was written on, and so is that of an earlier release, without a UID", () => {
    const text = formatChange(change, "uid-1")
    assert.deepStrictEqual(parseChange(text, "uid-1"), Option.some(change))
    assert.deepStrictEqual(parseChange(text.replace(" uid-1", ""), "uid-1"), Option.some(change))
    assert.deepStrictEqual(parseChange(text, "uid-2"), Option.none())
    for (const odd of [undefined, "", "x 1 y", text.replace(" 2 ", " -2 "), text.replace("1970", "then")])
      assert.deepStrictEqual(parseChange(odd, "uid-1"), Option.none(), odd)
  })
})

describe("without tracing", () => {
  it.effect("nothing is written on an instance", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
      assert.strictEqual(annotation(world), "")
    }),
  )
})

import { assert, describe, it } from "@effect/vitest"
import { tracing } from "@opentelemetry/sdk-node"
import { Data, Effect, Option } from "effect"
import { redaction } from "../../../src/services/Pulumi/Redact.ts"
import { mostSpans } from "../../../src/services/Telemetry/TracedSpans.ts"
import { formatTraceParent, keepPass, parseTraceParent } from "../../../src/services/Telemetry/Tracing.ts"
import { makeSpans, type SpanOptions } from "../../support/spans.ts"

const opened = (options?: SpanOptions) => {
  const spans = makeSpans(options)
  const trace = spans.service.open(spans.service.newTrace())
  const within = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    spans.traced(Effect.withParentSpan(effect, trace.anchor))
  const end = () => trace.end("Instance.change", { from: 0, to: 1, links: [] })
  return { spans, trace, within, end }
}

class Refused extends Data.TaggedError("Refused")<{ readonly reason: string; readonly message: string }> {}

const names = (spans: ReturnType<typeof makeSpans>) => spans.all.map(({ name }) => name)

describe("a span", () => {
  it.effect("that no table names is transparent: what is below hangs on what is above", () =>
    Effect.gen(function* () {
      const { spans, within, end } = opened()
      yield* within(
        Effect.void.pipe(
          Effect.withSpan("k8s.get"),
          Effect.withSpan("StateStore.readRecord"),
          Effect.withSpan("Install.run"),
        ),
      )
      end()
      assert.deepStrictEqual(names(spans), ["k8s.get", "Install.run", "Instance.change"])
      assert.strictEqual(spans.all[0]?.parentSpanId, spans.all[1]?.spanId)
      assert.isEmpty(spans.orphans())
    }),
  )

  it.effect("outside of a trace is none, and neither is one that begins anew", () =>
    Effect.gen(function* () {
      const { spans, within } = opened()
      yield* spans.traced(Effect.withSpan(Effect.void, "k8s.get"))
      yield* within(Effect.withSpan(Effect.void, "k8s.list", { root: true }))
      assert.isEmpty(spans.all)
    }),
  )

  it.effect(
    "that fails says its reason and words, redacted, and no stack; a defect says nothing of itself",
    () =>
      Effect.gen(function* () {
        const { spans, within } = opened({ redact: redaction(["planted"]) })
        yield* within(
          Effect.exit(
            Effect.withSpan(
              Effect.fail(new Refused({ reason: "Forbidden", message: "no planted" })),
              "k8s.get",
            ),
          ),
        )
        yield* within(Effect.exit(Effect.withSpan(Effect.die(new Error("planted")), "k8s.list")))
        yield* within(Effect.exit(Effect.withSpan(Effect.interrupt, "k8s.raw")))
        const [failed, died, interrupted] = spans.all
        assert.deepStrictEqual(failed?.attributes, { "error.type": "Forbidden" })
        assert.strictEqual(failed?.code, 2)
        assert.strictEqual(failed?.message, "no [redacted]")
        assert.deepStrictEqual(died?.attributes, { "error.type": "Defect" })
        assert.notInclude(JSON.stringify(died), "planted")
        assert.deepStrictEqual(interrupted?.attributes, { "platforminstance.interrupted": true })
        assert.notStrictEqual(interrupted?.code, 2)
      }),
  )

  it.effect("has the attributes of the table alone, redacted and cut", () =>
    Effect.gen(function* () {
      const { spans, within } = opened({ redact: redaction(["planted"]) })
      yield* within(
        Effect.withSpan(Effect.void, "k8s.get", {
          attributes: {
            "http.response.status_code": 200,
            "platforminstance.object": `planted ${"word ".repeat(1_000)}`,
            body: "planted",
          },
        }),
      )
      const [span = assert.fail()] = spans.all
      assert.sameMembers(Object.keys(span.attributes), [
        "http.response.status_code",
        "platforminstance.object",
      ])
      assert.strictEqual(String(span.attributes["platforminstance.object"]).length, 1_024)
      assert.notInclude(JSON.stringify(span), "planted")
    }),
  )

  it.effect("of a trace that was not sampled is none, whatever is below it", () =>
    Effect.gen(function* () {
      const { spans, trace, within, end } = opened({ sampler: new tracing.AlwaysOffSampler() })
      assert.isFalse(trace.parent.sampled)
      yield* within(Effect.withSpan(Effect.withSpan(Effect.void, "k8s.get"), "Install.run"))
      trace.waited("Wait.api", { from: 0, to: 1 })
      end()
      assert.isEmpty(spans.all)
    }),
  )
})

describe("a trace", () => {
  it.effect(
    "has 2,000 spans at most, its root among them, which counts the rest; none is without its parent",
    () =>
      Effect.gen(function* () {
        const { spans, within, end } = opened()
        const one = Effect.withSpan(Effect.withSpan(Effect.void, "k8s.get"), "Install.run")
        yield* within(Effect.repeat(one, { times: mostSpans }))
        end()
        assert.lengthOf(spans.all, mostSpans)
        const [root] = spans.roots()
        assert.strictEqual(
          root?.attributes["platforminstance.dropped"],
          2 * (mostSpans + 1) - (mostSpans - 1),
        )
        assert.isEmpty(spans.orphans())
      }),
  )

  it.effect("leaves out detail while it is brief", () =>
    Effect.gen(function* () {
      const { spans, trace, within } = opened()
      trace.beBrief(true)
      yield* within(Effect.withSpan(Effect.withSpan(Effect.void, "k8s.patch"), "Install.prepare"))
      assert.deepStrictEqual(names(spans), ["k8s.patch"])
    }),
  )
})

describe("a pass", () => {
  const looked = Effect.void.pipe(Effect.withSpan("k8s.get"), Effect.withSpan("Instance.observe"))

  it.effect("that only looks is not told, and costs the trace none of its spans", () =>
    Effect.gen(function* () {
      const { spans, within, end } = opened()
      yield* within(Effect.repeat(Effect.withSpan(looked, "Instance.pass"), { times: 3 * mostSpans }))
      end()
      assert.deepStrictEqual(names(spans), ["Instance.change"])
      assert.isUndefined(spans.all[0]?.attributes["platforminstance.dropped"])
    }),
  )

  it.effect("is told whole when something in it changes the world, fails, or is told to be kept", () =>
    Effect.gen(function* () {
      const whole = ["k8s.get", "Instance.observe"]
      for (const [deed, rest] of [
        [Effect.withSpan(Effect.void, "k8s.patch"), ["k8s.patch"]],
        [Effect.exit(Effect.withSpan(Effect.fail("no"), "k8s.get")), ["k8s.get"]],
        [keepPass, []],
      ] as const) {
        const { spans, within } = opened()
        yield* within(Effect.withSpan(Effect.andThen(looked, deed), "Instance.pass"))
        assert.deepStrictEqual(names(spans), [...whole, ...rest, "Instance.pass"])
      }
    }),
  )
})

describe("a pass of very many spans", () => {
  const many = Effect.withSpan(Effect.void, "k8s.get").pipe(
    Effect.repeat({ times: 499 }),
    Effect.withSpan("Instance.observe"),
  )

  it.effect("leaves out the last ones, and none without its parent", () =>
    Effect.gen(function* () {
      const { spans, within, end } = opened()
      const changes = Effect.withSpan(Effect.void, "k8s.patch").pipe(Effect.withSpan("Instance.act"))
      yield* within(Effect.withSpan(Effect.andThen(many, changes), "Instance.pass"))
      end()
      assert.isEmpty(spans.orphans())
      for (const name of ["Instance.observe", "Instance.act", "k8s.patch"] as const)
        assert.lengthOf(spans.named(name), 1, name)
      assert.isAtLeast(spans.named("k8s.get").length, 100)
      assert.strictEqual(
        spans.all.at(-1)?.attributes["platforminstance.dropped"],
        500 - spans.named("k8s.get").length,
      )
    }),
  )

  it.effect("costs the trace none of its spans when it is not told", () =>
    Effect.gen(function* () {
      const { spans, within, end } = opened()
      yield* within(Effect.repeat(Effect.withSpan(many, "Instance.pass"), { times: 19 }))
      end()
      assert.deepStrictEqual(names(spans), ["Instance.change"])
      assert.isUndefined(spans.all[0]?.attributes["platforminstance.dropped"])
    }),
  )
})

describe("a traceparent", () => {
  it("is read as it was written, and nothing else is", () => {
    const parent = { traceId: "a".repeat(32), spanId: "b".repeat(16), sampled: true }
    assert.deepStrictEqual(parseTraceParent(formatTraceParent(parent)), Option.some(parent))
    for (const text of [
      "",
      "00-x-y-01",
      `00-${"0".repeat(32)}-${"b".repeat(16)}-01`,
      `${formatTraceParent(parent)} `,
    ])
      assert.deepStrictEqual(parseTraceParent(text), Option.none(), text)
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { crd } from "../../../src/schema/Crd.ts"
import { CrdCheck, crdProblem } from "../../../src/services/Health/CrdCheck.ts"
import { KubeError, type KubeObject, Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { recording } from "./Logs.ts"

const NAME = "platforminstances.platform.di-framework.dev"
const metadata = { name: NAME, uid: "u", resourceVersion: "1" }
const current: KubeObject = { ...crd, metadata }

/** The definition without these fields, as an older release had it. */
const without = (...fields: ReadonlyArray<string>): KubeObject => ({
  ...current,
  spec: JSON.parse(JSON.stringify(crd.spec, (key, value) => (fields.includes(key) ? undefined : value))),
})

const unreachable = new KubeError({
  code: 0,
  reason: "Transport",
  request: `GET customresourcedefinitions/${NAME}`,
  message: "connect ECONNREFUSED 127.0.0.1:6443",
})

type Answer = Effect.Effect<Option.Option<KubeObject>, KubeError>

/** A cluster whose answer the test sets, and how often it was asked. */
const checked = Effect.fnUntraced(function* (first: Answer) {
  let answer = first
  let asked = 0
  const kubernetes = Layer.mock(Kubernetes, {
    get: (kind, ref) => {
      assert.deepStrictEqual([kind.plural, ref], ["customresourcedefinitions", { name: NAME }])
      asked += 1
      return answer
    },
  })
  const context = yield* Layer.build(CrdCheck.layer.pipe(Layer.provide(kubernetes)))
  const { problem } = Context.get(context, CrdCheck)
  return {
    problem: Effect.map(problem, Option.getOrUndefined),
    answer: (next: Answer) => {
      answer = next
    },
    asked: () => asked,
  }
})

describe("the definition", () => {
  it("that is current is no problem, one that is newer neither", () => {
    assert.deepStrictEqual(crdProblem(Option.some(current)), Option.none())
    const newer = JSON.parse(
      JSON.stringify(current).replaceAll('"resyncStarted":', '"more":{"type":"string"},"resyncStarted":'),
    )
    assert.deepStrictEqual(crdProblem(Option.some(newer)), Option.none())
  })

  it("that is missing, and fields that are, are named with the way out", () => {
    assert.deepStrictEqual(
      crdProblem(Option.none()),
      Option.some(`the CRD ${NAME} is not installed; install it with the chart`),
    )
    assert.deepStrictEqual(
      crdProblem(Option.some(without("resyncStarted", "lastRepair"))),
      Option.some(
        `the CRD ${NAME} lacks status.lastRepair, status.target.resyncStarted; upgrade it with the chart`,
      ),
    )
  })
})

describe("the check", () => {
  it.effect("looks by itself at the start, and then at most every ten seconds", () =>
    Effect.gen(function* () {
      const check = yield* checked(Effect.succeedSome(current))
      yield* TestClock.adjust(0)
      assert.strictEqual(check.asked(), 1)
      assert.strictEqual(yield* check.problem, undefined)
      yield* TestClock.adjust("9 seconds")
      yield* check.problem
      assert.strictEqual(check.asked(), 1)
      yield* TestClock.adjust("1 second")
      yield* Effect.all([check.problem, check.problem, check.problem], { concurrency: "unbounded" })
      assert.strictEqual(check.asked(), 2)
    }),
  )

  it.effect("sees the definition come, and go again", () =>
    Effect.gen(function* () {
      const check = yield* checked(Effect.succeedNone)
      assert.include(yield* check.problem, "is not installed")
      check.answer(Effect.succeedSome(without("resyncStarted")))
      yield* TestClock.adjust("10 seconds")
      assert.include(yield* check.problem, "lacks status.target.resyncStarted")
      check.answer(Effect.succeedSome(current))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* check.problem, undefined)
      check.answer(Effect.succeedNone)
      yield* TestClock.adjust("10 seconds")
      assert.include(yield* check.problem, "is not installed")
    }),
  )

  it.effect("keeps what it knew while the API does not answer", () =>
    Effect.gen(function* () {
      const check = yield* checked(Effect.succeedSome(current))
      assert.strictEqual(yield* check.problem, undefined)
      check.answer(Effect.fail(unreachable))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* check.problem, undefined)
      assert.strictEqual(check.asked(), 2)
    }),
  )

  it.effect("says why the definition could not be read yet", () =>
    Effect.gen(function* () {
      const check = yield* checked(Effect.fail(unreachable))
      assert.strictEqual(yield* check.problem, `the CRD ${NAME} cannot be read: ${unreachable.message}`)
      check.answer(
        Effect.fail(new KubeError({ ...unreachable, code: 403, reason: "Forbidden", message: "no" })),
      )
      yield* TestClock.adjust("10 seconds")
      assert.include(yield* check.problem, "cannot be read: no; the chart's ClusterRole grants it")
    }),
  )

  it.effect("answers within two seconds, whatever the API server does, and asks only once meanwhile", () =>
    Effect.gen(function* () {
      const check = yield* checked(Effect.never)
      for (const _ of [1, 2]) {
        const asking = yield* Effect.forkChild(check.problem)
        yield* TestClock.adjust("2 seconds")
        assert.include(yield* Fiber.join(asking), "has not been read yet")
      }
      assert.strictEqual(check.asked(), 1)
    }),
  )

  it.effect("says in the log what changed, and that once", () =>
    recording((lines) =>
      Effect.gen(function* () {
        const check = yield* checked(Effect.succeedSome(without("resyncStarted")))
        for (const _ of [1, 2, 3]) {
          yield* check.problem
          yield* TestClock.adjust("10 seconds")
        }
        assert.deepStrictEqual(
          lines.map(({ level, annotations }) => [level, annotations.problem]),
          [["WARN", `the CRD ${NAME} lacks status.target.resyncStarted; upgrade it with the chart`]],
        )
        check.answer(Effect.succeedSome(current))
        yield* check.problem
        assert.deepStrictEqual(lines.at(-1), {
          level: "INFO",
          message: "the CRD has every field that this version needs",
          annotations: {},
        })
      }),
    ),
  )
})

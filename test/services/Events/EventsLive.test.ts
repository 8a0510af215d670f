import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Predicate } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import { utf8Bytes } from "../../../src/schema/Text.ts"
import { Events, type OperatorEvent } from "../../../src/services/Events/Events.ts"
import { layer } from "../../../src/services/Events/EventsLive.ts"
import { layerFrom } from "../../../src/services/Kubernetes/KubernetesLive.ts"
import * as FakeApi from "../Kubernetes/FakeApi.ts"
import { configMap } from "../Kubernetes/Objects.ts"

const failed: OperatorEvent = {
  type: "Warning",
  reason: "InstallFailed",
  action: "Install",
  note: "npm is away",
}
const regarding = configMap("one", "7")

/** Events over HTTP into a server that keeps them, by `<namespace>/<name>`. */
const emitting = Effect.gen(function* () {
  const api = yield* FakeApi.makeFakeApi()
  const stored = new Map<string, Record<string, unknown>>()
  const reply = (event: Record<string, unknown>): FakeApi.Answer => {
    const metadata = Object.assign({ uid: "u", resourceVersion: "1" }, event.metadata)
    return FakeApi.json({ ...event, metadata })
  }
  const keep: FakeApi.Answer = (response, request) => {
    const [, namespace, name] = /\/namespaces\/([^/]+)\/events(?:\/(.+))?$/.exec(request.url.pathname) ?? []
    const body = JSON.parse(request.body)
    const key = `${namespace}/${name ?? body.metadata.name}`
    const before = stored.get(key)
    if (request.method === "PATCH" && before === undefined) {
      FakeApi.status(404, "NotFound", "no such event")(response, request)
    } else {
      stored.set(key, { ...before, ...body })
      reply(stored.get(key) ?? {})(response, request)
    }
  }
  api.answer(keep)
  const kubernetes = layerFrom(FakeApi.load(FakeApi.kubeconfig(api.server)))
  const context = yield* Layer.build(
    layer({ reportingInstance: "operator-0" }).pipe(Layer.provide(kubernetes)),
  )
  return { api, stored, keep, emit: Context.get(context, Events).emit, all: () => [...stored.values()] }
})

describe("an event", () => {
  it.effect("has a note of one line, whatever a program says", () =>
    Effect.gen(function* () {
      const { all, emit } = yield* emitting
      yield* emit(regarding, { ...failed, note: "up: npm says\n  it is away\r\n\tby far\n" })
      assert.deepStrictEqual(
        all().map(({ note }) => note),
        ["up: npm says it is away by far"],
      )
    }),
  )

  it.effect("tells who did what to which object", () =>
    Effect.gen(function* () {
      const { emit, stored } = yield* emitting
      yield* TestClock.adjust("90 seconds")
      yield* emit(regarding, failed)
      const [[key, event] = []] = [...stored]
      assert.match(key ?? "", /^ns\/one\.[0-9a-f]{12}$/)
      assert.deepInclude(event, {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        eventTime: "1970-01-01T00:01:30.000000Z",
        reportingController: "platform.di-framework.dev/platform-operator",
        reportingInstance: "operator-0",
        type: "Warning",
        reason: "InstallFailed",
        action: "Install",
        note: "npm is away",
        regarding: {
          apiVersion: "v1",
          kind: "ConfigMap",
          namespace: "ns",
          name: "one",
          uid: "uid-one",
          resourceVersion: "7",
        },
      })
    }),
  )

  it.effect("about a cluster-scoped object is in the namespace default", () =>
    Effect.gen(function* () {
      const { emit, stored } = yield* emitting
      const { namespace: _, ...metadata } = regarding.metadata
      yield* emit({ ...regarding, kind: "Namespace", metadata }, failed)
      assert.match([...stored.keys()].join(), /^default\/one\./)
    }),
  )

  it.effect("has a name of at most 253 characters, however long the object's is", () =>
    Effect.gen(function* () {
      const { emit, stored } = yield* emitting
      yield* emit(configMap("n".repeat(253), "1"), failed)
      assert.strictEqual([...stored.keys()].join().length, "ns/".length + 253)
    }),
  )

  it.effect("has a note of at most 1,024 bytes, cut at a word", () =>
    Effect.gen(function* () {
      const { emit, all } = yield* emitting
      yield* emit(regarding, { ...failed, note: "größer ".repeat(200) })
      const note = String(all()[0]?.note)
      assert.isAtMost(utf8Bytes(note), 1024)
      assert.match(note, /größer…$/)
    }),
  )
})

describe("the same event again", () => {
  it.effect("within a day of the last one is counted, not written anew", () =>
    Effect.gen(function* () {
      const { emit, all } = yield* emitting
      yield* emit(regarding, failed)
      yield* TestClock.adjust("23 hours")
      yield* emit(regarding, failed)
      yield* TestClock.adjust("23 hours")
      yield* emit(regarding, failed)
      assert.strictEqual(all().length, 1)
      assert.deepStrictEqual(all()[0]?.series, {
        count: 3,
        lastObservedTime: "1970-01-02T22:00:00.000000Z",
      })
    }),
  )

  it.effect("later begins a new series", () =>
    Effect.gen(function* () {
      const { emit, all } = yield* emitting
      yield* emit(regarding, failed)
      yield* TestClock.adjust("25 hours")
      yield* emit(regarding, failed)
      assert.deepStrictEqual(
        all().map((event) => event.series),
        [undefined, undefined],
      )
    }),
  )

  it.effect("is written anew when the server has dropped the first one", () =>
    Effect.gen(function* () {
      const { emit, stored, all } = yield* emitting
      yield* emit(regarding, failed)
      stored.clear()
      yield* emit(regarding, failed)
      yield* emit(regarding, failed)
      assert.strictEqual(all().length, 1)
      assert.deepInclude(all()[0]?.series, { count: 2 })
    }),
  )

  for (const [name, again] of [
    ["another note", { event: { ...failed, note: "npm is back" }, object: regarding }],
    ["another reason", { event: { ...failed, reason: "TargetError" }, object: regarding }],
    ["another type", { event: { ...failed, type: "Normal" }, object: regarding }],
    ["another life of the object", { event: failed, object: configMap("one", "9", { uid: "second" }) }],
  ] as const) {
    it.effect(`is not the same with ${name}`, () =>
      Effect.gen(function* () {
        const { emit, all } = yield* emitting
        yield* emit(regarding, failed)
        yield* emit(again.object, again.event)
        assert.strictEqual(all().length, 2)
      }),
    )
  }
})

describe("F51 a failure that goes on", () => {
  /** Tries again for a day, with the longest pause there is, and says what `tell` gives. */
  const aDay = Effect.fnUntraced(function* (tell: (attempt: number) => OperatorEvent, object = regarding) {
    const { emit, all } = yield* emitting
    for (let attempt = 0; attempt * 1_000 < 86_400; attempt++) {
      yield* emit(object, tell(attempt))
      yield* TestClock.adjust("1000 seconds")
    }
    return all()
  })
  const occurrences = (events: ReadonlyArray<Record<string, unknown>>) =>
    events.reduce(
      (sum, { series }) => sum + (Predicate.hasProperty(series, "count") ? Number(series.count) : 1),
      0,
    )

  it.effect("is one Event, counted", () =>
    Effect.gen(function* () {
      const events = yield* aDay(() => failed)
      assert.lengthOf(events, 1)
      assert.strictEqual(occurrences(events), 87)
    }),
  )

  it.effect("is ten at most, though it says something else each time, for four reasons by turns", () =>
    Effect.gen(function* () {
      const reasons = [
        "InstallFailed",
        "TargetError",
        "TenantAuthSecretUnavailable",
        "InternalError",
      ] as const
      const events = yield* aDay((attempt) => ({
        ...failed,
        reason: reasons[attempt % reasons.length] ?? assert.fail(),
        note: `attempt ${attempt}`,
      }))
      assert.isAtMost(events.length, 10)
      assert.strictEqual(occurrences(events), 87)
      for (const [attempt, reason] of reasons.entries()) {
        // The first of each is there, in its own words, since it happened.
        const first = events.find((event) => event.reason === reason)
        assert.deepInclude(first, { note: `attempt ${attempt}` })
      }
    }),
  )

  it.effect("of which new words are told again at once when the object was edited", () =>
    Effect.gen(function* () {
      const { emit, all } = yield* emitting
      const edited = (generation: number) => ({
        ...regarding,
        metadata: { ...regarding.metadata, generation },
      })
      yield* emit(edited(1), { ...failed, note: "one" })
      yield* emit(edited(1), { ...failed, note: "two" })
      yield* emit(edited(1), { ...failed, note: "three" })
      assert.deepStrictEqual(
        all().map(({ note }) => note),
        ["one", "two"],
      )
      yield* emit(edited(2), { ...failed, note: "four" })
      assert.deepStrictEqual(
        all().map(({ note }) => note),
        ["one", "two", "four"],
      )
    }),
  )

  it.effect(
    "holds back nothing that follows what a person has written, and does not write that it does so",
    () =>
      Effect.gen(function* () {
        const { emit, all } = yield* emitting
        for (const note of ["paused", "protect", "fresh-start", "paused"]) {
          yield* emit(regarding, { ...failed, note, paced: false })
        }
        assert.deepStrictEqual(
          all().map(({ note }) => note),
          ["paused", "protect", "fresh-start"],
        )
        assert.isFalse(all().some((event) => "paced" in event))
      }),
  )

  it.effect("holds back nothing that went well", () =>
    Effect.gen(function* () {
      const { emit, all } = yield* emitting
      const repaired = { ...failed, type: "Normal", reason: "Repaired" } as const
      for (let each = 0; each < 5; each++) yield* emit(regarding, { ...repaired, note: `Secret ${each}` })
      assert.lengthOf(all(), 5)
    }),
  )
})

describe("an event that cannot be written", () => {
  it.effect("is logged and fails nobody; the next one is written", () =>
    Effect.gen(function* () {
      const { api, keep, emit, all } = yield* emitting
      api.answer(FakeApi.status(403, "Forbidden", "not in this namespace"))
      yield* emit(regarding, failed)
      assert.include(JSON.stringify(yield* TestConsole.logLines), "event not written")
      api.answer(keep)
      yield* emit(regarding, failed)
      assert.strictEqual(all().length, 1)
    }),
  )

  it.effect("holds its emitter up for five seconds at most", () =>
    Effect.gen(function* () {
      const { api, emit } = yield* emitting
      api.answer(FakeApi.hang)
      const fiber = yield* Effect.forkChild(emit(regarding, failed))
      yield* api.arrived(1)
      yield* TestClock.adjust("5 seconds")
      assert.isDefined(fiber.pollUnsafe())
    }),
  )
})

describe("an event about an object in a namespace that ends", () => {
  const refusal = FakeApi.status(
    403,
    "Forbidden",
    'events.events.k8s.io "x" is forbidden: unable to create new content in namespace ns because it is being terminated',
  )
  const requests = (api: { readonly requests: ReadonlyArray<FakeApi.Request> }) =>
    api.requests.map(({ method }) => method)

  it.effect("is not written again after the server has refused one", () =>
    Effect.gen(function* () {
      const { api, emit } = yield* emitting
      api.answer(refusal)
      yield* emit(regarding, failed)
      yield* emit(regarding, { ...failed, reason: "TargetError" })
      assert.deepStrictEqual(requests(api), ["POST"])
    }),
  )

  it.effect("is not written when it tells of such a refusal itself", () =>
    Effect.gen(function* () {
      const { api, emit } = yield* emitting
      const note =
        "store kubeconfig: unable to create new content in namespace ns because it is being terminated"
      yield* emit(regarding, { ...failed, note })
      assert.deepStrictEqual(requests(api), [])
    }),
  )

  it.effect("is written for another object, and for one of that name that comes after it", () =>
    Effect.gen(function* () {
      const { api, emit, keep, all } = yield* emitting
      api.answer(refusal)
      yield* emit(regarding, failed)
      api.answer(keep)
      yield* emit({ ...regarding, metadata: { ...regarding.metadata, uid: "successor" } }, failed)
      assert.lengthOf(all(), 1)
    }),
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Queue, Stream } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import { type KubeObject, Kubernetes, type WatchEvent } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { makeStore, type StoreChange } from "../../../src/services/Kubernetes/Store.ts"
import { configMap, kind } from "./Objects.ts"

const settle = TestClock.adjust(0)

const brief = (change: StoreChange): string =>
  change._tag === "Deleted"
    ? `- ${change.object.metadata.name} ${change.object.metadata.uid}`
    : `${Option.isSome(change.previous) ? "~" : "+"} ${change.object.metadata.name} ${change.object.metadata.resourceVersion}`

const names = (objects: ReadonlyArray<KubeObject>) => objects.map((object) => object.metadata.name)

/** A store whose list-watch the test plays. */
const make = Effect.gen(function* () {
  const events = yield* Queue.unbounded<WatchEvent>()
  const store = yield* makeStore(kind).pipe(
    Effect.provide(Layer.mock(Kubernetes, { listWatch: () => Stream.fromQueue(events) })),
  )
  const changes: Array<string> = []
  const follow = store.changes.pipe(
    Stream.runForEach((change) => Effect.sync(() => changes.push(brief(change)))),
    Effect.forkScoped,
  )
  const tell = (...given: ReadonlyArray<WatchEvent>) => Effect.andThen(Queue.offerAll(events, given), settle)
  return { store, changes, follow, tell, events }
})

const snapshot = (...objects: ReadonlyArray<KubeObject>): WatchEvent => ({ _tag: "Snapshot", objects })
const upserted = (object: KubeObject): WatchEvent => ({ _tag: "Upserted", object })
const deleted = (object: KubeObject): WatchEvent => ({ _tag: "Deleted", object })

describe("a store", () => {
  it.effect("is synced with the first complete list, even an empty one", () =>
    Effect.gen(function* () {
      const { store, tell } = yield* make
      const waiting = yield* Effect.forkChild(store.synced)
      yield* settle
      assert.isUndefined(waiting.pollUnsafe())
      yield* tell(snapshot())
      assert.isDefined(waiting.pollUnsafe())
    }),
  )

  it.effect("finds objects by name and by namespace", () =>
    Effect.gen(function* () {
      const { store, tell } = yield* make
      const elsewhere = {
        ...configMap("b", "1"),
        metadata: { ...configMap("b", "1").metadata, namespace: "other" },
      }
      yield* tell(snapshot(configMap("a", "1"), elsewhere), upserted(configMap("c", "2")))
      assert.deepStrictEqual(
        yield* store.get({ namespace: "ns", name: "a" }),
        Option.some(configMap("a", "1")),
      )
      assert.deepStrictEqual(yield* store.get({ namespace: "ns", name: "b" }), Option.none())
      assert.deepStrictEqual(names(yield* store.byNamespace("ns")), ["a", "c"])
      assert.deepStrictEqual(names(yield* store.byNamespace("nowhere")), [])
      assert.deepStrictEqual(names(yield* store.list), ["a", "c", "b"])
    }),
  )

  it.effect("tells whoever begins to follow what is there, then every change in order", () =>
    Effect.gen(function* () {
      const { changes, follow, tell } = yield* make
      yield* tell(snapshot(configMap("a", "1"), configMap("b", "1")))
      yield* follow
      yield* settle
      yield* tell(upserted(configMap("a", "2")), deleted(configMap("b", "3")), upserted(configMap("c", "4")))
      assert.deepStrictEqual(changes, ["+ a 1", "+ b 1", "~ a 2", "- b uid-b", "+ c 4"])
    }),
  )

  it.effect("tells of a list only what is different, and what is gone", () =>
    Effect.gen(function* () {
      const { changes, follow, tell } = yield* make
      yield* follow
      yield* settle
      yield* tell(snapshot(configMap("a", "1"), configMap("b", "1"), configMap("c", "1")))
      changes.length = 0
      yield* tell(snapshot(configMap("a", "1"), configMap("c", "9")))
      assert.deepStrictEqual(changes, ["- b uid-b", "~ c 9"])
    }),
  )

  it.effect("tells a second life as an end and a beginning, and is not ended by the first one's end", () =>
    Effect.gen(function* () {
      const { store, changes, follow, tell } = yield* make
      yield* follow
      yield* settle
      yield* tell(snapshot(configMap("a", "1")), upserted(configMap("a", "2", { uid: "second" })))
      yield* tell(deleted(configMap("a", "3")))
      assert.deepStrictEqual(changes, ["+ a 1", "- a uid-a", "+ a 2"])
      assert.isTrue(Option.isSome(yield* store.get({ namespace: "ns", name: "a" })))
    }),
  )

  it.effect("lets a reader wait for a write of his own", () =>
    Effect.gen(function* () {
      const { store, tell } = yield* make
      yield* tell(snapshot(configMap("a", "1")))
      yield* store.wrote(configMap("a", "2"))
      const waiting = yield* Effect.forkChild(store.settled({ namespace: "ns", name: "a" }))
      yield* settle
      assert.isUndefined(waiting.pollUnsafe())
      yield* tell(upserted(configMap("a", "2")))
      assert.isDefined(waiting.pollUnsafe())
    }),
  )

  it.effect("survives a defect of its list-watch, and says so", () =>
    Effect.gen(function* () {
      let starts = 0
      const store = yield* makeStore(kind).pipe(
        Effect.provide(
          Layer.mock(Kubernetes, {
            listWatch: () =>
              Stream.suspend(() =>
                ++starts === 1
                  ? Stream.die("boom")
                  : Stream.concat(Stream.make(snapshot(configMap("a", "1"))), Stream.never),
              ),
          }),
        ),
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(names(yield* store.list), ["a"])
      assert.include(JSON.stringify(yield* TestConsole.logLines), "list-watch crashed")
    }),
  )
})

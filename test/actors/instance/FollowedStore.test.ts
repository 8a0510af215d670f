import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeFollowedStore } from "../../../src/actors/instance/FollowedStore.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import {
  type KubeObject,
  Kubernetes,
  type ListOptions,
  type ResourceKind,
  type WatchEvent,
} from "../../../src/services/Kubernetes/Kubernetes.ts"
import { PATIENCE } from "../../../src/services/Kubernetes/WriteBarrier.ts"
import { configMap } from "../../services/Kubernetes/Objects.ts"

const settle = TestClock.adjust(0)
const ref = { namespace: "ns", name: "a" }
const options: ListOptions = { labelSelector: "ours" }

/** A followed store over a cluster that holds `there`, and whose watch says what the test has it say. */
const make = Effect.fnUntraced(function* (kind: ResourceKind = Kinds.ConfigMap) {
  const events = yield* Queue.unbounded<WatchEvent>()
  const there: Array<KubeObject> = []
  const asked: Array<ListOptions | undefined> = []
  const kubernetes = Layer.mock(Kubernetes, {
    listWatch: () => Stream.fromQueue(events),
    list: (_kind: ResourceKind, given?: ListOptions) =>
      Effect.sync(() => {
        asked.push(given)
        return [...there]
      }),
  })
  const store = yield* makeFollowedStore(kind, options).pipe(Effect.provide(kubernetes))
  const tell = (...given: ReadonlyArray<WatchEvent>) => Effect.andThen(Queue.offerAll(events, given), settle)
  /** In the cluster; the watch has not said it yet. */
  const hold = (...objects: ReadonlyArray<KubeObject>) => void there.splice(0, there.length, ...objects)
  return { store, asked, tell, hold }
})

const versionOf = (found: Option.Option<KubeObject>) =>
  Option.map(found, ({ metadata }) => metadata.resourceVersion)
const versionsOf = (found: ReadonlyArray<KubeObject>) =>
  found.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)

describe("a store that knows when it is behind", () => {
  it.effect("asks nobody while nothing is known against it", () =>
    Effect.gen(function* () {
      const { store, asked, tell, hold } = yield* make()
      hold(configMap("a", "2"))
      yield* tell({ _tag: "Snapshot", objects: [configMap("a", "1")] })
      assert.deepStrictEqual(versionOf(yield* store.get(ref)), Option.some("1"))
      assert.deepStrictEqual(versionsOf(yield* store.byNamespace("ns")), ["a 1"])
      assert.deepStrictEqual(versionsOf(yield* store.all), ["a 1"])
      assert.deepStrictEqual(asked, [])
    }),
  )

  it.effect("reads a place live from the moment it is behind there until it shows the same", () =>
    Effect.gen(function* () {
      const { store, asked, tell, hold } = yield* make()
      yield* tell({ _tag: "Snapshot", objects: [configMap("a", "1"), configMap("b", "1")] })
      hold(configMap("a", "2"), configMap("b", "1"))
      yield* store.distrust(ref)
      const place = { ...options, namespace: "ns" }
      assert.deepStrictEqual(versionOf(yield* store.get(ref)), Option.some("2"))
      // Another place is as it is cached.
      assert.deepStrictEqual(versionsOf(yield* store.byNamespace("other")), [])
      assert.deepStrictEqual(asked, [place])
      // Still behind: asked again.
      assert.deepStrictEqual(versionsOf(yield* store.byNamespace("ns")), ["a 2", "b 1"])
      assert.deepStrictEqual(asked, [place, place])
      assert.deepStrictEqual(versionOf(yield* store.cached(ref)), Option.some("1"))
      yield* tell({ _tag: "Upserted", object: configMap("a", "2") })
      // The read that finds it caught up is the last one.
      assert.deepStrictEqual(versionOf(yield* store.get(ref)), Option.some("2"))
      assert.strictEqual(asked.length, 3)
      assert.deepStrictEqual(versionOf(yield* store.get(ref)), Option.some("2"))
      assert.strictEqual(asked.length, 3)
    }),
  )

  it.effect("reads all live while it is behind anywhere, and knows by that when it has caught up", () =>
    Effect.gen(function* () {
      const { store, asked, tell, hold } = yield* make()
      yield* tell({ _tag: "Snapshot", objects: [configMap("a", "1"), configMap("b", "1")] })
      hold(configMap("b", "1"), configMap("a", "2"))
      yield* store.distrust(ref)
      assert.deepStrictEqual(versionsOf(yield* store.all), ["b 1", "a 2"])
      assert.deepStrictEqual(versionsOf(yield* store.all), ["b 1", "a 2"])
      assert.deepStrictEqual(asked, [options, options])
      // In whatever order the server lists them.
      yield* tell({ _tag: "Upserted", object: configMap("a", "2") })
      yield* store.all
      assert.strictEqual(asked.length, 3)
      yield* store.all
      yield* store.get(ref)
      assert.strictEqual(asked.length, 3)
    }),
  )

  it.effect("takes one of the same name and version, and another UID, for another", () =>
    Effect.gen(function* () {
      const { store, asked, tell, hold } = yield* make()
      yield* tell({ _tag: "Snapshot", objects: [configMap("a", "1")] })
      hold(configMap("a", "1", { uid: "its successor" }))
      yield* store.distrust(ref)
      yield* store.get(ref)
      yield* store.get(ref)
      assert.strictEqual(asked.length, 2)
    }),
  )

  it.effect("reads one object that is in no namespace by its name", () =>
    Effect.gen(function* () {
      const { store, asked, tell, hold } = yield* make(Kinds.Namespace)
      const namespace = (version: string): KubeObject => ({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "a", uid: "uid-a", resourceVersion: version },
      })
      yield* tell({ _tag: "Snapshot", objects: [namespace("1")] })
      hold(namespace("2"))
      yield* store.distrust({ name: "a" })
      assert.deepStrictEqual(versionOf(yield* store.get({ name: "a" })), Option.some("2"))
      assert.deepStrictEqual(asked, [{ ...options, fieldSelector: "metadata.name=a" }])
    }),
  )

  it.effect("waits for the watch to show a write, and believes it no longer than that", () =>
    Effect.gen(function* () {
      const { store, asked, tell, hold } = yield* make()
      yield* tell({ _tag: "Snapshot", objects: [configMap("a", "1")] })
      hold(configMap("a", "2"))
      const shown = yield* Effect.forkChild(store.awaitWrite(configMap("a", "2")))
      yield* settle
      assert.isUndefined(shown.pollUnsafe())
      yield* tell({ _tag: "Upserted", object: configMap("a", "2") })
      assert.isDefined(shown.pollUnsafe())
      yield* store.get(ref)
      assert.deepStrictEqual(asked, [])

      hold(configMap("a", "3"))
      const late = yield* Effect.forkChild(store.awaitWrite(configMap("a", "3")))
      yield* TestClock.adjust(PATIENCE)
      assert.isDefined(late.pollUnsafe())
      assert.deepStrictEqual(versionOf(yield* store.get(ref)), Option.some("3"))
      assert.strictEqual(asked.length, 1)
    }),
  )

  it.effect("waits for one that others make to be as it has to be, of that name and no other", () =>
    Effect.gen(function* () {
      const { store, asked, tell, hold } = yield* make()
      yield* tell({ _tag: "Snapshot", objects: [configMap("a", "1")] })
      const isSo = ({ metadata }: KubeObject) => metadata.resourceVersion !== "1"
      const shown = yield* Effect.forkChild(store.awaitMade(ref, isSo))
      yield* tell({ _tag: "Upserted", object: configMap("b", "2") })
      yield* tell({ _tag: "Upserted", object: configMap("a", "1", { uid: "its successor" }) })
      yield* tell({ _tag: "Deleted", object: configMap("a", "2", { uid: "its successor" }) })
      assert.isUndefined(shown.pollUnsafe())
      yield* tell({ _tag: "Upserted", object: configMap("a", "3") })
      assert.isDefined(shown.pollUnsafe())
      // There already: not waited for.
      yield* store.awaitMade(ref, isSo)
      yield* store.get(ref)
      assert.deepStrictEqual(asked, [])

      hold(configMap("a", "9"))
      const never = yield* Effect.forkChild(
        store.awaitMade(ref, ({ metadata }) => metadata.resourceVersion === "9"),
      )
      yield* TestClock.adjust(PATIENCE)
      assert.isDefined(never.pollUnsafe())
      assert.deepStrictEqual(versionOf(yield* store.get(ref)), Option.some("9"))
    }),
  )
})

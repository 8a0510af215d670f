// The history on a disk and beside its instance.
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { HistoryText, type PastOperation } from "../../../src/schema/History.ts"
import { History } from "../../../src/services/History/History.ts"
import { layer } from "../../../src/services/History/HistoryLive.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { makeCluster } from "../../actors/support/Cluster.ts"
import { makeStateStore } from "../../actors/support/Engine.ts"
import { manifestOf } from "../../actors/support/instances.ts"

const key = { namespace: "team-a", name: "one" }
const begun = { what: "install", why: "FirstInstall", startedAt: "2026-01-01T00:00:00.000Z" }
const ended = { outcome: "succeeded", endedAt: "2026-01-01T00:01:00.000Z", changed: ["Secret a"] } as const

const decode = Schema.decodeSync(HistoryText)

const scene = Effect.gen(function* () {
  const cluster = yield* makeCluster
  cluster.create(Kinds.Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" } })
  const owner = cluster.apply(Kinds.PlatformInstance, manifestOf())
  const store = makeStateStore()
  const context = yield* Layer.build(
    layer.pipe(
      Layer.provide(store.layer),
      Layer.provide(
        Layer.succeed(Kubernetes, { ...cluster.client, connect: () => Effect.die("no other cluster") }),
      ),
    ),
  )
  const kept = (): ReadonlyArray<PastOperation> => {
    const text = store.histories.get("team-a/one")
    return text === undefined ? [] : decode(text).operations
  }
  const copy = () => cluster.all(Kinds.ConfigMap).find(({ metadata }) => metadata.name === "one-history")
  return { cluster, owner, store, kept, copy, history: Context.get(context, History) }
})

describe("an operation", () => {
  it.effect("is kept before it begins, and its end when it is known", () =>
    Effect.gen(function* () {
      const { history, kept } = yield* scene
      yield* history.began(key, begun)
      assert.deepInclude(kept()[0], { ...begun, outcome: "running" })
      yield* history.ended(key, ended)
      assert.deepInclude(kept()[0], { ...begun, ...ended })
    }),
  )

  it.effect("that an earlier process had begun is interrupted, which is said once", () =>
    Effect.gen(function* () {
      const { history, kept } = yield* scene
      yield* history.began(key, begun)
      assert.isTrue(yield* history.recover(key))
      assert.strictEqual(kept()[0]?.outcome, "interrupted")
      assert.isFalse(yield* history.recover(key))
    }),
  )

  it.effect("begins though the history cannot be read", () =>
    Effect.gen(function* () {
      const { history, store, kept } = yield* scene
      store.histories.set("team-a/one", '{"format":1,"operations":[{')
      yield* history.began(key, begun)
      assert.lengthOf(kept(), 1)
    }),
  )
})

describe("the copy beside the instance", () => {
  it.effect("says what is kept, and is the instance's own", () =>
    Effect.gen(function* () {
      const { history, owner, store, copy } = yield* scene
      yield* history.show(owner)
      assert.isUndefined(copy())
      for (const round of [1, 2]) {
        yield* history.began(key, { ...begun, why: `round ${round}` })
        yield* history.ended(key, ended)
        yield* history.show(owner)
        const shown = copy()
        assert.deepEqual(shown?.data, { "history.json": store.histories.get("team-a/one") })
        assert.strictEqual(shown?.metadata.ownerReferences?.[0]?.uid, owner.metadata.uid)
      }
    }),
  )

  it.effect("comes back when somebody has removed it", () =>
    Effect.gen(function* () {
      const { cluster, history, owner, copy } = yield* scene
      yield* history.began(key, begun)
      yield* history.show(owner)
      cluster.end(Kinds.ConfigMap, { namespace: "team-a", name: "one-history" })
      assert.isUndefined(copy())
      yield* history.show(owner)
      assert.isDefined(copy())
    }),
  )

  it.effect("of an earlier life of the instance becomes that of the next", () =>
    Effect.gen(function* () {
      const { history, owner, copy } = yield* scene
      yield* history.began(key, begun)
      yield* history.show({ ...owner, metadata: { ...owner.metadata, uid: "earlier" } })
      const uid = copy()?.metadata.uid
      yield* history.show(owner)
      assert.strictEqual(copy()?.metadata.uid, uid)
      assert.deepStrictEqual(
        copy()?.metadata.ownerReferences?.map((each) => each.uid),
        [owner.metadata.uid],
      )
    }),
  )

  it.effect("takes nobody else's place", () =>
    Effect.gen(function* () {
      const { cluster, history, owner, copy } = yield* scene
      cluster.create(Kinds.ConfigMap, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "one-history", namespace: "team-a" },
        data: { mine: "kept" },
      })
      yield* history.began(key, begun)
      yield* history.show(owner)
      assert.deepEqual(copy()?.data, { mine: "kept" })
    }),
  )
})

it.effect("what is forgotten leaves nothing of the instance", () =>
  Effect.gen(function* () {
    const { history, store } = yield* scene
    yield* history.began(key, begun)
    yield* history.forget(key)
    assert.deepStrictEqual(Option.fromUndefinedOr(store.histories.get("team-a/one")), Option.none())
  }),
)

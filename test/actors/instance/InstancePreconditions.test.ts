// Somebody else writes in the moment between the operator's look and its write: what he wrote stays, and an object that
// has taken the name of the one that was looked at is not touched.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { ANNOTATION_PAUSED, FINALIZER, hostNamespace } from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { key, manifestOf } from "../support/instances.ts"
import { phase, ready } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const hold = "example.com/hold"
const instancePatch = "PATCH platforminstances/team-a/one"
const finalizersOf = (world: World) => world.cluster.instance(key)?.metadata.finalizers

/** Another writer. */
const patch = (world: World, change: Readonly<Record<string, unknown>>) =>
  world.cluster.patch(Kinds.PlatformInstance, key, { type: "merge", patch: change }, false)

const setFinalizers = (world: World, finalizers: ReadonlyArray<string>) =>
  patch(world, { metadata: { finalizers } })

/** Before the next write to the instance itself: those to its status go by. */
const beforeWrite = (world: World, act: () => void) => {
  const arm = () =>
    void world.cluster.meanwhile.push({
      request: instancePatch,
      act: () => (world.cluster.writes.at(-1) === instancePatch ? act() : arm()),
    })
  arm()
}

/** The instance goes, and another takes its name. */
const succeed = (world: World, finalizers: ReadonlyArray<string>) => {
  setFinalizers(world, [])
  world.remove()
  const manifest = manifestOf()
  return world.cluster.create(Kinds.PlatformInstance, {
    ...manifest,
    metadata: { ...manifest.metadata, finalizers },
  })
}

describe("the finalizer", () => {
  it.effect("is put beside one that another adds in this moment", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      beforeWrite(world, () => setFinalizers(world, [hold]))
      world.apply()
      yield* pass(5)
      assert.deepStrictEqual(world.cluster.errors, [`Conflict ${instancePatch}`])
      assert.deepStrictEqual(finalizersOf(world), [hold, FINALIZER])
    }),
  )

  it.effect("that somebody takes away is put back, whatever the instance waits for", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const states: ReadonlyArray<readonly [state: string, begin: Effect.Effect<unknown>]> = [
        ["Ready", Effect.void],
        ["paused", world.edit({ metadata: { annotations: { [ANNOTATION_PAUSED]: "true" } } })],
        ["resumed", world.edit({ metadata: { annotations: { [ANNOTATION_PAUSED]: null } } })],
        ["installing", world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })],
      ]
      for (const [state, begin] of states) {
        yield* begin
        yield* pass(5)
        setFinalizers(world, [])
        yield* pass(5)
        assert.deepStrictEqual(finalizersOf(world), [FINALIZER], state)
      }
      assert.strictEqual(phase(world), "Installing")
    }),
  )

  it.effect("goes without putting back one that another takes away in this moment", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      setFinalizers(world, [hold, FINALIZER])
      // Of what is retained nothing else is noted on the instance.
      yield* world.edit({ spec: { deletionPolicy: "Retain" } })
      yield* pass(5)
      world.remove()
      beforeWrite(world, () => setFinalizers(world, [FINALIZER]))
      yield* pass(60)
      assert.deepStrictEqual(world.cluster.errors, [`Conflict ${instancePatch}`])
      assert.isUndefined(world.cluster.instance(key))
    }),
  )
})

describe("the deletion", () => {
  it.effect("notes its cleanup on no successor of that name", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const noted: Array<unknown> = []
      world.cluster.listeners.push(({ kind, object }) => {
        if (kind === Kinds.PlatformInstance && object.metadata.uid === successor)
          noted.push(object.metadata.annotations)
      })
      let successor: string | undefined
      beforeWrite(world, () => {
        successor = succeed(world, [hold]).metadata.uid
      })
      world.remove()
      yield* pass(180)
      assert.isEmpty(world.cluster.meanwhile)
      assert.strictEqual(world.cluster.instance(key)?.metadata.uid, successor)
      assert.isNotEmpty(noted)
      assert.deepStrictEqual(
        noted.flatMap((annotations) => Object.keys(annotations ?? {})),
        [],
      )
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("touches nothing of a successor that the cache does not show yet", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const namespace = world.cluster.find(Kinds.Namespace, { name: world.host })?.metadata.uid
      let successor: string | undefined
      world.cluster.meanwhile.push({
        request: "GET platforminstances/team-a/one",
        act: () => {
          world.cluster.lag.set(Kinds.PlatformInstance, Duration.seconds(20))
          successor = succeed(world, [hold]).metadata.uid
        },
      })
      world.remove()
      yield* pass(15)
      assert.isEmpty(world.cluster.meanwhile)
      assert.deepStrictEqual(
        [...world.store.records.values()].map(({ deleting }) => deleting),
        [undefined],
      )
      yield* pass(120)
      assert.strictEqual(world.cluster.instance(key)?.metadata.uid, successor)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.strictEqual(world.cluster.find(Kinds.Namespace, { name: world.host })?.metadata.uid, namespace)
    }),
  )

  it.effect("removes no cluster-scoped object that has taken the name of its release's", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const name = `vc-vcluster-v-${world.host}`
      const make = (kind: ResourceKind, annotations: Readonly<Record<string, string>>) =>
        world.cluster.create(kind, {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: kind.kind,
          metadata: { name, annotations },
        })
      const kinds = [Kinds.ClusterRoleBinding, Kinds.ClusterRole]
      const left: Array<string> = []
      // Helm could not remove them.
      world.cluster.meanwhile.push({
        request: "DELETE namespaces/",
        act: () => {
          for (const kind of kinds)
            make(kind, {
              "meta.helm.sh/release-name": "vcluster",
              "meta.helm.sh/release-namespace": hostNamespace(key),
            })
        },
      })
      for (const kind of kinds)
        world.cluster.meanwhile.push({
          request: `DELETE ${kind.plural}/`,
          act: () => {
            const before = world.cluster.find(kind, { name }) ?? assert.fail()
            world.cluster.remove(kind, before)
            left.push(make(kind, { "example.com/theirs": "true" }).metadata.uid)
          },
        })
      world.remove()
      yield* pass(120)
      assert.isEmpty(world.cluster.meanwhile)
      assert.deepStrictEqual(
        kinds.map((kind) => world.cluster.find(kind, { name })?.metadata.uid),
        left,
      )
      assert.isUndefined(world.cluster.instance(key))
    }),
  )
})

// Which instances one operator serves.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { decoded, manifestOf } from "../support/instances.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const served = { namespace: "team-b", name: "one" }
const other = { namespace: "team-a", name: "one" }
const found = (world: World, key: typeof served) => world.cluster.instance(key) ?? assert.fail()

it.effect("an operator with --watch-namespaces leaves every other instance as it is", () =>
  Effect.gen(function* () {
    const world = yield* makeWorld({ watchNamespaces: [served.namespace] })
    world.cluster.apply(Kinds.Namespace, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: served.namespace },
    })
    for (const metadata of [served, other])
      world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata })
    const before = found(world, other)
    yield* world.startOperator()
    yield* pass(120, 2)
    assert.strictEqual(decoded(found(world, served)).status?.phase, "Ready")
    assert.deepStrictEqual(found(world, other), before)
  }),
)

// The operator is replaced by another release of itself, with a newer vCluster chart and another default tenant host image
// in its image, and by the earlier one again.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import type { Operator, OtherRelease } from "../twins/world/Operators.ts"
import { makeWorld, type World } from "../twins/world/World.ts"
import { identityOf } from "./identity.ts"

// Nothing here waits in real time.
vi.setConfig({ testTimeout: 600_000 })

const next: OtherRelease = {
  chartVersion: "0.99.0",
  settings: {
    defaultTenantHostImage: Option.some(`ghcr.io/di-framework/wash:3.0.0@sha256:${"3".repeat(64)}`),
  },
}

const ready = (world: World) => until(() => world.isReady(), "20 minutes", "the instance is Ready")

const recordOf = (world: World) =>
  world.files.readText("/var/lib/platform-operator/instances/team-a/one/instance.json")

describe("another release of the operator", () => {
  it("changes nothing in a Ready instance, and neither do its repairs", () => {
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false })
        const before = yield* world.startOperator()
        world.apply()
        yield* ready(world)
        // What runs inside is synced to the host in its own time.
        yield* Effect.sleep("2 minutes")
        const made = identityOf(world)
        const record = recordOf(world)
        const status = world.status()
        const written: Array<string> = []
        world.host.subscribe(({ type, kind, object }) => {
          if (kind.plural === Kinds.PlatformInstance.plural)
            written.push(`${type} ${JSON.stringify(object.status)}`)
        })
        yield* before.stop
        yield* world.startOperator({ release: next })
        yield* Effect.sleep("5 minutes")
        assert.deepStrictEqual(identityOf(world), made)
        assert.strictEqual(recordOf(world), record)
        assert.deepStrictEqual(world.status(), status)
        assert.deepStrictEqual(written, [])
        // A repair puts back what is missing as it was, from the stored release and the recorded image.
        yield* until(() => world.status()?.lastRepair !== undefined, "40 minutes", "a repair has run")
        assert.deepStrictEqual(identityOf(world), made)
        assert.isTrue(world.isReady())
        const images = (text: string) => JSON.parse(text).tenantHostImage
        assert.strictEqual(images(recordOf(world)), images(record))
      }),
      { seed: 1 },
    )
  })

  it("gives a new instance its own chart and default image", () => {
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false })
        yield* world.startOperator({
          release: { ...next, settings: { defaultTenantHostImage: world.settings.defaultTenantHostImage } },
        })
        world.apply()
        yield* ready(world)
        const { labels } =
          world.admin.get(Kinds.StatefulSet, {
            namespace: world.hostNamespace(),
            name: "vcluster",
          })?.metadata ?? assert.fail("it has a control plane")
        assert.include(JSON.stringify(labels), "0.99.0")
      }),
      { seed: 1 },
    )
  })

  const moments = [1, 3, 5, 8, 13, 21, 34, 55]
  it.each(moments)(
    "%i s into an install, and back again as long after it, comes to the same end",
    (seconds) => {
      simulate(
        Effect.gen(function* () {
          const world = yield* makeWorld({ traced: false })
          const first = yield* world.startOperator()
          world.apply()
          yield* Effect.sleep(`${seconds} seconds`)
          // Whatever the program has made in the vCluster stays.
          const gone: Array<string> = []
          const followed = new Set<unknown>()
          const follow = () => {
            const inner = world.inner()
            if (inner === undefined || followed.has(inner)) return
            followed.add(inner)
            inner.subscribe(({ type, kind, object }) => {
              if (type === "DELETED" && ["configmaps", "deployments", "secrets"].includes(kind.plural))
                gone.push(`${kind.kind} ${object.metadata.namespace}/${object.metadata.name}`)
            })
          }
          follow()
          yield* first.stop
          const second: Operator = yield* world.startOperator({ release: next })
          follow()
          yield* Effect.sleep(`${seconds} seconds`)
          follow()
          yield* second.stop
          yield* world.startOperator()
          yield* ready(world)
          assert.strictEqual(world.status()?.installedVersion, "6.0.22")
          assert.deepStrictEqual(gone, [])
          const claims = world.admin.list(Kinds.PersistentVolumeClaim, { namespace: world.hostNamespace() })
          assert.lengthOf(claims, 1)
        }),
        { seed: seconds },
      )
    },
  )
})

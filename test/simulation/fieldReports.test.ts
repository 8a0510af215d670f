// What others have met with operators of this kind, each with its name in the list of reports.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { findCondition } from "../../src/schema/Conditions.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { paths } from "../twins/world/Image.ts"
import { makeWorld, type World } from "../twins/world/World.ts"

const ready = (world: World) => until(() => world.isReady(), "30 minutes", "the instance is Ready")

describe("F18 a registry that answers 403, 403, 200", () => {
  it("costs no failed install and no Warning: one up", { timeout: 600_000 }, () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false })
        const failed: Array<string> = []
        world.host.subscribe(({ kind }) => {
          if (kind.plural !== Kinds.PlatformInstance.plural) return
          const installed = findCondition(world.status()?.conditions, "Installed")
          if (installed?.status === "False") failed.push(installed.message)
        })
        let engines = 0
        yield* world.startOperator({
          onCall: ({ what }) => {
            if (what.endsWith("runner.mjs operation")) engines += 1
          },
        })
        world.registry.answer(403, 2)
        world.apply()
        yield* ready(world)
        assert.deepStrictEqual(failed, [])
        assert.deepStrictEqual(
          world.events().filter(({ type }) => type === "Warning"),
          [],
        )
        assert.strictEqual(engines, 1)
      }),
      { seed: 1 },
    ),
  )
})

describe("F19 an instance that is deleted and made again under its name", () => {
  it(
    "uses nothing of the first one's stack: another salt, and its own config alone",
    { timeout: 600_000 },
    () =>
      simulate(
        Effect.gen(function* () {
          const world = yield* makeWorld({ traced: false })
          const file = `${paths.state}/instances/team-a/one/project/Pulumi.instance.yaml`
          const salt = (text: string) => /^encryptionsalt: (\S+)/m.exec(text)?.[1]
          yield* world.startOperator()
          world.apply({ platform: { tenants: [{ name: "acme" }, { name: "planted-tenant" }] } })
          yield* ready(world)
          const first = world.files.readText(file)
          assert.include(first, "planted-tenant")
          world.remove()
          yield* until(() => world.instance() === undefined, "30 minutes", "it is gone")
          assert.isFalse(world.files.exists(`${paths.state}/instances/team-a`))
          world.apply({ platform: { tenants: [{ name: "acme" }] } })
          yield* ready(world)
          const second = world.files.readText(file)
          assert.notInclude(second, "planted-tenant")
          assert.isString(salt(first))
          assert.isString(salt(second))
          assert.notStrictEqual(salt(second), salt(first))
        }),
        { seed: 1 },
      ),
  )
})

// What others have met with operators of this kind, each with its name in the list of reports.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect } from "effect"
import { findCondition } from "../../src/schema/Conditions.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { operatorUser, paths } from "../twins/world/Image.ts"
import { makeWorld, type World } from "../twins/world/World.ts"

const ready = (world: World) => until(() => world.isReady(), "30 minutes", "the instance is Ready")

describe("F11 a lock file of another pod's engine", () => {
  const folder = `${paths.state}/instances/team-a/one/backend/.pulumi/locks/organization/platform-instance/instance`
  /** Gives since when it is held. */
  const plant = Effect.fnUntraced(function* (world: World, name: string, hostname: string) {
    const files = world.files.as(operatorUser)
    files.mkdirs(folder, 0o700)
    const timestamp = DateTime.formatIso(yield* DateTime.now)
    const lock = { pid: 7, username: "operator", hostname, timestamp }
    files.writeFile(`${folder}/${name}.json`, Buffer.from(JSON.stringify(lock)), 0o600)
    files.writeFile(`${folder}/${name}.json.attrs`, Buffer.from("{}"), 0o600)
    return timestamp
  })
  const removals = (world: World) =>
    world
      .events()
      .filter(({ reason }) => reason === "Recovered")
      .map(({ note }) => String(note))
  const repaired = (world: World) => {
    const before = world.status()?.lastRepair
    return until(
      () => world.isReady() && world.status()?.lastRepair !== before,
      "30 minutes",
      "it was repaired",
    )
  }
  const settings = { repairInterval: Duration.minutes(5) }

  it("is removed when that pod is gone, once, by an Event that names the holder and since when", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false, settings })
        yield* world.startOperator()
        world.apply()
        yield* ready(world)
        const since = yield* plant(world, "dead", "operator-of-before")
        yield* repaired(world)
        yield* repaired(world)
        assert.deepStrictEqual(world.files.list(folder), [])
        assert.deepStrictEqual(removals(world), [
          `Removed the lock of a holder that has ended: pid 7 on operator-of-before, written ${since}.`,
        ])
      }),
      { seed: 1 },
    ))

  it("is left while that pod lives, and the condition says so; it goes after the pod", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false, settings })
        const namespace = "platform-operator"
        yield* world.startOperator()
        world.apply()
        yield* ready(world)
        world.admin.create(Kinds.Pod, {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "another-operator", namespace },
          spec: { containers: [{ name: "operator", image: "an-operator-of-before" }] },
        })
        yield* Effect.sleep("1 minute")
        const since = yield* plant(world, "live", "another-operator")
        const installed = () => findCondition(world.status()?.conditions, "Installed")
        yield* until(() => installed()?.status === "False", "30 minutes", "the repair is refused")
        yield* Effect.sleep("1 hour")
        assert.deepStrictEqual([...world.files.list(folder)].sort(), ["live.json", "live.json.attrs"])
        assert.strictEqual(installed()?.reason, "InstallFailed")
        assert.include(
          installed()?.message,
          `Another holder of this instance's state may still be at work: operator@another-operator (pid 7, since ${since}). The operator waits for its end and tries again; nothing was changed.`,
        )
        assert.deepStrictEqual(removals(world), [])
        world.admin.delete(Kinds.Pod, { namespace, name: "another-operator" })
        yield* ready(world)
        assert.deepStrictEqual(world.files.list(folder), [])
        assert.lengthOf(removals(world), 1)
      }),
      { seed: 1 },
    ))
})

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

describe("F43 a service-account token that rotates in the middle of an install", () => {
  it("fails no pass and no request, and loses no lease", () =>
    simulate(
      Effect.gen(function* () {
        const log: Array<string> = []
        const world = yield* makeWorld({ traced: false, log: (line) => log.push(line) })
        const refused: Array<string> = []
        yield* world.startOperator({
          leaderElect: true,
          onAnswer: ({ what }, failure) => {
            if (JSON.stringify(failure ?? "").includes("401")) refused.push(what)
          },
        })
        world.apply()
        yield* until(() => world.status()?.phase === "Provisioning", "5 minutes", "the install has begun")
        world.host.faults.rotateTokens()
        yield* ready(world)
        world.host.faults.rotateTokens()
        yield* Effect.sleep("10 minutes")
        assert.isTrue(world.isReady())
        assert.deepStrictEqual(
          log.filter((line) => /pass failed|\blease/i.test(line)),
          [],
        )
        // Each is asked again with the new token, beneath whoever has asked.
        assert.deepStrictEqual(refused, [])
      }),
      { seed: 1 },
    ))
})

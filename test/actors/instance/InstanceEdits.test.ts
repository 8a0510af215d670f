import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Option } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "../support/instances.ts"
import { outcomes, phase, ready, reasons } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const tenants = (...names: ReadonlyArray<string>) => ({
  spec: { platform: { tenants: names.map((name) => ({ name })) } },
})
const version = (text: string) => ({ spec: { version: text } })
const installed = (world: World) => Option.getOrThrow(world.status()).applied?.generation
const generation = (world: World) => world.cluster.instance(key)?.metadata.generation
const seconds = Effect.map(Clock.currentTimeMillis, (now) => now / 1000)
const lastRun = (world: World) => world.pulumi.runs.at(-1) ?? assert.fail("nothing has run")

/** An instance whose first install has failed, and is being tried again since ten seconds. */
const retrying = Effect.fnUntraced(function* () {
  const world = yield* makeWorld()
  world.pulumi.failures.push("Failed")
  yield* world.startOperator()
  world.apply()
  while (reasons(world).length < 2) yield* pass(1)
  yield* pass(10)
  assert.deepStrictEqual(reasons(world), ["FirstInstall", "Retry"])
  return world
})

describe("an edit during an install", () => {
  it.effect("that is tried again takes its place two seconds later, refreshes, and is no failure", () =>
    Effect.gen(function* () {
      const world = yield* retrying()
      yield* world.edit(tenants("acme"))
      const edited = yield* seconds
      const events = world.events.length
      yield* pass(10)
      const [, interrupted, next] = world.pulumi.runs
      assert.strictEqual(interrupted?.outcome, "interrupted")
      assert.strictEqual((interrupted?.endedAt ?? 0) / 1000, edited + 2)
      assert.deepInclude(next?.request, { kind: "Retry", generation: 2, refresh: true })
      assert.isAtMost((next?.at ?? 0) / 1000, edited + 3)
      assert.lengthOf(world.events, events)
      yield* pass(60)
      assert.strictEqual(phase(world), "Ready")
      assert.strictEqual(installed(world), 2)
    }),
  )

  it.effect("of another version takes its place, too, counted from the last edit", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit(version("6.0.23"))
      yield* pass(20)
      for (const each of ["6.0.24", "6.0.25", "6.0.26"]) {
        yield* world.edit(version(each))
        yield* pass(1)
      }
      assert.deepStrictEqual(outcomes(world), ["succeeded", "running"])
      yield* pass(10)
      assert.deepStrictEqual(outcomes(world), ["succeeded", "interrupted", "running"])
      assert.deepInclude(lastRun(world).request, { kind: "VersionChanged", version: "6.0.26", refresh: true })
      yield* pass(60)
      assert.deepInclude(Option.getOrThrow(world.status()), { phase: "Ready", installedVersion: "6.0.26" })
    }),
  )

  it.effect("that is taken back in time interrupts nothing", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit(version("6.0.23"))
      yield* pass(20)
      yield* world.edit(version("6.0.24"))
      yield* pass(1)
      yield* world.edit(version("6.0.23"))
      yield* pass(120)
      assert.notInclude(outcomes(world), "interrupted")
      assert.strictEqual(installed(world), 4)
    }),
  )

  it.effect("that changes nothing of what is installed interrupts nothing", () =>
    Effect.gen(function* () {
      const world = yield* retrying()
      yield* world.edit({ spec: { deletionPolicy: "Retain" } })
      yield* world.edit({ metadata: { labels: { team: "a" } } })
      yield* pass(120)
      assert.notInclude(outcomes(world), "interrupted")
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  for (const [what, start] of [
    ["first install", (world: World) => Effect.sync(() => world.apply())],
    ["change of settings", (world: World) => world.edit(tenants("acme"))],
    ["repair", () => pass(1_670, 10)],
  ] as const) {
    it.effect(`waits for a healthy ${what} of the same version`, () =>
      Effect.gen(function* () {
        const world = what === "first install" ? yield* makeWorld() : yield* ready()
        if (what === "first install") yield* world.startOperator()
        yield* start(world)
        while (!outcomes(world).includes("running")) yield* pass(1)
        yield* pass(5)
        yield* world.edit(tenants("acme", "globex"))
        yield* pass(150)
        assert.notInclude(outcomes(world), "interrupted")
        assert.strictEqual(phase(world), "Ready")
        assert.strictEqual(installed(world), generation(world))
      }),
    )
  }

  it.effect("of one that took another's place waits for it", () =>
    Effect.gen(function* () {
      const world = yield* retrying()
      yield* world.edit(tenants("acme"))
      yield* pass(10)
      yield* world.edit(tenants("globex"))
      yield* pass(200)
      assert.deepStrictEqual(outcomes(world), ["failed", "interrupted", "succeeded", "succeeded"])
      assert.strictEqual(installed(world), 3)
    }),
  )

  it.effect("may take the place of one that failed in another's place", () =>
    Effect.gen(function* () {
      const world = yield* retrying()
      world.pulumi.failures.push("Failed")
      yield* world.edit(tenants("acme"))
      while (outcomes(world).filter((each) => each === "failed").length < 2) yield* pass(1)
      yield* pass(10)
      yield* world.edit(tenants("globex"))
      yield* pass(90)
      assert.deepStrictEqual(outcomes(world), ["failed", "interrupted", "failed", "interrupted", "succeeded"])
      assert.strictEqual(installed(world), 3)
    }),
  )
})

describe("F46 a stream of edits", () => {
  it.effect(
    "(100 of specs and labels during one install) fails no pass, and each change is written once",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        // Caches are always behind a little.
        world.cluster.lag.set(Kinds.PlatformInstance, Duration.millis(300))
        yield* world.startOperator()
        world.apply()
        while (!outcomes(world).includes("running")) yield* pass(1)
        const writes = world.cluster.statusWrites()
        for (let edit = 0; edit < 50; edit++) {
          yield* world.edit(tenants(`t${edit}`))
          yield* world.edit({ metadata: { labels: { edit: String(edit) } } })
          yield* pass(1)
        }
        // Of an edit the status says that it was seen (a condition's generation), of a label nothing.
        assert.strictEqual(world.cluster.statusWrites() - writes, 50)
        yield* pass(150)
        assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged"])
        assert.strictEqual(generation(world), 51)
        const { observedGeneration, phase: last } = Option.getOrThrow(world.status())
        assert.deepStrictEqual([last, observedGeneration, installed(world)], ["Ready", 51, 51])
        assert.isEmpty(world.cluster.errors)
        // The first install ends and the second begins; the second ends.
        assert.strictEqual(world.cluster.statusWrites() - writes, 52)
      }),
  )

  it.effect(
    "(a new version a minute for two hours) starves no install",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        for (let minute = 0; minute < 120; minute++) {
          yield* world.edit(version(`6.1.${minute}`))
          yield* pass(60, 5)
        }
        const succeeded = outcomes(world).filter((each) => each === "succeeded").length
        assert.isAtLeast(succeeded, 40)
        yield* pass(120, 5)
        assert.deepInclude(Option.getOrThrow(world.status()), {
          phase: "Ready",
          installedVersion: "6.1.119",
        })
      }),
    600_000,
  )

  it.effect(
    "(of settings, a minute for two hours) fails no pass, and the last one is installed",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.cluster.lag.set(Kinds.PlatformInstance, Duration.millis(300))
        const writes = world.cluster.statusWrites()
        for (let minute = 0; minute < 120; minute++) {
          yield* world.edit(tenants(`t${minute}`))
          yield* world.edit({ metadata: { labels: { edit: String(minute) } } })
          yield* pass(60, 5)
        }
        yield* pass(180, 5)
        assert.isEmpty(world.cluster.errors)
        const { observedGeneration, phase: last } = Option.getOrThrow(world.status())
        assert.deepStrictEqual([last, observedGeneration, installed(world)], ["Ready", 121, 121])
        // An install takes a minute, and each is of the newest generation when it begins.
        const runs = world.pulumi.runs.slice(1)
        assert.notInclude(outcomes(world), "interrupted")
        assert.isAtLeast(runs.length, 60)
        // Each edit is seen; each install begins and ends.
        assert.isAtMost(world.cluster.statusWrites() - writes, 120 + 2 * runs.length)
      }),
    600_000,
  )
})

describe("a first install that stands still", () => {
  const standing = Effect.fnUntraced(function* () {
    const world = yield* makeWorld()
    world.pulumi.endless.add("team-a/one")
    yield* world.startOperator()
    world.apply()
    while (!outcomes(world).includes("running")) yield* pass(1)
    return world
  })

  it.effect("is superseded by an edit of its settings two minutes after it last moved", () =>
    Effect.gen(function* () {
      const world = yield* standing()
      const { at } = lastRun(world)
      yield* pass(20)
      yield* world.edit(tenants("acme"))
      yield* pass(90)
      assert.deepStrictEqual(outcomes(world), ["running"])
      world.pulumi.endless.clear()
      yield* pass(120)
      assert.deepStrictEqual(outcomes(world), ["interrupted", "succeeded"])
      assert.strictEqual(((world.pulumi.runs[0]?.endedAt ?? 0) - at) / 1_000, 120)
      assert.deepInclude(lastRun(world).request, { kind: "FirstInstall", generation: 2, refresh: true })
      assert.strictEqual(installed(world), 2)
    }),
  )

  it.effect("is not superseded by an edit that comes out the same: it ends by its timeout", () =>
    Effect.gen(function* () {
      const world = yield* standing()
      yield* world.edit({ spec: { deletionPolicy: "Retain" } })
      yield* pass(1_700, 10)
      assert.deepStrictEqual(outcomes(world), ["running"])
      world.pulumi.endless.clear()
      yield* pass(200, 5)
      assert.deepStrictEqual(outcomes(world), ["failed", "succeeded"])
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "Retry"])
      assert.strictEqual(installed(world), 2)
    }),
  )
})

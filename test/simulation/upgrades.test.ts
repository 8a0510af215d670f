// Another version, as a user asks for it: one that is there, one that is not, one that needs another provider plugin. What
// runs keeps running until the new one is installed, and after a failure whoever mends the spec waits for nothing.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { findCondition } from "../../src/schema/Conditions.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { ResourceKind } from "../../src/services/Kubernetes/Kubernetes.ts"
import { packVersion } from "../fixtures/platform/pack.mts"
import { type Simulation, simulate, until } from "../twins/simulation/Simulation.ts"
import { makeWorld, type World } from "../twins/world/World.ts"

// Nothing here waits in real time: how long it takes says what else the machine is doing.
vi.setConfig({ testTimeout: 600_000 })

const ready = (world: World) => until(() => world.isReady(), "20 minutes", "the instance is Ready")
const failed = (world: World) =>
  until(
    () => world.status()?.phase === "Failed" && generation(world) === world.status()?.observedGeneration,
    "20 minutes",
    "the install has failed",
  )
const generation = (world: World) => world.instance()?.metadata.generation
const installed = (world: World) => findCondition(world.status()?.conditions, "Installed")
const toVersion = (world: World, version: string) => world.edit({ spec: { version } })

/** What the platform consists of, each with its UID: what was deleted and made again is another one. */
const inside = (world: World): ReadonlyArray<string> => {
  const inner = world.inner()?.as("kubernetes-admin")
  const kinds: ReadonlyArray<ResourceKind> = [Kinds.Namespace, Kinds.Deployment, Kinds.Service]
  return kinds
    .flatMap((kind) => inner?.list(kind) ?? [])
    .map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`)
}
const toldInside = (world: World): unknown =>
  world
    .inner()
    ?.as("kubernetes-admin")
    .list(Kinds.ConfigMap)
    .find(({ metadata }) => metadata.name === "di-platform-version")?.data

/** An instance that is Ready at this version, and each install that its operator begins, with the virtual time. */
const started = Effect.fnUntraced(function* (version: string) {
  const world = yield* makeWorld({ traced: false })
  const installs: Array<number> = []
  yield* world.startOperator({
    onCall: ({ what }) => {
      if (what.endsWith("runner.mjs operation")) installs.push(world.simulation.elapsed())
    },
  })
  world.apply({ version })
  yield* ready(world)
  return { world, installs }
})

describe("a spec that changes while something runs", () => {
  const runs = (world: World) =>
    world.simulation.trace.lines.filter((line) => / started: .*runner\.mjs operation$/.test(line)).length
  const atWork: ReadonlyArray<
    readonly [name: string, begin: (world: World) => Effect.Effect<void, never, Simulation>]
  > = [
    [
      "the repair of its target",
      (world) =>
        Effect.gen(function* () {
          world.admin.delete(Kinds.StatefulSet, { namespace: world.hostNamespace(), name: "vcluster" })
          yield* until(() => world.status()?.phase === "Provisioning", "1 minute", "it is put back")
        }),
    ],
    [
      "the restart of its target",
      (world) =>
        Effect.gen(function* () {
          world.admin.delete(Kinds.Pod, { namespace: world.hostNamespace(), name: "vcluster-0" })
          yield* until(() => world.status()?.phase === "Provisioning", "1 minute", "it is awaited")
        }),
    ],
    [
      "a repair of the platform",
      (world) =>
        Effect.gen(function* () {
          const before = runs(world)
          yield* until(() => runs(world) > before, "1 hour", "a repair has begun")
        }),
    ],
    [
      "an install of other settings",
      (world) =>
        Effect.gen(function* () {
          const before = runs(world)
          world.edit({ spec: { platform: { tenants: [{ name: "acme" }], users: [] } } })
          yield* until(() => runs(world) > before, "1 minute", "an install has begun")
        }),
    ],
  ]
  it.each(atWork)("is installed as soon as that has ended, and Ready no sooner: %s", (_, begin) =>
    simulate(
      Effect.gen(function* () {
        const { world } = yield* started("6.0.21")
        yield* begin(world)
        yield* Effect.sleep("1 second")
        toVersion(world, "6.0.22")
        yield* Effect.sleep("100 millis")
        const told: Array<string> = []
        const note = () => {
          const { installedVersion, phase } = world.status() ?? {}
          const ready = findCondition(world.status()?.conditions, "Ready")?.status
          told.push(`${installedVersion} ${phase} ${ready}`)
        }
        note()
        world.host.subscribe(({ kind }) => {
          if (kind.plural === Kinds.PlatformInstance.plural) note()
        })
        const isTargetReady = () =>
          findCondition(world.status()?.conditions, "TargetReady")?.status === "True"
        yield* until(isTargetReady, "10 minutes", "the target is ready")
        const before = runs(world)
        // One that runs has its two seconds in which nobody edits further, and the time that it takes to end.
        yield* until(() => runs(world) > before, "6 seconds", "the version that is asked for is installed")
        yield* ready(world)
        const early = told.filter((each) => / Ready | True$/.test(each) && each !== "6.0.22 Ready True")
        assert.deepStrictEqual(early, [])
      }),
      { seed: 1 },
    ),
  )
})

describe("another version", () => {
  it.each([
    ["6.0.21", "6.0.22"],
    ["6.0.22", "6.0.21"],
  ])("is installed over the one before: %s, then %s", (from, to) =>
    simulate(
      Effect.gen(function* () {
        const { world } = yield* started(from)
        const before = inside(world)
        const shown = new Set<string>()
        world.host.subscribe(({ kind }) => {
          if (kind.plural !== Kinds.PlatformInstance.plural) return
          const status = world.status()
          shown.add(`${status?.installedVersion} ${status?.phase} ${installed(world)?.reason}`)
        })
        toVersion(world, to)
        yield* ready(world)
        assert.deepStrictEqual(
          [...shown],
          [`${from} Ready FirstInstall`, `${from} Installing FirstInstall`, `${to} Ready VersionChanged`],
        )
        assert.deepStrictEqual(toldInside(world), { version: to })
        assert.deepStrictEqual(inside(world), before)
      }),
      { seed: 1 },
    ),
  )
})

describe("a version that does not exist", () => {
  it("is named, and changes nothing; however long that has failed, mending the spec recovers at once", () =>
    simulate(
      Effect.gen(function* () {
        const { world, installs } = yield* started("6.0.21")
        const before = inside(world)
        for (const mended of ["6.0.21", "6.0.22"]) {
          toVersion(world, "6.0.99")
          yield* failed(world)
          // The pauses have become longer than a minute by then.
          yield* Effect.sleep("10 minutes")
          const condition = installed(world)
          assert.deepInclude(condition, { status: "False", reason: "InstallFailed" })
          assert.match(
            condition?.message ?? "",
            /^fetch package \(version 6\.0\.99\): The registry \S* ?has no version 6\.0\.99 of @di-framework\/platform, which spec\.version asks for; set spec\.version/,
          )
          assert.strictEqual(world.status()?.installedVersion, "6.0.21")
          assert.strictEqual(findCondition(world.status()?.conditions, "ConfigApplied")?.status, "True")
          assert.deepStrictEqual(inside(world), before)
          const { length } = installs
          toVersion(world, mended)
          const at = world.simulation.elapsed()
          yield* ready(world)
          // One attempt, begun as soon as the package has been looked at, or fetched.
          assert.lengthOf(installs, length + 1)
          assert.isAtMost((installs.at(-1) ?? 0) - at, mended === "6.0.21" ? 2_000 : 30_000)
          assert.deepInclude(installed(world), { status: "True", reason: "Retry" })
          assert.deepStrictEqual(toldInside(world), { version: mended })
          assert.deepStrictEqual(inside(world), before)
        }
      }),
      { seed: 1 },
    ))
})

describe("versions whose package never comes", () => {
  it.each([
    [["6.0.98"], 10],
    // The second one has taken the first one's place; what takes another's place is let be for 2 minutes.
    [["6.0.98", "6.0.99"], 130],
  ] as const)("are given up for one that is there: %j", (versions, seconds) =>
    simulate(
      Effect.gen(function* () {
        const { world } = yield* started("6.0.21")
        world.registry.hang()
        for (const version of versions) {
          toVersion(world, version)
          yield* Effect.sleep("20 seconds")
        }
        toVersion(world, "6.0.21")
        const at = world.simulation.elapsed()
        yield* ready(world)
        assert.isAtMost(world.simulation.elapsed() - at, seconds * 1_000)
        assert.strictEqual(installed(world)?.status, "True")
      }),
      { seed: 1 },
    ),
  )
})

describe("a version that needs another provider plugin", () => {
  it("is told which when it cannot be had, changes nothing meanwhile, and is installed when it can", () =>
    simulate(
      Effect.gen(function* () {
        const { world, installs } = yield* started("6.0.21")
        const { name, manifest, files } = packVersion("6.0.22")
        const version = "6.0.30"
        const dependencies = { ...world.registry.find(name)[0]?.dependencies, "@pulumi/kubernetes": "4.26.0" }
        world.registry.publish({
          name,
          version,
          files: { ...files, "package.json": JSON.stringify({ ...manifest, version, dependencies }) },
          dependencies,
        })
        const [library] = world.registry.find("@pulumi/kubernetes")
        world.registry.publish({
          name: "@pulumi/kubernetes",
          version: "4.26.0",
          files: {
            ...library?.files,
            "package.json": String(library?.files["package.json"]).replaceAll("4.25.0", "4.26.0"),
          },
          dependencies: {},
        })
        const before = inside(world)
        const { length } = installs
        toVersion(world, version)
        yield* failed(world)
        assert.include(
          installed(world)?.message ?? "",
          "fetch plugin (version 6.0.30): The Kubernetes provider plugin 4.26.0 that this package needs is in none of",
        )
        assert.lengthOf(installs, length)
        assert.strictEqual(world.status()?.installedVersion, "6.0.21")
        assert.deepStrictEqual(inside(world), before)
        world.pluginHost.plugins.add("resource-kubernetes-v4.26.0")
        yield* ready(world)
        assert.strictEqual(world.status()?.installedVersion, version)
        assert.deepStrictEqual(inside(world), before)
        assert.include(world.files.list("/var/lib/platform-operator/plugins"), "resource-kubernetes-v4.26.0")
      }),
      { seed: 1 },
    ))
})

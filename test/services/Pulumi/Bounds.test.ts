// What an instance and the shared store may take of the disk: exports, history, packages and plugins, in the simulated
// engine through the live service.
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import { exportNames, surplus } from "../../../src/services/Pulumi/Exports.ts"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"
import { makeWorld, type World } from "../../twins/pulumi/testWorld.ts"
import { type Simulation, simulate, until } from "../../twins/simulation/Simulation.ts"

const world = <A, E>(
  name: string,
  test: (world: World) => Effect.Effect<A, E, Simulation | Scope.Scope>,
  own: Partial<PulumiOptions> = {},
) =>
  it(name, { timeout: 900_000 }, () => {
    simulate(Effect.flatMap(makeWorld(own), test), { seed: 1 })
  })

const mebibyte = 2 ** 20
const minFreeSpace = 512 * mebibyte

const bytesBelow = ({ files }: World, folder: string): number =>
  files.list(folder).reduce((sum, name) => {
    const path = `${folder}/${name}`
    const entry = files.lstat(path)
    if (entry?.kind === "directory") return sum + bytesBelow({ files } as World, path)
    return entry?.kind === "file" ? sum + entry.content.length : sum
  }, 0)

const exports = (world: World) =>
  world.files.exists(`${world.instance}/exports`) ? world.files.list(`${world.instance}/exports`) : []
const packages = (world: World) =>
  world.files.list("/operator/state/packages").filter((name) => !name.endsWith(".lock.json"))
const plugins = (world: World) => world.files.list("/operator/state/plugins")

describe("exports of the state", () => {
  const day = 24 * 60 * 60 * 1000
  const at = (time: number) => `state-${time}.json.gz`

  it("are the last three, and the last one of each of seven days", () => {
    const now = 100 * day + day / 2
    const hourly = Array.from({ length: 24 * 30 }, (_, hour) => at(now - (hour * day) / 24))
    const gone = new Set(surplus(hourly, now))
    const kept = exportNames(hourly.filter((name) => !gone.has(name)))
    assert.deepStrictEqual(kept.slice(0, 3), hourly.slice(0, 3))
    const days = kept.map((name) => Math.floor(Number(/[0-9]+/.exec(name)?.[0]) / day))
    assert.deepStrictEqual([...new Set(days)], [100, 99, 98, 97, 96, 95, 94])
    assert.lengthOf(kept, 3 + 6)
    assert.deepStrictEqual(surplus(["state-1.json.gz.tmp", "else"], now), [])
  })

  world("are made before and after each operation, whole, and are on the disk", (world) =>
    Effect.gen(function* () {
      world.volume.settle()
      yield* world.run()
      assert.lengthOf(exports(world), 1)
      assert.include(world.steps, "export state")
      world.volume.powerCut()
      const [name = ""] = exports(world)
      const text = gunzipSync(world.files.readFile(`${world.instance}/exports/${name}`)).toString("utf8")
      const { version, deployment } = JSON.parse(text)
      assert.strictEqual(version, 3)
      assert.lengthOf(deployment.resources, 18)
      assert.strictEqual(world.files.lstat(`${world.instance}/exports/${name}`)?.mode, 0o600)
      for (let repairs = 0; repairs < 4; repairs++) {
        yield* Effect.sleep("30 minutes")
        yield* world.run({ refresh: true })
      }
      assert.lengthOf(exports(world), 3)
    }),
  )

  world("are made of an operation that is cut off, too", (world) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(world.run())
      yield* until(() => world.steps.includes("up"), "5 minutes", "it is up")
      yield* Effect.sleep("2 seconds")
      yield* Fiber.interrupt(fiber)
      assert.lengthOf(exports(world), 1)
    }),
  )
})

describe("the disk", () => {
  // `FULL=1` takes minutes; the bounds are those of ten days.
  const repairs = process.env.FULL === "1" ? 1_000 : 60
  world("of an instance after many repairs is at most five times what it was after the first", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      yield* world.run({ refresh: true })
      const first = bytesBelow(world, world.instance)
      const folders = world.files.list("/operator/tmp")
      for (let done = 1; done < repairs; done++) {
        yield* Effect.sleep("4 hours")
        yield* world.run({ refresh: true })
      }
      assert.isAtMost(bytesBelow(world, world.instance), 5 * first)
      assert.deepStrictEqual(world.files.list("/operator/tmp"), folders)
      assert.lengthOf(packages(world), 1)
    }),
  )

  world("of 20 instances of one version holds one package, and next to nothing each", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      const folder = "/operator/state/packages"
      const one = bytesBelow(world, folder)
      for (let count = 2; count <= 20; count++) {
        // There is one target: its releases are the first one's, which is nothing to the packages.
        yield* Effect.ignore(world.run({ key: { namespace: "team-a", name: `n${count}` } }))
      }
      assert.isAtMost(bytesBelow(world, folder), 1.2 * one)
      const modules = world.files.lstat("/operator/state/instances/team-a/n20/project/node_modules")
      assert.strictEqual(modules?.kind, "link")
    }),
  )

  world(
    "F16 that is nearly full begins nothing, says so, and warns before; what is freed is enough to go on",
    (world) =>
      Effect.gen(function* () {
        world.volume.free(minFreeSpace - mebibyte)
        const refused = yield* Effect.flip(world.fetch("6.0.22"))
        assert.strictEqual(refused.step, "fetch package")
        assert.match(refused.message, /^The disk is nearly full: 511 MiB of .* less than --min-free-space/)
        assert.deepStrictEqual(packages(world), [])
        world.volume.free(4 * minFreeSpace)
        yield* world.run()
        assert.isFalse(world.steps.some((step) => /are free on the volume/.test(step)))
        const before = world.files.readFile(
          `${world.instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz`,
        )
        world.volume.free(minFreeSpace - mebibyte)
        const error = yield* Effect.flip(world.run({ refresh: true }))
        assert.strictEqual(error.step, "check disk")
        assert.match(error.message, /^The disk is nearly full: .* make room in the operator's state claim/)
        assert.isUndefined(world.files.lstat(`${world.instance}/operation.json`))
        assert.deepStrictEqual(
          world.files.readFile(`${world.instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz`),
          before,
        )
        world.volume.free(minFreeSpace + mebibyte)
        assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: 18 })
        assert.isTrue(world.steps.some((step) => /^513 MiB of .* are free on the volume/.test(step)))
      }),
    { minFreeSpace },
  )

  world(
    "F16 that falls below its floor in a fetch ends it: npm, or the plugin's download, and nothing of it is left",
    (world) =>
      Effect.gen(function* () {
        const runs = (name: string) =>
          world.container.processes.some(({ facts }) => facts.argv.some((one) => one.endsWith(name)))
        for (const { program, step } of [
          { program: "/npm", step: "fetch package" },
          { program: "plugin", step: "fetch plugin" },
        ]) {
          world.volume.free(4 * minFreeSpace)
          const fetching = yield* Effect.forkChild(Effect.flip(world.fetch("6.0.22")))
          yield* until(() => runs(program), "5 minutes", `${program} runs`)
          world.volume.free(minFreeSpace - mebibyte)
          const error = yield* Fiber.join(fetching)
          assert.strictEqual(error.step, step)
          assert.match(error.message, /The disk is nearly full: 511 MiB of .* less than --min-free-space/)
          assert.isFalse(runs(program), "it has ended")
          const left = [...world.files.list("/operator/state/packages"), ...plugins(world)]
          assert.deepStrictEqual(
            left.filter((name) => name.startsWith(".") || name.startsWith("resource-")),
            [],
          )
        }
        world.volume.free(4 * minFreeSpace)
        assert.deepStrictEqual((yield* world.run()).changes, { create: 18 })
      }),
    { minFreeSpace },
  )

  world(
    "F16 that is full while a package unpacks: the step and the disk are named, and no half is ever used",
    (world) =>
      Effect.gen(function* () {
        for (const bytes of [0, 3_000, 9_000, 20_000]) {
          world.volume.free(bytes)
          const error = yield* Effect.flip(world.fetch("6.0.22"))
          assert.strictEqual(error.step, "fetch package")
          assert.match(error.message, /disk is full|cannot be kept|cannot be written/, `${bytes}`)
          world.volume.free(undefined)
          assert.deepStrictEqual(packages(world), [], `${bytes}`)
        }
        assert.deepStrictEqual((yield* world.run()).changes, { create: 18 })
        assert.lengthOf(packages(world), 1)
      }),
  )
})

describe("a package", () => {
  world("of which a part came before the registry hung, refused or said 403 is never used", (world) =>
    Effect.gen(function* () {
      const { registry } = world
      const halfWay = () =>
        world.files
          .list("/operator/state/packages")
          .some((name) => world.files.exists(`/operator/state/packages/${name}/node_modules/@di-framework`))
      const troubles: ReadonlyArray<readonly [string, () => void, RegExp]> = [
        ["hangs", registry.hang, /^The registry does not answer/],
        ["refuses", registry.refuse, /^The registry does not answer/],
        ["403", () => registry.answer(403), /^The registry refuses to hand out/],
      ]
      for (const [what, begin, words] of troubles) {
        const fetching = yield* Effect.forkChild(Effect.flip(world.fetch("6.0.22")))
        yield* until(halfWay, "5 minutes", "a part is there")
        begin()
        const error = yield* Fiber.join(fetching)
        assert.strictEqual(error.step, "fetch package", what)
        assert.match(error.message, words, what)
        assert.deepStrictEqual(packages(world), [], what)
        registry.mend()
      }
      assert.deepStrictEqual((yield* world.run()).changes, { create: 18 })
    }),
  )

  world(
    "whose registry says nothing at all is given up after the time for a fetch, and its npm is ended",
    (world) =>
      Effect.gen(function* () {
        world.registry.hang()
        const error = yield* Effect.flip(world.fetch("6.0.22"))
        assert.match(error.message, /^npm did not end in time; check the registry/)
        assert.isFalse(world.container.processes.some(({ facts }) => facts.argv.includes("install")))
        assert.deepStrictEqual(packages(world), [])
        world.registry.mend()
        assert.deepStrictEqual((yield* world.run()).changes, { create: 18 })
      }),
    { fetchTimeout: "1 minute" },
  )

  world("that nobody needs goes, with its plugin; what is needed or has just been fetched stays", (world) =>
    Effect.gen(function* () {
      yield* world.fetch("6.0.21")
      yield* world.run()
      assert.lengthOf(packages(world), 2)
      yield* world.prune(new Set(["6.0.22"]))
      assert.lengthOf(packages(world), 2)
      yield* Effect.sleep("6 minutes")
      yield* world.prune(new Set(["6.0.21", "6.0.22"]))
      assert.lengthOf(packages(world), 2)
      yield* world.prune(new Set(["6.0.22"]))
      assert.match(packages(world).join(), /^6\.0\.22-[0-9a-f]{12}$/)
      assert.deepStrictEqual(plugins(world), ["resource-kubernetes-v4.25.0"])
      assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: 18 })
      yield* Effect.sleep("6 minutes")
      yield* world.prune(new Set())
      assert.deepStrictEqual([packages(world), plugins(world)], [[], []])
    }),
  )

  world("of which a power cut has left a part goes, though its version is needed", (world) =>
    Effect.gen(function* () {
      yield* world.fetch("6.0.22")
      const [whole = ""] = packages(world)
      world.files.remove(`/operator/state/packages/${whole}/store.json`)
      yield* Effect.sleep("6 minutes")
      yield* world.prune(new Set(["6.0.22"]))
      assert.deepStrictEqual(packages(world), [])
      assert.deepStrictEqual((yield* world.run()).changes, { create: 18 })
      assert.deepStrictEqual(packages(world), [whole])
    }),
  )

  world("that comes again with another content is refused", (world) =>
    Effect.gen(function* () {
      yield* world.fetch("6.0.22")
      yield* Effect.sleep("6 minutes")
      yield* world.prune(new Set())
      const before = world.registry.find("@di-framework/platform").find(({ version }) => version === "6.0.22")
      if (before === undefined) return assert.fail("it is published")
      world.registry.publish({ ...before, files: { ...before.files, "README.md": "another content" } })
      const error = yield* Effect.flip(world.fetch("6.0.22"))
      assert.match(error.message, /^The registry has another content for @di-framework\/platform 6\.0\.22/)
      assert.deepStrictEqual(packages(world), [])
      world.registry.publish(before)
      yield* world.fetch("6.0.22")
      assert.lengthOf(packages(world), 1)
    }),
  )

  world("that was changed after it was fetched is not run", (world) =>
    Effect.gen(function* () {
      const platform = yield* world.fetch("6.0.22")
      const file = `${platform.directory}/node_modules/@di-framework/platform/package.json`
      world.files.chmod(file, 0o644)
      world.files.writeText(file, `${world.files.readText(file)} `, 0o644)
      const error = yield* Effect.flip(world.run({ package: platform }))
      assert.strictEqual(error.step, "check package")
      assert.isFalse(world.files.exists(`${world.instance}/project`))
      assert.deepStrictEqual((yield* world.run()).changes, { create: 18 })
    }),
  )
})

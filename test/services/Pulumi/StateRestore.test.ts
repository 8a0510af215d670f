// A state that was cut off, in the simulated engine through the live service: put back by evidence, or left alone.
import { gunzipSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import { ConfigMap, Deployment, Namespace, Secret, Service } from "../../../src/services/Kubernetes/Kinds.ts"
import type { InstanceRecord } from "../../../src/services/StateStore/StateStore.ts"
import { makeWorld, type World } from "../../twins/pulumi/testWorld.ts"
import { type Simulation, simulate, until } from "../../twins/simulation/Simulation.ts"

const world = <A, E>(name: string, test: (world: World) => Effect.Effect<A, E, Simulation | Scope.Scope>) =>
  it(name, () => {
    simulate(Effect.flatMap(makeWorld(), test), { seed: 1 })
  })

/** What the package and the wrapper register. */
const whole = 18
const backend = ({ instance }: World) => `${instance}/backend/.pulumi`
const state = (world: World) => `${backend(world)}/stacks/platform-instance/instance.json.gz`
const history = (world: World) => `${backend(world)}/history/platform-instance/instance`
const checkpoints = (world: World) =>
  world.files
    .list(history(world))
    .filter((name) => name.includes(".checkpoint.") && name.endsWith(".gz"))
    .map((name) => `${history(world)}/${name}`)
/** What was exported before and after operations. */
const exported = (world: World) =>
  world.files.list(`${world.instance}/exports`).map((name) => `${world.instance}/exports/${name}`)
const empty = (world: World, files: ReadonlyArray<string>) => {
  for (const file of files) world.files.writeText(file, "", 0o600)
}
const notices = (world: World) => world.steps.filter((step) => step.startsWith("The state file"))
const textOf = (world: World, file: string) => gunzipSync(world.files.readFile(file)).toString("utf8")

/** Of the record, what an install has proved. */
const proveInstalled = ({ files, instance }: World) => {
  const record: InstanceRecord = {
    format: 1,
    uid: "uid",
    installed: {
      version: "6.0.22",
      generation: 1,
      reason: "FirstInstall",
      finishedAt: "2026-01-01T00:00:00Z",
      tenants: 1,
      users: 0,
      endpoints: {},
    },
  }
  files.writeText(`${instance}/instance.json`, JSON.stringify(record), 0o600)
}

describe("a state that was cut off", () => {
  world("is put back from the newest of its copies, and the damaged one is kept", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      proveInstalled(world)
      const damaged = world.files.readFile(state(world)).slice(0, 100)
      world.files.writeFile(state(world), damaged)
      assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: whole })
      assert.match(notices(world).join(), /^The state file was cut off and has been put back from .* kept as/)
      assert.deepStrictEqual(world.files.readFile(`${world.instance}/state-damaged-recovered`), damaged)
      assert.isUndefined(world.files.lstat(`${world.instance}/state-damaged`))
      yield* world.run({ refresh: true })
      assert.strictEqual(notices(world).length, 1)
    }),
  )

  world("is put back from what can be read, newest first", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      yield* world.run()
      proveInstalled(world)
      const [older = "", newer = ""] = checkpoints(world)
      empty(world, [state(world), `${state(world)}.bak`])
      const newest = JSON.parse(textOf(world, newer)).checkpoint.latest.manifest.time
      yield* world.run()
      assert.include(notices(world).join(), `checkpoint that can be read (${newest})`)
      empty(world, [
        state(world),
        `${state(world)}.bak`,
        ...checkpoints(world).filter((name) => name !== older),
      ])
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
      assert.strictEqual(notices(world).length, 2)
    }),
  )

  world("is put back from the export when nothing else can be read", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      yield* world.run({ refresh: true })
      proveInstalled(world)
      empty(world, [state(world), `${state(world)}.bak`, ...checkpoints(world)])
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
      assert.include(notices(world).join(), "the newest export that can be read")
    }),
  )

  world("or is gone while copies of it are there, is put back", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      world.files.remove(state(world))
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
      assert.match(notices(world).join(), /^The state file was missing and has been put back from/)
      assert.isUndefined(world.files.lstat(`${world.instance}/state-damaged-recovered`))
    }),
  )

  world("is not put back from a copy of another cluster's", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      proveInstalled(world)
      const foreign = textOf(world, state(world)).replaceAll(world.uid, "another-cluster")
      for (const file of [`${state(world)}.bak`, ...checkpoints(world)]) {
        world.files.writeFile(file, gzipSync(foreign))
      }
      empty(world, exported(world))
      empty(world, [state(world)])
      assert.match((yield* Effect.flip(world.run())).message, /^The state file is damaged and no copy/)
    }),
  )

  world("with no copy, of what is installed, is left alone and named", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      proveInstalled(world)
      empty(world, [state(world), `${state(world)}.bak`, ...checkpoints(world), ...exported(world)])
      const before = world.admin.list(ConfigMap).map(({ metadata }) => metadata.resourceVersion)
      const error = yield* Effect.flip(world.run())
      assert.strictEqual(error.step, "check state")
      assert.include(error.message, `put back the folder ${world.instance}/backend`)
      assert.include(error.message, `${state(world)} cannot be read`)
      assert.strictEqual(world.files.readText(state(world)), "")
      assert.deepStrictEqual(
        world.admin.list(ConfigMap).map(({ metadata }) => metadata.resourceVersion),
        before,
      )
    }),
  )

  world(
    "with no copy, in a first install, begins empty and takes over what is there, releases too",
    (world) =>
      Effect.gen(function* () {
        yield* world.run()
        empty(world, [state(world), `${state(world)}.bak`, ...checkpoints(world), ...exported(world)])
        const made = () =>
          [ConfigMap, Deployment, Service, Namespace].flatMap((kind) =>
            world.admin.list(kind).map(({ metadata }) => `${kind.kind} ${metadata.name} ${metadata.uid}`),
          )
        const before = made()
        assert.match(before.join(), /Deployment wasmcloud-hosts /)
        yield* world.run()
        assert.include(notices(world).join(), "before anything was installed")
        assert.include(
          world.steps.join(),
          "Helm release wasmcloud/wasmcloud inside the instance, which is in use",
        )
        assert.deepStrictEqual(made(), before)
        assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: whole })
      }),
  )

  world("and of which not even a name is left: the Helm release that it knew makes way", (world) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(world.run())
      const released = () =>
        world.admin.list(Secret).some(({ type, metadata }) => {
          return type === "helm.sh/release.v1" && metadata.name.includes("wasmcloud")
        })
      yield* until(released, "5 minutes", "the release is being made")
      const marker = world.files.readText(`${world.instance}/operation.json`)
      yield* Fiber.interrupt(fiber)
      for (const folder of [
        `${backend(world)}/stacks`,
        `${backend(world)}/history`,
        `${world.instance}/exports`,
      ])
        world.files.remove(folder)
      world.files.writeText(`${world.instance}/operation.json`, marker, 0o600)
      assert.isAbove((yield* world.run()).changes.create ?? 0, 0)
      assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: whole })
      assert.isUndefined(world.files.lstat(`${world.instance}/state-damaged`))
      assert.isUndefined(world.files.lstat(`${world.instance}/state-damaged-recovered`))
    }),
  )

  world("and of which the whole backend is gone is put back from an export", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      proveInstalled(world)
      world.files.remove(`${world.instance}/backend`)
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
      assert.include(notices(world).join(), "was missing and has been put back from the newest export")
    }),
  )

  world("of which nothing is left, of what is installed: left alone, unless it is said to be lost", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      proveInstalled(world)
      const uids = new Set(world.admin.list(ConfigMap).map(({ metadata }) => metadata.uid))
      for (const folder of ["backend", "exports"]) world.files.remove(`${world.instance}/${folder}`)
      const error = yield* Effect.flip(world.run())
      assert.strictEqual(error.step, "check state")
      assert.include(error.message, `${state(world).replace(".json.gz", "")} is missing`)
      assert.isFalse(world.files.exists(state(world)))
      yield* world.run({ state: "lost" })
      for (const { metadata } of world.admin.list(ConfigMap))
        assert.isTrue(uids.has(metadata.uid), metadata.name)
      assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: whole })
    }),
  )

  world("that is of another cluster never meets this one", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      proveInstalled(world)
      const foreign = textOf(world, state(world)).replaceAll(world.uid, "another-cluster")
      world.files.writeFile(state(world), gzipSync(foreign))
      const error = yield* Effect.flip(world.run({ refresh: true }))
      assert.include(error.message, "is of another cluster than the target")
      assert.strictEqual(textOf(world, state(world)), foreign)
    }),
  )

  world("says nothing when there never was one", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      assert.deepStrictEqual(notices(world), [])
    }),
  )
})

describe("after an operation", () => {
  world("its state survives a power cut", (world) =>
    Effect.gen(function* () {
      world.volume.settle()
      yield* world.run()
      const before = textOf(world, state(world))
      world.volume.powerCut()
      assert.strictEqual(textOf(world, state(world)), before)
      assert.strictEqual(checkpoints(world).length, 1)
    }),
  )

  world("that was cut off, settings that are torn do not matter", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      const fiber = yield* Effect.forkChild(world.run({ refresh: true }))
      yield* until(() => world.steps.includes("refresh"), "1 minute", "it refreshes")
      const marker = world.files.readText(`${world.instance}/operation.json`)
      yield* Fiber.interrupt(fiber)
      world.files.writeText(`${world.instance}/operation.json`, marker, 0o600)
      const settings = `${world.instance}/project/Pulumi.instance.yaml`
      world.files.writeText(settings, world.files.readText(settings).slice(0, 30), 0o600)
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
    }),
  )
})

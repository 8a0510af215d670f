// What the twin of the engine shows of contracts/pulumi-engine.md, met through the live Pulumi service.
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, type Scope } from "effect"
import { ConfigMap, Deployment, Namespace, Secret, Service } from "../../../src/services/Kubernetes/Kinds.ts"
import { runControllerManager } from "../controllers/ControllerManager.ts"
import { runNode } from "../controllers/node/Node.ts"
import { at, listOf, objectOf } from "../kubernetes/Json.ts"
import { makeApiServer } from "../kubernetes/Server.ts"
import { type Simulation, simulate, until } from "../simulation/Simulation.ts"
import { seeds } from "../simulation/seeds.ts"
import { kubeconfigTo, makeWorld, type World } from "./testWorld.ts"

const namespace = "wasmcloud"
const stateFolder = (world: World) => `${world.instance}/backend/.pulumi/stacks/platform-instance`
const stateText = (world: World) =>
  gunzipSync(world.files.readFile(`${stateFolder(world)}/instance.json.gz`)).toString("utf8")
const latest = (world: World) => objectOf(at(JSON.parse(stateText(world)), "checkpoint", "latest"))
const resources = (world: World) =>
  listOf(latest(world).resources).map((one) => String(at(one, "urn")).split("::").at(-1))
const pending = (world: World) =>
  listOf(latest(world).pending_operations).map((one) =>
    String(at(one, "resource", "urn"))
      .split("::")
      .at(-1),
  )
const locks = (world: World) =>
  world.files
    .list(`${world.instance}/backend/.pulumi/locks/organization/platform-instance/instance`)
    .filter((name) => name.endsWith(".json"))

const whole = 18
const config = (own: Readonly<Record<string, string>>) =>
  new Map(
    Object.entries({
      networkPolicyEngine: "existing",
      tenants: JSON.stringify([{ name: "acme" }]),
      fixtureSkipAwait: "true",
      ...own,
    }),
  )
const awaited = config({ fixtureSkipAwait: "false" })
const uidOf = (world: World, name: string) => world.admin.get(Deployment, { namespace, name })?.metadata.uid
const named = (world: World, name: string) => {
  const found = world.container.processes.find(({ facts }) => facts.argv[0] === name)
  assert.isDefined(found, name)
  return found
}
const runner = (world: World) => {
  const found = world.container.processes.find(({ facts }) => facts.argv.includes("operation"))
  assert.isDefined(found)
  return found
}
const hasController = (world: World) =>
  uidOf(world, "di-platform-controller") !== undefined && uidOf(world, "wasmcloud-hosts") !== undefined

/** Another content of a version that nobody has fetched yet. */
const republish = (world: World, version: string, file: string, change: (text: string) => string) => {
  const published = world.registry.find("@di-framework/platform").find((one) => one.version === version)
  const text = published?.files[file]
  if (published === undefined || text === undefined) return assert.fail(`${version} has ${file}`)
  world.registry.publish({ ...published, files: { ...published.files, [file]: change(text) } })
}

const world = <A, E>(name: string, test: (world: World) => Effect.Effect<A, E, Simulation | Scope.Scope>) =>
  it(name, () => {
    simulate(Effect.flatMap(makeWorld(), test), { seed: 1 })
  })

describe("a run", () => {
  world("makes what the package registers, and nothing the second time", (world) =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* world.run()).changes, { create: whole })
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
      assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: whole })
      assert.isUndefined(world.container.processes.find(() => true))
    }),
  )

  world("that throws deletes nothing, nor does one that the wrapper throws out", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      const before = resources(world).toSorted()
      const error = yield* Effect.flip(world.run({ version: "6.0.90" }))
      assert.match(
        error.message,
        /^The platform's program failed.*throws with a part of the platform registered/s,
      )
      republish(world, "6.0.21", "dist/existing.js", (text) => `${text}\nexports.tenants = []`)
      const thrown = yield* Effect.flip(world.run({ version: "6.0.21" }))
      assert.include(thrown.message, "made the tenants [], but the instance declares [acme]")
      assert.deepStrictEqual(resources(world).toSorted(), before)
    }),
  )

  world(
    "keeps secrets out of the state, the stack config and every argv, and drops config that is gone",
    (world) =>
      Effect.gen(function* () {
        const auth = {
          image: `auth@sha256:${"a".repeat(64)}`,
          issuer: "https://id",
          oauthClient: { id: "console", secretName: "platform-operator-tenant-auth" },
        }
        const secretConfig = new Map([["tenantAuthClientSecret", Redacted.make("planted-client-secret")]])
        yield* world.run({
          config: config({ tenantAuth: JSON.stringify(auth), storageRoot: "/a" }),
          secretConfig,
        })
        const settings = () => world.files.readText(`${world.instance}/project/Pulumi.instance.yaml`)
        const secret = world.admin.get(Secret, { namespace, name: "platform-operator-tenant-auth" })
        const stored = String(at(secret, "data", "clientSecret"))
        assert.strictEqual(Buffer.from(stored, "base64").toString(), "planted-client-secret")
        for (const text of [stateText(world), settings()]) {
          assert.notInclude(text, "planted-client-secret")
          assert.notInclude(text, stored)
          assert.notInclude(text, "planted-token")
        }
        assert.include(settings(), "storageRoot")
        yield* world.run()
        assert.notInclude(settings(), "storageRoot")
        assert.isUndefined(world.admin.get(Deployment, { namespace, name: "tenant-auth" }))
      }),
  )

  const auth = {
    image: `auth@sha256:${"a".repeat(64)}`,
    issuer: "https://id",
    oauthClient: { id: "console", secretName: "platform-operator-tenant-auth" },
  }
  const withSecret = (secret: string) => ({
    config: config({ tenantAuth: JSON.stringify(auth) }),
    secretConfig: new Map([["tenantAuthClientSecret", Redacted.make(secret)]]),
  })
  /** What a rotated client secret makes of its Secret, by the engine and by the server. */
  const rotate = Effect.fnUntraced(function* (world: World) {
    yield* world.run(withSecret("first"))
    const events: Array<string> = []
    world.api.subscribe(({ type, object }) => {
      if (object.kind === "Secret" && object.metadata.name === "platform-operator-tenant-auth")
        events.push(type)
    })
    const { changes } = yield* world.run(withSecret("second"))
    const { same: _, ...others } = changes
    const secret = world.admin.get(Secret, { namespace, name: "platform-operator-tenant-auth" })
    assert.strictEqual(Buffer.from(String(at(secret, "data", "clientSecret")), "base64").toString(), "second")
    return { events, others }
  })

  world("changes a Secret whose client secret was rotated: it is there all the while", (world) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* rotate(world), { events: ["MODIFIED"], others: { update: 1 } })
    }),
  )

  world(
    "replaces it where the program makes Secrets of its own, which may count on being replaced",
    (world) =>
      Effect.gen(function* () {
        const own = `new kubernetes.core.v1.Secret("own", { metadata: { name: "own" }, stringData: { a: "b" } }, { provider })`
        republish(world, "6.0.22", "dist/resources/platform.js", (text) =>
          text.replace("  return { provider", `  ${own}\n  return { provider`),
        )
        const { events, others } = yield* rotate(world)
        assert.deepStrictEqual([events.slice(-2), others], [["DELETED", "ADDED"], { replace: 1 }])
      }),
  )
})

describe("waiting", () => {
  world("is for pods, where there is a node that runs them", (world) =>
    Effect.gen(function* () {
      yield* runNode(world.api)
      assert.deepStrictEqual((yield* world.run({ config: awaited })).changes, { create: whole })
      const status = world.admin.get(Deployment, { namespace, name: "di-platform-controller" })?.status
      assert.strictEqual(at(status, "availableReplicas"), 1)
    }),
  )

  world("ends after ten minutes, and names what was awaited", (world) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(world.run({ config: awaited }))
      assert.match(error.message, /^A resource of the platform did not become ready in time/)
      assert.include(resources(world), "di-platform-controller")
      assert.notInclude(resources(world), "wasmcloud")
      assert.deepStrictEqual([locks(world), pending(world)], [[], []])
    }),
  )
})

describe("being stopped", () => {
  world("a program that never returns hangs, and is cancelled without a trace", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      const error = yield* Effect.flip(world.run({ version: "6.0.91" }))
      assert.match(error.message, /^The platform's program hangs/)
      assert.deepStrictEqual([locks(world), pending(world)], [[], []])
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole - 1, replace: 1 })
    }),
  )

  world("SIGTERM to the CLI lets go of the lock, and records what is half made", (world) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Effect.flip(world.run({ config: awaited })))
      yield* until(() => hasController(world), "1 minute", "the controller")
      yield* Effect.sleep("2 seconds")
      assert.lengthOf(locks(world), 1)
      assert.include(pending(world), "di-platform-controller")
      named(world, "pulumi").signal("SIGTERM")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual([locks(world), pending(world)], [[], []])
      assert.include(resources(world), "di-platform-controller")
      assert.deepStrictEqual((yield* world.run({ refresh: true })).changes.replace, undefined)
    }),
  )

  world("SIGKILL of the runner leaves lock, pending operations and a provider that goes on", (world) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Effect.flip(world.run({ config: awaited })))
      yield* until(() => hasController(world), "1 minute", "the controller")
      yield* Effect.sleep("2 seconds")
      const before = uidOf(world, "di-platform-controller")
      const provider = named(world, "pulumi-resource-kubernetes").facts
      assert.strictEqual(provider.session, runner(world).facts.pid)
      assert.notStrictEqual(provider.group, runner(world).facts.group)
      runner(world).signal("SIGKILL")
      const error = yield* Fiber.join(fiber)
      assert.include(error.message, "SIGKILL")
      assert.lengthOf(locks(world), 1)
      assert.include(pending(world), "di-platform-controller")
      // The operator ends what is left of the session.
      assert.lengthOf(world.container.processes, 0)

      world.steps.length = 0
      const { changes } = yield* world.run()
      assert.isUndefined(changes.replace)
      assert.strictEqual(uidOf(world, "di-platform-controller"), before)
      assert.match(
        world.steps.join("\n"),
        /Removed the lock of a holder.*release wasmcloud inside the instance was left half-way and has been uninstalled/s,
      )
      assert.deepStrictEqual([locks(world), pending(world)], [[], []])
    }),
  )
})

describe("drift", () => {
  world(
    "of objects comes back with a refresh alone, that of a release with the operator's own look",
    (world) =>
      Effect.gen(function* () {
        yield* world.run()
        world.admin.delete(ConfigMap, { namespace, name: "di-platform-version" })
        world.admin.patch(
          Service,
          { namespace, name: "di-platform-gateway" },
          { type: "merge", patch: { spec: { ports: [{ name: "http", port: 81, targetPort: 8080 }] } } },
        )
        assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
        const { changes } = yield* world.run({ refresh: true })
        assert.deepStrictEqual(changes, { same: whole - 2, create: 1, update: 1 })
        const ports = listOf(
          at(world.admin.get(Service, { namespace, name: "di-platform-gateway" }), "spec", "ports"),
        )
        assert.deepStrictEqual(
          ports.map((one) => at(one, "port")),
          [80],
        )

        world.admin.delete(Secret, { namespace, name: "wasmcloud-hosts" })
        assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
        assert.isUndefined(world.admin.get(Secret, { namespace, name: "wasmcloud-hosts" }))
        world.steps.length = 0
        assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: whole })
        assert.isDefined(world.admin.get(Secret, { namespace, name: "wasmcloud-hosts" }))
        assert.include(world.steps, "restore releases")
      }),
  )
})

describe("the target", () => {
  world("at another address, or with another user, is an update of its provider", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      world.network.listen("other.svc", 443, { ...world.endpoint, certificateNames: ["other.svc"] })
      const user = kubeconfigTo(`https://${world.address.host}:443`, "other")
      assert.deepStrictEqual((yield* world.run({ kubeconfig: Redacted.make(user) })).changes, {
        same: whole - 1,
        update: 1,
      })
      const moved = yield* world.run({ kubeconfig: Redacted.make(kubeconfigTo("https://other.svc:443")) })
      assert.deepStrictEqual(moved.changes, { same: whole - 1, update: 1 })
    }),
  )

  world(
    "of another identity never meets this state: its provider would be replaced, and with it everything",
    (world) =>
      Effect.gen(function* () {
        yield* world.run()
        const before = stateText(world)
        const refused = yield* Effect.flip(world.run({ clusterIdentifier: "another" }))
        assert.match(refused.message, /instance\.json\.gz is of another cluster than the target/)
        assert.strictEqual(stateText(world), before)
      }),
  )

  world("that refuses, or says nothing, costs nothing but time", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      const before = resources(world).toSorted()
      const changed = { config: config({ values: '{"replicas":2}' }) }
      world.api.faults.down()
      const refused = yield* Effect.flip(world.run(changed))
      assert.match(refused.message, /^The instance's cluster does not answer/)
      // Where nothing is to be changed nobody notices: inputs are compared with inputs.
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
      world.api.faults.up()
      const mend = world.network.blackHole(world.address.host, world.address.port)
      const silent = yield* Effect.flip(world.run(changed))
      assert.match(silent.message, /^The instance's cluster does not answer/)
      mend()
      assert.deepStrictEqual(resources(world).toSorted(), before)
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
    }),
  )

  world(
    "that is another cluster at the same address is not refreshed: the state would lose every resource",
    (world) =>
      Effect.gen(function* () {
        yield* world.run()
        const before = resources(world).toSorted()
        const api = yield* makeApiServer({ name: "impostor" })
        yield* runControllerManager(api, {})
        world.network.listen(world.address.host, world.address.port, { ...world.endpoint, api })
        const refused = yield* Effect.flip(world.run({ refresh: true }))
        assert.match(refused.message, /^The target is another cluster .* nothing was refreshed or applied/)
        assert.deepStrictEqual(resources(world).toSorted(), before)
        assert.isUndefined(api.as("admin").get(Deployment, { namespace, name: "di-platform-controller" }))
      }),
  )
})

describe("the passphrase and the state", () => {
  world("a wrong passphrase, or none, writes nothing", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      const before = stateText(world)
      world.files.writeText(world.options.passphraseFile, "another")
      assert.match(
        (yield* Effect.flip(world.run())).message,
        /^The passphrase does not open.*incorrect passphrase/s,
      )
      world.files.writeText(world.options.passphraseFile, "")
      assert.strictEqual((yield* Effect.flip(world.run())).step, "read passphrase")
      assert.strictEqual(stateText(world), before)
      world.files.writeText(world.options.passphraseFile, "planted-passphrase")
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
    }),
  )

  world("the salt is in the state, too, and a cut state is put back from its copy", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      world.files.remove(`${world.instance}/project/Pulumi.instance.yaml`)
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
      const file = `${stateFolder(world)}/instance.json.gz`
      world.files.writeFile(file, world.files.readFile(file).subarray(0, 100))
      world.files.remove(`${file}.attrs`)
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
      assert.match(world.steps.join(" "), /The state file was cut off and has been put back from /)
    }),
  )

  world("a full disk fails the operation, and the next one goes on", (world) =>
    Effect.gen(function* () {
      yield* world.fetch("6.0.22")
      const said: Array<string> = []
      for (const bytes of [40_000, 60_000, 70_000, 80_000]) {
        world.volume.free(bytes)
        const result = yield* Effect.result(world.run())
        if (result._tag === "Failure") said.push(result.failure.message)
        world.volume.free(undefined)
      }
      // Not all of them: the engine itself has met it, too.
      assert.isTrue(said.some((message) => message.startsWith("The disk is full")))
      assert.isUndefined((yield* world.run({ refresh: true })).changes.replace)
      assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
    }),
  )
})

describe("at any moment", () => {
  it.each(seeds(12))("a killed install is finished by the next operation, seed %i", (seed) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.fetch("6.0.22")
        const fiber = yield* Effect.forkChild(Effect.exit(world.run()))
        yield* until(() => world.container.processes.length > 0, "1 minute", "a process")
        yield* Effect.sleep(`${((seed * 7919) % 4200) + 1} millis`)
        for (const process of world.container.processes.toReversed()) process.signal("SIGKILL")
        yield* Fiber.join(fiber)
        const uid = world.admin.get(Namespace, { name: namespace })?.metadata.uid
        yield* world.run({ refresh: true })
        assert.deepStrictEqual([locks(world), pending(world)], [[], []])
        assert.lengthOf(resources(world), whole)
        if (uid !== undefined) {
          assert.strictEqual(world.admin.get(Namespace, { name: namespace })?.metadata.uid, uid)
        }
        assert.deepStrictEqual((yield* world.run()).changes, { same: whole })
      }),
      { seed },
    ),
  )
})

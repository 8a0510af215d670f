// The target of an instance, with the operator as it is and the world around it simulated: what a vCluster, its node and
// the API server can do to it.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { findCondition } from "../../src/schema/Conditions.ts"
import { hostNamespace } from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { seeds } from "../twins/simulation/seeds.ts"
import { key, makeWorld, type World, type WorldOptions } from "../twins/world/World.ts"

// Nothing here waits in real time: how long it takes says what else the machine is doing.
vi.setConfig({ testTimeout: 600_000 })

const condition = (world: World, type: Parameters<typeof findCondition>[1], of = key) =>
  findCondition(world.status(of)?.conditions, type)
const ready = (world: World) => until(() => world.isReady(), "30 minutes", "the instance is Ready")

/** An operator and an instance that is Ready; `calls` are the operator's, with those that were forbidden apart. */
const start = Effect.fnUntraced(function* (options: WorldOptions = {}) {
  const world = yield* makeWorld(options)
  const calls: Array<string> = []
  const forbidden: Array<string> = []
  const operator = yield* world.startOperator({
    onCall: ({ what }) => void calls.push(what),
    onAnswer: ({ what }, failure) => {
      if (/"code":403\b/.test(JSON.stringify(failure ?? ""))) forbidden.push(what)
    },
  })
  world.apply()
  yield* ready(world)
  return { ...world, calls, forbidden, operator }
})

/** Runs of programs that apply something, or restart. */
const deeds = (world: World) =>
  world.simulation.trace.lines.filter((line) =>
    / started: \S+(helm (upgrade|rollback|uninstall)|node .*runner\.mjs operation)/.test(line),
  ).length

const secretOf = (world: World, namespace: string, name: string) =>
  world.admin.get(Kinds.Secret, { namespace, name })

const decodeService = Schema.decodeUnknownSync(
  Schema.Struct({
    spec: Schema.Struct({ ports: Schema.Array(Schema.Struct({ name: Schema.String, port: Schema.Finite })) }),
  }),
)

const decodeOwned = Schema.decodeUnknownSync(
  Schema.Struct({
    metadata: Schema.Struct({
      managedFields: Schema.Array(Schema.Struct({ manager: Schema.String, operation: Schema.String })),
    }),
  }),
)

/** The numbers of a Service's ports, by their names. */
const portsOf = (world: World, name: string) => {
  const { spec } = decodeService(world.admin.get(Kinds.Service, { namespace: hostNamespace(key), name }))
  return Object.fromEntries(spec.ports.map((port) => [port.name, port.port]))
}

describe("a Service of the release whose port was given another number", () => {
  it.each(["vcluster", "vcluster-headless"])("has its own again, and no other: %s", (name) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const before = portsOf(world, name)
        world.admin.patch(
          Kinds.Service,
          { namespace: hostNamespace(key), name },
          { type: "json", operations: [{ op: "replace", path: "/spec/ports/0/port", value: 444 }] },
        )
        assert.notDeepEqual(portsOf(world, name), before)
        yield* until(
          () => JSON.stringify(portsOf(world, name)) === JSON.stringify(before),
          "5 minutes",
          "it is back",
        )
        yield* ready(world)
        yield* Effect.sleep("1 hour")
        assert.deepStrictEqual(portsOf(world, name), before)
        assert.strictEqual(condition(world, "Ready")?.status, "True")
        // Helm was refused nothing: there is no revision that failed.
        const states = world.admin
          .list(Kinds.Secret, { namespace: hostNamespace(key) })
          .flatMap(({ metadata }) => metadata.labels?.status ?? [])
        assert.notInclude(states, "failed")
        // Nor is it held up later: what a chart has in the place of that port is not laid beside one of the operator's.
        const owned = decodeOwned(world.admin.get(Kinds.Service, { namespace: hostNamespace(key), name }))
        const owners = owned.metadata.managedFields.map(({ manager, operation }) => `${manager} ${operation}`)
        assert.include(owners, "helm Apply")
        assert.notInclude(owners, "platform-operator Update")
      }),
      { seed: 1 },
    ),
  )
})

describe("a Ready target", () => {
  it("costs the host's API no request, however often it is looked at", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        yield* Effect.sleep("1 minute")
        const since = world.calls.length
        for (let pass = 0; pass < 20; pass += 1) {
          // Each edit is a pass.
          world.edit({ metadata: { labels: { pass: String(pass) } } })
          yield* Effect.sleep("1 minute")
        }
        const made = world.calls.slice(since)
        assert.isAbove(made.filter((what) => what === "inside: GET /readyz").length, 100)
        assert.deepStrictEqual(
          made.filter((what) => !what.startsWith("inside: ") && !/[?&]watch=1&/.test(what)),
          [],
        )
        assert.strictEqual(condition(world, "Ready")?.status, "True")
      }),
      { seed: 1 },
    ))

  it.each(["hang", "expire"] as const)("is not ready within 60 s when its API is dead: %s", (how) =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const before = deeds(world)
        world.vclusters[how](world.hostNamespace())
        yield* until(
          () => condition(world, "Ready")?.status === "False",
          "1 minute",
          "the instance says that it is not Ready",
        )
        for (const type of ["Ready", "TargetReady"] as const) {
          const { reason, message } = condition(world, type) ?? assert.fail(type)
          assert.strictEqual(reason, "TargetUnreachable")
          assert.include(message, `https://vcluster.${world.hostNamespace()}.svc:443`)
        }
        assert.strictEqual(condition(world, "Installed")?.status, "True")
        if (how === "hang") world.vclusters.recover(world.hostNamespace())
        else world.vclusters.rotate(world.hostNamespace())
        yield* ready(world)
        assert.strictEqual(deeds(world), before)
        assert.strictEqual(condition(world, "Installed")?.reason, "FirstInstall")
      }),
      { seed: 1 },
    ),
  )

  it.each(seeds(3))(
    "whose certificates are rotated has the new ones published at once, and nothing installed, seed %i",
    (seed) =>
      simulate(
        Effect.gen(function* () {
          const world = yield* start()
          const host = world.hostNamespace()
          const [before, old] = [deeds(world), secretOf(world, host, "vc-vcluster")?.data]
          const seen: Array<readonly [name: string, at: number]> = []
          world.host.subscribe(({ kind, object, type }) => {
            if (kind.kind === "Secret" && type !== "DELETED")
              seen.push([object.metadata.name, world.simulation.elapsed()])
          })
          world.vclusters.rotate(host)
          const isNew = () =>
            JSON.stringify(secretOf(world, host, "vc-vcluster")?.data) !== JSON.stringify(old)
          yield* until(isNew, "10 minutes", "the vCluster has new certificates")
          const written = seen.findLast(([name]) => name === "vc-vcluster")?.[1] ?? assert.fail()
          yield* ready(world)
          yield* Effect.sleep("1 minute")
          const published = seen.filter(([name]) => name === `${key.name}-kubeconfig`)
          assert.lengthOf(published, 1)
          // The poll is every 10 s; this is the watch, and an API that is only coming up, which is asked first.
          assert.isAtMost((published[0]?.[1] ?? Number.NaN) - written, 5_000)
          assert.strictEqual(world.isReady(), true)
          assert.strictEqual(deeds(world), before)
        }),
        { seed },
      ),
  )
})

describe("a vCluster whose image cannot be pulled", () => {
  it("says what its pod says, and comes up as soon as it can", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.startOperator()
        world.node.images.cutOff()
        world.apply()
        yield* until(
          () => /ImagePullBackOff|ErrImagePull/.test(condition(world, "TargetReady")?.message ?? ""),
          "5 minutes",
          "the pod's reason is told",
        )
        assert.strictEqual(condition(world, "TargetReady")?.reason, "ControlPlanePending")
        world.node.images.reconnect()
        yield* ready(world)
        assert.strictEqual(condition(world, "Installed")?.reason, "FirstInstall")
      }),
      { seed: 1 },
    ))
})

describe("a node on which everything is killed at once", () => {
  it.each(seeds(2))(
    "has its three instances Ready again, without an install and without a resync, seed %i",
    (seed) =>
      simulate(
        Effect.gen(function* () {
          const world = yield* start()
          const keys = [key, { ...key, name: "two" }, { namespace: "team-b", name: "one" }]
          world.admin.create(Kinds.Namespace, {
            apiVersion: "v1",
            kind: "Namespace",
            metadata: { name: "team-b" },
          })
          for (const each of keys.slice(1)) world.apply({}, each)
          const allReady = () => keys.every((each) => world.isReady(each))
          yield* until(allReady, "30 minutes", "all are Ready")
          const identities = () =>
            keys.map((each) => [
              world.inner(each)?.as("kubernetes-admin").get(Kinds.Namespace, { name: "kube-system" })
                ?.metadata.uid,
              world.admin.get(Kinds.Service, { namespace: world.hostNamespace(each), name: "vcluster" })
                ?.metadata.uid,
              condition(world, "Installed", each)?.reason,
            ])
          const [before, made] = [identities(), deeds(world)]
          yield* Effect.sleep("1 minute")
          yield* world.operator.kill("power")
          yield* until(
            () => keys.every((each) => world.inner(each) === undefined),
            "1 minute",
            "everything has ended",
          )
          yield* until(
            () => allReady() && keys.every((each) => world.inner(each) !== undefined),
            "15 minutes",
            "all are Ready again",
          )
          yield* Effect.sleep("5 minutes")
          assert.isTrue(allReady())
          assert.deepStrictEqual(identities(), before)
          assert.strictEqual(deeds(world), made)
        }),
        { seed },
      ),
  )
})

describe("F32: the chart's least rules, enforced", () => {
  it("are enough for a whole life: installs, edits, upgrades, repairs, resyncs, a deletion", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const host = world.hostNamespace()
        const wait = (until: () => boolean) => untilAndReady(world, until)
        world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
        yield* wait(() => world.status()?.applied?.tenants === 1)
        world.edit({ spec: { version: "6.0.21" } })
        yield* wait(() => world.status()?.installedVersion === "6.0.21")
        world.admin.patch(
          Kinds.Role,
          { namespace: host, name: "vc-vcluster" },
          { type: "merge", patch: { rules: [] } },
        )
        yield* wait(
          () =>
            JSON.stringify(world.admin.get(Kinds.Role, { namespace: host, name: "vc-vcluster" })?.rules) !==
            "[]",
        )
        world.admin.delete(Kinds.NetworkPolicy, { namespace: host, name: "platform-operator-control-plane" })
        world.admin.delete(Kinds.Secret, { namespace: host, name: "vc-vcluster" })
        yield* wait(() => condition(world, "Installed")?.reason === "Resync")
        const { lastRepair } = world.status() ?? {}
        yield* wait(() => world.status()?.lastRepair !== lastRepair)
        world.remove()
        yield* until(() => world.instance() === undefined, "30 minutes", "the instance is gone")
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(world.forbidden, [])
        // They are enforced: one that may not even list Services.
        const nobody = world.host.handle({ user: "nobody", method: "GET", path: "/api/v1/services" })
        assert.strictEqual(nobody.status, 403)
      }),
      { seed: 1 },
    ))
})

const untilAndReady = (world: World, condition: () => boolean) =>
  until(() => condition() && world.isReady(), "40 minutes", condition.toString())

describe("F56: an API server without admission policies", () => {
  it("has instances all the same, which say that they are not protected, once", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const { handle, watch } = world.host
        const lacks = (path: string) => path.startsWith("/apis/admissionregistration.k8s.io/")
        const missing = { status: 404, body: "404 page not found\n" }
        Object.assign(world.host, {
          handle: (request: Parameters<typeof handle>[0]) =>
            lacks(request.path) ? missing : handle(request),
          watch: (...args: Parameters<typeof watch>) => (lacks(args[0].path) ? missing : watch(...args)),
        })
        yield* world.startOperator()
        world.apply()
        yield* ready(world)
        yield* Effect.sleep("1 hour")
        assert.isTrue(world.isReady())
        assert.deepInclude(condition(world, "OwnerServiceProtected"), {
          status: "False",
          reason: "AdmissionPolicyUnavailable",
        })
        const warnings = world.events().filter(({ reason }) => reason === "AdmissionPolicyUnavailable")
        assert.deepStrictEqual(
          warnings.map(({ type }) => type),
          ["Warning"],
        )
        world.remove()
        yield* until(() => world.instance() === undefined, "10 minutes", "the instance is gone")
      }),
      { seed: 1 },
    ))
})

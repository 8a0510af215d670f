// The world for long runs, whose operator stands straight on the twins of its services, against the one at the operator's
// edge: the same day comes to the same in both.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Predicate } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiServer } from "../twins/kubernetes/ApiServer.ts"
import { runSimulation, simulate, until } from "../twins/simulation/Simulation.ts"
import { seeds } from "../twins/simulation/seeds.ts"
import { makeWorld, type World } from "../twins/world/World.ts"

// Nothing here waits in real time: how long it takes says what else the machine is doing.
vi.setConfig({ testTimeout: 600_000 })

const instances = ["one", "two", "three"].map((name) => ({ namespace: "team-a", name }))
const [one, two, three] = instances

const uid = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}/g

/** A status as text, without its times, the UIDs of this run, and how often something was tried until it was seen. */
const timeless = (status: unknown): string =>
  JSON.stringify(status, (key, value: unknown) =>
    ["lastRepair", "lastTransitionTime", "resyncStarted"].includes(key) ? undefined : value,
  )
    .replaceAll(uid, "uid")
    .replaceAll(/failed \d+ checks/g, "failed some checks")

/** What each instance has said of itself, one after another, from now on. */
const keepHistories = (world: World) => {
  const histories = new Map(instances.map(({ name }): [string, Array<string>] => [name, []]))
  world.host.subscribe(({ kind, object }) => {
    if (kind.plural !== Kinds.PlatformInstance.plural) return
    const history = histories.get(object.metadata.name)
    const status = timeless(object.status)
    if (history?.at(-1) !== status) history?.push(status)
  })
  return histories
}

/** Each write, with all it says, goes into the trace. */
const keepTrace = ({ simulation }: World, name: string, api: ApiServer) =>
  api.subscribe(({ type, object }) => simulation.trace.add(`${name}: ${type} ${JSON.stringify(object)}`))

const inside = (world: World, instance = one) => {
  const api = world.inner(instance)
  if (api === undefined) throw new Error(`${instance?.name} does not serve`)
  return { api, client: api.as("kubernetes-admin") }
}

const findInside = (world: World, kind: ResourceKind, name: string): KubeObject | undefined =>
  inside(world)
    .client.list(kind)
    .find(({ metadata }) => metadata.name === name)

const needInside = (world: World, kind: ResourceKind, name: string): KubeObject => {
  const found = findInside(world, kind, name)
  if (found === undefined) throw new Error(`${kind.kind} ${name} is not there`)
  return found
}

const settled = Effect.fnUntraced(function* (world: World) {
  yield* world.startOperator()
  for (const instance of instances) world.apply({}, instance)
  yield* until(() => instances.every(world.isReady), "20 minutes", "all are Ready")
  // The first repair changes the reason of `Installed`, once.
  yield* Effect.sleep("35 minutes")
})

/** What somebody can have written on purpose of what the platform consists of. */
const platformOf = (world: World, instance = one): ReadonlyArray<string> =>
  [Kinds.Namespace, Kinds.ConfigMap, Kinds.Secret, Kinds.Service, Kinds.Deployment]
    .flatMap((kind) => inside(world, instance).client.list(kind))
    .filter(({ metadata }) => metadata.labels?.owner !== "helm" && metadata.name !== "kube-root-ca.crt")
    .map(({ kind, metadata, spec, data }) =>
      JSON.stringify([
        kind,
        metadata.namespace,
        metadata.name,
        metadata.labels,
        Predicate.isObject(spec) ? Object.keys(spec).toSorted() : spec,
        data,
      ]),
    )

/** A list of objects, whatever order they were set right in. */
const wordsOf = (text: string) => text.replaceAll(uid, "uid").split(", ").toSorted()

const day = Effect.fnUntraced(function* (direct: boolean) {
  const world = yield* makeWorld({ traced: false, direct })
  yield* settled(world)
  const histories = keepHistories(world)

  // Edited and removed by hand, an object of the engine's and one of a Helm release: the next repair sets both right.
  yield* Effect.sleep("10 minutes")
  const version = needInside(world, Kinds.ConfigMap, "di-platform-version")
  inside(world).client.patch(Kinds.ConfigMap, version.metadata, {
    type: "merge",
    patch: { data: { version: "0.0.0" } },
  })
  inside(world).client.delete(Kinds.Secret, needInside(world, Kinds.Secret, "wasmcloud-hosts").metadata)
  yield* Effect.sleep("90 minutes")

  // The API of another one is away for a while.
  inside(world, two).api.faults.down()
  yield* Effect.sleep("4 minutes")
  inside(world, two).api.faults.up()
  yield* Effect.sleep("86 minutes")

  // A repair of the third fails, for once.
  inside(world, three).api.faults.answer(500, { method: "GET", kind: Kinds.ConfigMap })
  yield* Effect.sleep("3 hours")

  return {
    histories: Object.fromEntries(histories),
    events: instances.map((instance) =>
      world
        .events(instance)
        .map(({ type, reason, note }) =>
          [type, reason, ...String(note).split(": ").flatMap(wordsOf)].join(" "),
        )
        .toSorted(),
    ),
    platforms: instances.map((instance) => platformOf(world, instance)),
    version: needInside(world, Kinds.ConfigMap, "di-platform-version").data,
  }
})

describe("the world without the operator's edge", () => {
  it("comes to the same as the one with it, over a day with troubles", () => {
    const edge = simulate(day(false), { seed: 1 })
    const direct = simulate(day(true), { seed: 1 })
    assert.deepStrictEqual(direct, edge)
    // That there were troubles at all.
    assert.deepStrictEqual(edge.version, { version: "6.0.22" })
    assert.include(edge.events[0]?.join(), "Secret wasmcloud/wasmcloud-hosts (missing)")
    assert.include(edge.histories.two?.join(), "TargetUnreachable")
    assert.include(edge.histories.three?.join(), "InstallFailed")
  })

  it.each(seeds(2))("writes the same trace for the same seed: seed %i", (seed) => {
    const life = Effect.gen(function* () {
      const world = yield* makeWorld({ direct: true })
      keepTrace(world, "host", world.host)
      const operator = yield* world.startOperator()
      world.apply()
      yield* until(() => world.inner() !== undefined, "5 minutes", "the vCluster serves")
      keepTrace(world, "inside", inside(world).api)
      yield* until(() => world.status()?.phase === "Installing", "5 minutes", "the install has begun")
      yield* operator.kill("pod")
      yield* until(() => world.isReady(), "10 minutes", "the instance is Ready")
      yield* Effect.sleep("2 hours")
      world.remove()
      yield* until(() => world.instance() === undefined, "10 minutes", "the instance is gone")
    })
    const first = runSimulation(life, { seed }).trace
    const second = runSimulation(life, { seed }).trace
    const differs = first.lines.findIndex((line, index) => line !== second.lines[index])
    assert.strictEqual(second.lines[differs], first.lines[differs], `line ${differs}`)
    assert.strictEqual(second.lines.length, first.lines.length)
    assert.isAbove(first.lines.length, 100)
  })

  it("has what is removed inside put back by the next repair", () => {
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false, direct: true })
        yield* settled(world)
        const removed = [
          [Kinds.ConfigMap, "di-platform-version"],
          [Kinds.Deployment, "wasmcloud-hosts"],
        ] as const
        for (const [kind, name] of removed) {
          inside(world).client.delete(kind, needInside(world, kind, name).metadata)
        }
        const before = world.status()?.lastRepair
        yield* until(() => world.status()?.lastRepair !== before, "35 minutes", "the next repair has ended")
        for (const [kind, name] of removed) assert.isDefined(findInside(world, kind, name), name)
        assert.isTrue(world.isReady())
      }),
      { seed: 1 },
    )
  })
})

// Helm releases that are in use inside the target and that the state does not know, in the simulated engine through the
// live service: taken over as they are, or left alone.
import { gunzipSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { Deployment, Secret, Service } from "../../../src/services/Kubernetes/Kinds.ts"
import { KubeError, type KubernetesClient } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { useOf } from "../../../src/services/Pulumi/Adoption.ts"
import { type Way, wayOf } from "../../../src/services/Pulumi/ReleasesInTheWay.ts"
import type { InstanceRecord } from "../../../src/services/StateStore/StateStore.ts"
import { at, listOf, objectOf, textOf } from "../../twins/kubernetes/Json.ts"
import { makeWorld, type World } from "../../twins/pulumi/testWorld.ts"
import { type Simulation, simulate } from "../../twins/simulation/Simulation.ts"

const world = <A, E>(name: string, test: (world: World) => Effect.Effect<A, E, Simulation | Scope.Scope>) =>
  it(name, { timeout: 600_000 }, () => {
    simulate(Effect.flatMap(makeWorld(), test), { seed: 1 })
  })

const whole = 18
const namespace = "wasmcloud"
const release = "kubernetes:helm.sh/v3:Release"
const file = ({ instance }: World) => `${instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz`
const stateOf = (world: World) => JSON.parse(gunzipSync(world.files.readFile(file(world))).toString("utf8"))
const knows = (world: World) =>
  listOf(at(stateOf(world), "checkpoint", "latest", "resources")).some((one) => at(one, "type") === release)

/** As a state is from before the release was made, and what depends on it; `begun`: from the moment in which it was being made. */
const forget = (world: World, begun = false) => {
  const state = stateOf(world)
  const latest = objectOf(at(state, "checkpoint", "latest"))
  const resources = listOf(latest.resources)
  const own = resources.filter((one) => at(one, "type") === release)
  assert.lengthOf(own, 1)
  const urn = at(own[0], "urn")
  const dropped = resources.filter(
    (one) => own.includes(one) || listOf(at(one, "dependencies")).includes(urn),
  )
  const pending = own.map((one) => {
    const { outputs: _, id: __, ...resource } = objectOf(one)
    return { resource, type: "creating" }
  })
  const older = {
    ...latest,
    resources: resources.filter((one) => !dropped.includes(one)),
    ...(begun ? { pending_operations: pending } : {}),
  }
  const text = JSON.stringify({ ...state, checkpoint: { ...state.checkpoint, latest: older } })
  world.files.writeFile(file(world), gzipSync(text), 0o600)
  return dropped.length
}

const records = (world: World) =>
  world.admin
    .list(Secret, { namespace })
    .filter(({ type }) => type === "helm.sh/release.v1")
    .map(({ metadata }) => `${metadata.name} ${metadata.labels?.status}`)
    .sort()
const first = "sh.helm.release.v1.wasmcloud.v1"

/** What there is, by UID; Helm's records apart, of which each upgrade makes one. */
const inside = (world: World) =>
  [Deployment, Service, Secret].flatMap((kind) =>
    world.admin
      .list(kind)
      .filter(({ type }) => type !== "helm.sh/release.v1")
      .map(({ metadata }) => `${kind.kind} ${metadata.name} ${metadata.uid}`),
  )

/** The content of a record as that of another revision. */
const asRevision = (version: number, content: string): string => {
  const packed = Buffer.from(Buffer.from(content, "base64").toString("latin1"), "base64")
  const release = { ...JSON.parse(gunzipSync(packed).toString("utf8")), version }
  return Buffer.from(gzipSync(JSON.stringify(release)).toString("base64")).toString("base64")
}

/** Somebody has written the record as it is, by another Helm. */
const rewrite = (world: World) => {
  const record = world.admin.get(Secret, { namespace, name: first })
  if (record === undefined) return assert.fail("it is there")
  const { labels = {} } = record.metadata
  const { data, type } = record
  world.admin.delete(Secret, { namespace, name: first })
  world.api.as("admin", "helm").create(Secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: first, labels },
    data,
    type,
  })
}

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

/** All that was there is there; the state knows the release again, and the next repair finds nothing to do. */
const takenOver = Effect.fnUntraced(function* (world: World, before: ReadonlyArray<string>) {
  assert.include(
    world.steps.join("\n"),
    "The state did not know Helm release wasmcloud/wasmcloud inside the instance, which is in use: it was taken over as it is.",
  )
  assert.deepStrictEqual(inside(world), before)
  assert.isTrue(knows(world))
  assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: whole })
  assert.deepStrictEqual(inside(world), before)
})

describe("a Helm release that is in use and that the state does not know", () => {
  it("is taken over, makes way or is left alone, by what was lost and what it shows", () => {
    const ways = (older: boolean) =>
      [
        { inUse: 3, byEngine: true },
        { inUse: 3, byEngine: false },
        { inUse: undefined, byEngine: true },
        { inUse: undefined, byEngine: false },
      ].map((use): Way => wayOf(older, use))
    assert.deepStrictEqual(ways(false), ["take over", "refuse", "make way", "refuse"])
    assert.deepStrictEqual(ways(true), ["take over", "take over", "make way", "make way"])
  })

  world("is taken over by a state that is known to be older, whoever wrote its record last", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      const before = inside(world)
      const dropped = forget(world)
      assert.isAbove(dropped, 1)
      rewrite(world)
      const { changes } = yield* world.run({ refresh: true, state: "older" })
      assert.deepStrictEqual(changes, { same: whole - dropped, update: 1, create: dropped - 1 })
      assert.deepStrictEqual(records(world), [
        `${first} superseded`,
        "sh.helm.release.v1.wasmcloud.v2 deployed",
      ])
      yield* takenOver(world, before)
    }),
  )

  for (const { known, state } of [
    { known: "", state: { state: "older" } },
    { known: ", and nobody knows that the state is older", state: {} },
    { known: ", and all is said to be lost", state: { state: "lost" } },
  ] as const) {
    world(`is taken over though it was being made when that state was written${known}`, (world) =>
      Effect.gen(function* () {
        yield* world.run()
        const before = inside(world)
        forget(world, true)
        yield* world.run({ refresh: true, ...state })
        yield* takenOver(world, before)
        assert.notInclude(world.steps.join("\n"), "uninstalled")
      }),
    )
  }

  world("is taken over when nothing at all is left of the state, and a fresh start is asked for", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      proveInstalled(world)
      const before = inside(world)
      for (const folder of ["backend", "exports"]) world.files.remove(`${world.instance}/${folder}`)
      yield* world.run({ state: "lost" })
      yield* takenOver(world, before)
      assert.notInclude(world.steps.join("\n"), "uninstalled")
    }),
  )

  world("is taken over when an engine has made it, though nobody knows that the state is older", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      const before = inside(world)
      forget(world)
      yield* world.run({ refresh: true })
      yield* takenOver(world, before)
    }),
  )

  world(
    "is taken over by a state that was put back from an older copy, when something is installed",
    (world) =>
      Effect.gen(function* () {
        yield* world.run()
        proveInstalled(world)
        const before = inside(world)
        forget(world)
        const older = world.files.readFile(file(world))
        const folder = `${world.instance}/backend/.pulumi/history`
        world.files.remove(folder)
        world.files.remove(`${world.instance}/exports`)
        world.files.writeFile(`${file(world)}.bak`, older, 0o600)
        world.files.writeText(file(world), "", 0o600)
        yield* world.run()
        assert.include(world.steps.join("\n"), "has been put back from its copy from before the last write")
        yield* takenOver(world, before)
      }),
  )

  world("is left alone and named when nothing shows that an engine has made it", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      forget(world)
      rewrite(world)
      const before = [...inside(world), ...records(world)]
      const error = yield* Effect.flip(world.run({ refresh: true }))
      assert.strictEqual(error.reason, "Failed")
      assert.match(
        error.message,
        /^Helm release wasmcloud\/wasmcloud is inside the instance, but no state here knows it, .* left alone\. .* put a newer one back to \/operator\/state\/instances\/team-a\/one; /,
      )
      assert.deepStrictEqual([...inside(world), ...records(world)], before)
    }),
  )

  world("makes way when it never was in use", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      forget(world)
      const record = world.admin.get(Secret, { namespace, name: first })
      world.admin.patch(
        Secret,
        { namespace, name: first },
        {
          type: "merge",
          patch: { metadata: { labels: { ...record?.metadata.labels, status: "pending-install" } } },
        },
      )
      yield* world.run({ refresh: true, state: "older" })
      assert.include(world.steps.join("\n"), "was left half-way and has been uninstalled")
      assert.isTrue(knows(world))
      assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: whole })
    }),
  )
})

describe("a Helm release that somebody has begun to uninstall, and that the state does not know", () => {
  world("is uninstalled to its end, though it was in use, and made anew", (world) =>
    Effect.gen(function* () {
      yield* world.run()
      forget(world)
      const record = world.admin.get(Secret, { namespace, name: first })
      if (record === undefined) return assert.fail("it is there")
      const { data, type, metadata } = record
      const labelled = (status: string, version: string) => ({ ...metadata.labels, status, version })
      world.admin.patch(
        Secret,
        { namespace, name: first },
        { type: "merge", patch: { metadata: { labels: labelled("superseded", "1") } } },
      )
      world.api.as("admin", "pulumi-kubernetes").create(Secret, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: {
          namespace,
          name: "sh.helm.release.v1.wasmcloud.v2",
          labels: labelled("uninstalling", "2"),
        },
        data: { release: asRevision(2, textOf(at(data, "release")) ?? "") },
        type,
      })
      yield* world.run({ refresh: true, state: "older" })
      assert.include(world.steps.join("\n"), "was left half-way and has been uninstalled")
      assert.notInclude(world.steps.join("\n"), "taken over")
      assert.deepStrictEqual(records(world), [`${first} deployed`])
      assert.deepStrictEqual((yield* world.run({ refresh: true })).changes, { same: whole })
    }),
  )
})

describe("a record that cannot be read", () => {
  const answering = (code: number) =>
    ({
      list: () =>
        Effect.succeed([
          {
            apiVersion: "v1",
            kind: "Secret",
            metadata: {
              name: first,
              uid: "u",
              resourceVersion: "1",
              labels: { status: "deployed", version: "1" },
            },
          },
        ]),
      raw: () => Effect.fail(new KubeError({ code, reason: "x", request: "GET record", message: "x" })),
    }) as unknown as KubernetesClient
  const look = (code: number) => useOf(answering(code), { urn: "u", namespace, name: "wasmcloud" })

  it.effect("says nothing of who has made the release: the operation fails and is tried again", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(look(503))).code, 503)
      assert.deepStrictEqual(yield* look(404), { inUse: 1, byEngine: false })
    }),
  )
})

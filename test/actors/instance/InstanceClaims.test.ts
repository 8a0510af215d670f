// Two instances on one node that want the same.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { ANNOTATION_STORAGE_ROOT } from "../../../src/schema/Names.ts"
import { recordFor } from "../../../src/services/Backup/StateCopy.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { manifestOf } from "../support/instances.ts"
import { condition, phase, ready, reasons } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const port = (httpNodePort: number) => ({ platform: { gateway: { httpNodePort } } })
const other = { namespace: "team-a", name: "other" }
const applyOther = (world: World, spec: Readonly<Record<string, unknown>>) =>
  void world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(spec), metadata: other })
const runsOf = (world: World, name: string) =>
  world.pulumi.runs.filter(({ request }) => request.key.name === name).length

describe("an instance that wants what another one has", () => {
  for (const [what, first, second, step, names] of [
    ["its gateway's port", port(30_080), port(30_080), "check gateway port", "NodePort 30080"],
    [
      "a storage root inside its own",
      { platform: { storageRoot: "/data" } },
      { platform: { storageRoot: "/data/x" } },
      "check storage root",
      "/data/x overlaps /data",
    ],
  ] as const) {
    it.effect(
      `(${what}) is refused before it takes a permit; it is told what and whose, the other is left alone`,
      () =>
        Effect.gen(function* () {
          const world = yield* makeWorld()
          yield* world.startOperator()
          applyOther(world, first)
          yield* pass(120)
          world.apply(second)
          yield* pass(120)
          assert.strictEqual(phase(world), "Failed")
          assert.strictEqual(runsOf(world, "one"), 0)
          for (const type of ["Installed", "Ready"] as const) {
            const { reason, message } = condition(world, type) ?? assert.fail(type)
            assert.strictEqual(reason, "InstallFailed")
            assert.include(message, `${step} (version 6.0.22): `)
            assert.include(message, names)
            assert.include(message, "of instance team-a/other".slice(3))
          }
          // Nor may its pods mount what it has asked for.
          const { annotations } = (
            world.cluster.find(Kinds.Namespace, { name: world.host }) ?? assert.fail("gone")
          ).metadata
          const mark = annotations?.[ANNOTATION_STORAGE_ROOT]
          assert.strictEqual(mark, "/base/team-a/one")
          // Its repairs go on, though its rival is here.
          yield* pass(1_900, 10)
          assert.isAtLeast(runsOf(world, "other"), 2)
          world.cluster.end(Kinds.PlatformInstance, other)
          yield* pass(1_200, 10)
          assert.strictEqual(phase(world), "Ready")
        }),
    )
  }

  it.effect("(what it had before it was restored) is refused, and its pods may not mount it meanwhile", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      applyOther(world, { platform: { storageRoot: "/data" } })
      yield* pass(120)
      const others = world.store.records.get("team-a/other") ?? assert.fail("it is not installed")
      const own = recordFor({ ...others, uid: "before" }, false, "00112233445566aa")
      world.store.records.set("team-a/one", own)
      world.store.states.add("team-a/one")
      world.apply({ platform: { storageRoot: "/data" } })
      yield* pass(120)
      const mark = () =>
        world.cluster.find(Kinds.Namespace, { name: world.host })?.metadata.annotations?.[
          ANNOTATION_STORAGE_ROOT
        ]
      assert.strictEqual(mark(), "/base/team-a/one")
      assert.match(condition(world, "Ready")?.message ?? "", /^backup 00112233445566aa is being restored/)
      const adopted = world.store.records.get("team-a/one") ?? assert.fail("gone")
      const { restoring: _, ...rest } = adopted
      world.store.records.set("team-a/one", rest)
      yield* pass(300, 10)
      assert.strictEqual(runsOf(world, "one"), 0)
      assert.include(condition(world, "Installed")?.message, "/data overlaps /data of instance team-a/other")
      assert.strictEqual(mark(), "/base/team-a/one")
    }),
  )

  it.effect("(a NodePort that no Service can have) is told the range, and nothing is begun", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply(port(80))
      yield* pass(180)
      assert.strictEqual(phase(world), "Failed")
      const { message, reason } = condition(world, "Installed") ?? assert.fail("Installed")
      assert.strictEqual(reason, "InstallFailed")
      assert.include(
        message,
        "check gateway port (version 6.0.22): spec.platform.gateway.httpNodePort 80 is refused",
      )
      assert.include(message, "The range of valid ports is 30000-32767")
      assert.isEmpty(world.pulumi.runs)
      yield* world.edit({ spec: port(30_080) })
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("(a NodePort that a Service of somebody else has) is told which", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.cluster.create(Kinds.Service, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { namespace: "ops", name: "ingress" },
        spec: { ports: [{ port: 80, nodePort: 30_080 }] },
      })
      yield* world.edit({ spec: port(30_080) })
      yield* pass(30)
      assert.include(
        condition(world, "Installed")?.message ?? "",
        "NodePort 30080 is taken by Service ops/ingress",
      )
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      // Its own Service, synced to the host, is in nobody's way.
      yield* world.edit({ spec: port(30_081) })
      yield* pass(100)
      assert.strictEqual(phase(world), "Ready")
      world.cluster.create(Kinds.Service, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { namespace: world.host, name: "gateway-x-wasmcloud-x-vcluster" },
        spec: { ports: [{ port: 80, nodePort: 30_081 }] },
      })
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(100)
      assert.deepInclude(Option.getOrThrow(world.status()), { phase: "Ready", observedGeneration: 4 })
    }),
  )

  it.effect("(a storage root around the data of a retained instance) is refused", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      applyOther(world, { platform: { storageRoot: "/data/x" }, deletionPolicy: "Retain" })
      yield* pass(120)
      world.cluster.end(Kinds.PlatformInstance, other)
      yield* pass(20)
      assert.isUndefined(world.cluster.instance(other))
      world.apply({ platform: { storageRoot: "/data" } })
      yield* pass(60)
      assert.include(
        condition(world, "Installed")?.message ?? "",
        "spec.platform.storageRoot /data overlaps /data/x of instance team-a/other",
      )
    }),
  )
})

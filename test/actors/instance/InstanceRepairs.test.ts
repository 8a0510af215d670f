// When a Ready instance is repaired, and what is told of it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric, Option, Redacted, Tracer } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key, tenantAuth } from "../support/instances.ts"
import { condition, passUntil, phase, ready, reasons, repairDue } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const early = (world: World) => world.store.records.get("team-a/one")?.installed?.repairEarly ?? assert.fail()
/** Until the next repair has ended, in small steps while it runs. */
const passOverRepair = Effect.fnUntraced(function* (world: World) {
  yield* passUntil(repairDue(world) - 5)
  yield* pass(67)
})
const told = (world: World, reason: string) => world.events.filter((each) => each.reason === reason)
const restoredTotal = Effect.map(
  Metric.snapshot,
  (all) => all.find(({ id }) => id === "platform_operator_restored_objects_total")?.state,
)

describe("a repair", () => {
  it.effect(
    "is due an interval after the last one, up to 5 % earlier, drawn once and kept over a restart",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        const shares = new Set<number>()
        for (let repair = 1; repair <= 4; repair++) {
          const due = repairDue(world)
          shares.add(early(world))
          assert.isAtLeast(early(world), 0)
          assert.isBelow(early(world), 0.05)
          yield* passUntil(due - 400)
          if (repair === 2) {
            yield* world.operator.stop
            yield* world.startOperator()
          }
          yield* passUntil(due + 2, 10)
          const run = world.pulumi.runs[repair] ?? assert.fail("it has not begun")
          assert.strictEqual(run.request.kind, "RepairDue")
          assert.approximately(run.at / 1_000, due, 2)
          yield* pass(70)
        }
        assert.isAtLeast(shares.size, 2)
      }),
  )

  it.effect("warns by one Event when the disk is nearly full, and goes on", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const low = "513 MiB of 10240 MiB are free on the volume of the state directory"
      world.pulumi.sayings.push({ low })
      yield* passOverRepair(world)
      const [event, ...more] = told(world, "DiskLow")
      assert.isEmpty(more)
      assert.deepInclude(event, { type: "Warning", note: low })
      assert.strictEqual(phase(world), "Ready")
      assert.strictEqual(world.pulumi.runs[1]?.outcome, "succeeded")
    }),
  )

  it.effect("warns of what nobody can set right, and has succeeded all the same", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.sayings.push({
        kept: ["ConfigMap wasmcloud/settings (data)", "Job wasmcloud/once (spec.template)"],
      })
      yield* passOverRepair(world)
      const [event, ...more] = told(world, "NotRepaired")
      assert.isEmpty(more)
      assert.strictEqual(event?.type, "Warning")
      assert.match(
        event?.note ?? "",
        /: ConfigMap wasmcloud\/settings \(data\), Job wasmcloud\/once \(spec\.template\)$/,
      )
      assert.strictEqual(phase(world), "Ready")
      assert.isEmpty(told(world, "Repaired"))
    }),
  )

  it.effect("tells what it has set right: in one Event, its span and a metric", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          if (span.name === "Install.run") spans.push(span)
          return span
        },
      })
      yield* world.startOperator().pipe(Effect.withTracer(tracer))
      world.apply()
      yield* pass(120)
      const before = yield* restoredTotal
      world.pulumi.sayings.push(
        { restored: ["Secret wasmcloud/hosts (missing)"] },
        { changed: ["ConfigMap settings (created)", "Deployment hosts (updated)"] },
        // Looked at once more after the engine.
        { restored: ["Secret wasmcloud/hosts (missing)"] },
      )
      yield* passOverRepair(world)
      const [event, ...more] = told(world, "Repaired")
      assert.isEmpty(more)
      assert.deepInclude(event, {
        type: "Normal",
        note: "set right inside the instance: Secret wasmcloud/hosts (missing), ConfigMap settings (created), Deployment hosts (updated)",
      })
      const after = yield* restoredTotal
      assert.notDeepEqual(after, before)
      assert.strictEqual(spans.at(-1)?.attributes.get("platforminstance.restored.count"), 3)
      assert.strictEqual(
        spans.at(-1)?.attributes.get("platforminstance.restored.objects"),
        "Secret wasmcloud/hosts (missing), ConfigMap settings (created), Deployment hosts (updated)",
      )
      // The next one finds nothing, and says nothing.
      yield* passOverRepair(world)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue", "RepairDue"])
      assert.lengthOf(told(world, "Repaired"), 1)
      assert.deepStrictEqual(yield* restoredTotal, after)
      assert.isFalse(spans.at(-1)?.attributes.has("platforminstance.restored.count"))
    }),
  )

  it.effect(
    "tells it, too, when it fails after that; an install of something new tells nothing of the kind",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.pulumi.sayings.push({ changed: ["Deployment hosts (updated)"] })
        yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
        yield* pass(70)
        assert.isEmpty(told(world, "Repaired"))
        world.pulumi.sayings.push({ changed: ["ConfigMap settings (created)"] })
        world.pulumi.failures.push("Failed")
        yield* passOverRepair(world)
        assert.lengthOf(told(world, "InstallFailed"), 1)
        assert.lengthOf(told(world, "Repaired"), 1)
      }),
  )
})

describe("the client secret", () => {
  const secretRef = { namespace: "team-a", name: "oauth" }
  const store = (world: World, value: string) =>
    void world.cluster.apply(Kinds.Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: secretRef,
      data: { clientSecret: Buffer.from(value).toString("base64") },
    })
  const spec = {
    platform: {
      tenantAuth,
    },
  }
  const handedIn = (world: World) =>
    world.pulumi.runs.map(({ request }) =>
      [...request.secretConfig.values()].map((each) => Redacted.value(each)),
    )
  const withSecret = Effect.fnUntraced(function* () {
    const world = yield* makeWorld()
    store(world, "first")
    yield* world.startOperator()
    world.apply(spec)
    yield* pass(120)
    assert.strictEqual(phase(world), "Ready")
    return world
  })

  it.effect("that is rotated is handed in by the next repair", () =>
    Effect.gen(function* () {
      const world = yield* withSecret()
      store(world, "second")
      yield* passOverRepair(world)
      assert.deepStrictEqual(handedIn(world), [["first"], ["second"]])
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect(
    "that cannot be read any more stops a repair before anything is done, and is told of; what is installed stays",
    () =>
      Effect.gen(function* () {
        const world = yield* withSecret()
        const before = Option.getOrThrow(world.status())
        world.cluster.end(Kinds.Secret, secretRef)
        yield* passUntil(repairDue(world) + 10)
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
        for (const type of ["Installed", "ConfigApplied", "Ready"] as const)
          assert.deepInclude(condition(world, type), {
            status: "False",
            reason: "TenantAuthSecretUnavailable",
          })
        assert.strictEqual(phase(world), "Failed")
        const { installedVersion, applied, endpoints, kubeconfigSecretRef, target } = Option.getOrThrow(
          world.status(),
        )
        assert.deepStrictEqual(
          { installedVersion, applied, endpoints, kubeconfigSecretRef, target },
          {
            installedVersion: before.installedVersion,
            applied: before.applied,
            endpoints: before.endpoints,
            kubeconfigSecretRef: before.kubeconfigSecretRef,
            target: before.target,
          },
        )
        assert.strictEqual(condition(world, "TargetReady")?.status, "True")
        store(world, "again")
        yield* pass(200, 5)
        assert.deepStrictEqual(handedIn(world), [["first"], ["again"]])
        assert.strictEqual(phase(world), "Ready")
        assert.deepInclude(condition(world, "Installed"), { status: "True", reason: "Retry" })
      }),
  )
})

describe("a status that says something else than the record", () => {
  it.effect("is written again by the record, and told of once", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      const live = world.cluster.instance(key) ?? assert.fail()
      const before = Option.getOrThrow(world.status())
      world.cluster.put(Kinds.PlatformInstance, live, {
        ...live,
        status: { ...before, installedVersion: "6.0.21", target: { serviceUID: "another" } },
      })
      const operator = yield* world.startOperator()
      yield* pass(30)
      assert.deepStrictEqual(Option.getOrThrow(world.status()), before)
      const [event] = told(world, "StatusCorrected")
      assert.deepInclude(event, { type: "Warning" })
      assert.include(
        event?.note ?? "",
        "installedVersion was 6.0.21 and is 6.0.22, target.serviceUID was another",
      )
      yield* operator.stop
      yield* world.startOperator()
      yield* pass(30)
      assert.lengthOf(told(world, "StatusCorrected"), 1)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
    }),
  )

  it.effect("is no word when it has lost what it said, or when they agree", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      const live = world.cluster.instance(key) ?? assert.fail()
      world.cluster.put(Kinds.PlatformInstance, live, { ...live, status: {} })
      yield* world.startOperator()
      yield* pass(30)
      assert.strictEqual(phase(world), "Ready")
      assert.isEmpty(told(world, "StatusCorrected"))
    }),
  )
})

describe("an operator with another --storage-root-base", () => {
  it.effect("moves no storage root, and warns of it", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const record = world.store.records.get("team-a/one") ?? assert.fail()
      const storageRoot = { path: "/old/team-a/one", base: "/old" }
      yield* world.operator.stop
      world.store.records.set("team-a/one", { ...record, storageRoot })
      yield* world.startOperator()
      yield* passOverRepair(world)
      assert.strictEqual(world.pulumi.runs.at(-1)?.request.config.get("storageRoot"), "/old/team-a/one")
      assert.deepStrictEqual(world.store.records.get("team-a/one")?.storageRoot, storageRoot)
      assert.lengthOf(told(world, "StorageRootKept"), 1)
    }),
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Option } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { decoded, key, manifestOf, tenantAuth } from "../support/instances.ts"
import { kstatus } from "../support/kstatus.ts"
import { condition, outcomes, phase, ready, reasons } from "../support/readings.ts"
import { makeWorld, pass } from "../support/World.ts"

const HOUR = 3_600

describe("a new instance", () => {
  it.effect("comes up: Pending, Provisioning, Installing, Ready", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      assert.deepStrictEqual(world.story(), [
        "-: -, -",
        "Pending: -, TargetPending",
        "Provisioning: Creating, TargetPending",
        "Provisioning: ControlPlanePending, TargetPending",
        "Provisioning: KubeconfigPending, TargetPending",
        "Installing: Ready, Installing",
        "Ready: Ready, Ready",
      ])
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.deepInclude(Option.getOrThrow(world.status()), {
        observedGeneration: 1,
        installedVersion: "6.0.22",
        kubeconfigSecretRef: { name: "one-kubeconfig" },
      })
      assert.deepStrictEqual(
        world.events.map(({ type, reason }) => `${type} ${reason}`),
        ["Normal FirstInstall"],
      )
    }),
  )

  it.effect("gets its finalizer before anything is created", () =>
    Effect.gen(function* () {
      const { cluster } = yield* ready()
      assert.strictEqual(cluster.writes[0], "PATCH platforminstances/team-a/one")
      assert.include(cluster.instance(key)?.metadata.finalizers ?? [], "platform.di-framework.dev/instance")
    }),
  )

  it.effect(
    "installs what the operator itself supplies: root, address, host image, and the cluster's identity",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        const request = world.pulumi.runs[0]?.request
        assert.strictEqual(request?.config.get("storageRoot"), "/base/team-a/one")
        assert.strictEqual(
          request?.config.get("kubernetesEndpoint"),
          `https://vcluster.${world.host}.svc:443`,
        )
        assert.strictEqual(request?.config.get("tenantHostImage"), "ghcr.io/di-framework/wash@sha256:0")
        assert.match(request?.clusterIdentifier ?? "", /^kube-system behind /)
        assert.isFalse(request?.refresh)
      }),
  )

  it.effect("fetches its package while the target comes up", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* pass(120)
      // Helm takes 2 s, the control plane 20 s; the package's 5 s are not added to them.
      assert.isBelow(world.pulumi.runs[0]?.at ?? Number.POSITIVE_INFINITY, 25_000)
    }),
  )

  it.effect("waits for a predecessor's namespace to be gone", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      const name = world.host
      const annotations = { "platform.di-framework.dev/instance": "team-a/one" }
      const labels = { "platform.di-framework.dev/host-namespace": "true" }
      world.cluster.apply(Kinds.Namespace, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name, annotations, labels },
      })
      world.cluster.end(Kinds.Namespace, { name })
      world.apply()
      yield* pass(2)
      assert.match(condition(world, "TargetReady")?.message ?? "", /waiting for the earlier host namespace/)
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("a Ready instance", () => {
  it.effect("that has nothing to do writes nothing, and is asked all the while", () =>
    Effect.gen(function* () {
      const world = yield* ready({ repairInterval: Duration.hours(2) })
      const writes = world.cluster.writes.length
      const checks = world.checks.count
      yield* pass(HOUR, 10)
      assert.deepStrictEqual(world.cluster.writes.slice(writes), [])
      assert.isAtLeast(world.checks.count - checks, 355)
    }),
  )

  it.effect("is repaired after each interval, and a repair that finds nothing writes lastRepair alone", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      // Beside its line of the history.
      const writes = () => world.cluster.writes.filter((write) => !write.endsWith("-history")).length
      yield* pass(HOUR / 2 + 90, 10)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue"])
      assert.isTrue(world.pulumi.runs[1]?.request.refresh)
      assert.strictEqual(condition(world, "Installed")?.reason, "RepairDue")
      const first = Option.getOrThrow(world.status())
      const before = writes()
      yield* pass(HOUR + 130, 10)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue", "RepairDue", "RepairDue"])
      assert.strictEqual(writes() - before, 2)
      const last = Option.getOrThrow(world.status())
      assert.notStrictEqual(last.lastRepair, first.lastRepair)
      const { lastRepair: _, ...rest } = last
      assert.deepStrictEqual(first, { ...first, ...rest })
      assert.deepStrictEqual(
        world.events.map(({ reason }) => reason),
        ["FirstInstall"],
      )
    }),
  )

  it.effect("applies another spec, and stays Ready meanwhile", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(5)
      assert.strictEqual(phase(world), "Installing")
      assert.strictEqual(condition(world, "Ready")?.status, "True")
      assert.strictEqual(Option.getOrThrow(world.status()).observedGeneration, 1)
      yield* pass(70)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged"])
      assert.strictEqual(
        world.events.at(-1)?.note,
        "applied generation 2 over version 6.0.22: nothing of the platform had to change",
      )
      assert.deepInclude(Option.getOrThrow(world.status()), { phase: "Ready", observedGeneration: 2 })
      assert.deepInclude(Option.getOrThrow(world.status()).applied, { generation: 2, tenants: 1 })
    }),
  )

  it.effect("is upgraded, and not ready meanwhile; the old version is told until the new one is there", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ spec: { version: "6.0.23" } })
      yield* pass(10)
      assert.deepInclude(condition(world, "Ready"), { status: "False", reason: "Installing" })
      assert.strictEqual(Option.getOrThrow(world.status()).installedVersion, "6.0.22")
      yield* pass(70)
      assert.strictEqual(condition(world, "Installed")?.reason, "VersionChanged")
      assert.deepInclude(Option.getOrThrow(world.status()), { phase: "Ready", installedVersion: "6.0.23" })
    }),
  )

  it.effect("whose finalizer was taken away gets it back, and nothing else changes", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const before = world.status()
      yield* world.edit({ metadata: { finalizers: [] } })
      yield* pass(30)
      assert.include(
        world.cluster.instance(key)?.metadata.finalizers ?? [],
        "platform.di-framework.dev/instance",
      )
      assert.deepStrictEqual(world.status(), before)
    }),
  )
})

describe("an install that fails", () => {
  it.effect("is told, tried again with growing pauses and a refresh, and forgotten when it works", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      world.pulumi.failures.push("Failed", "Failed", "Failed", "Failed")
      yield* world.startOperator()
      world.apply()
      yield* pass(90)
      assert.include(world.story(), "Failed: Ready, InstallFailed")
      const message = "up (version 6.0.22): the program throws"
      assert.deepInclude(world.events[0], { type: "Warning", reason: "InstallFailed", note: message })
      yield* pass(300)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "Retry", "Retry", "Retry", "Retry"])
      assert.isTrue(world.pulumi.runs.slice(1).every(({ request }) => request.refresh))
      const starts = world.pulumi.runs.map(({ at }) => at / 1000)
      const pauses = starts.slice(1).map((at, index) => at - (starts[index] ?? 0) - 60)
      pauses.forEach((pause, index) => {
        assert.isAtLeast(pause, 0.8 * 2 ** index)
        assert.isAtMost(pause, 2 ** index + 1)
      })
      assert.strictEqual(phase(world), "Ready")
      assert.deepInclude(condition(world, "Installed"), { status: "True", reason: "Retry" })
    }),
  )

  it.effect("because it ran out of its time has failed, too", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      world.pulumi.failures.push("Cancelled")
      yield* world.startOperator()
      world.apply()
      yield* pass(200)
      assert.include(world.story(), "Failed: Ready, InstallFailed")
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "Retry"])
    }),
  )

  it.effect(
    "does not wait out its pause when the spec is edited; a retry takes precedence over the version",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        for (let failures = 0; failures < 7; failures++) world.pulumi.failures.push("Failed")
        yield* world.startOperator()
        world.apply()
        // Seven failures: the next pause is 51 s at least.
        while (outcomes(world).filter((each) => each === "failed").length < 7) yield* pass(10)
        yield* world.edit({ spec: { version: "6.0.23" } })
        yield* pass(10)
        assert.deepInclude(world.pulumi.runs[7]?.request, { kind: "Retry", version: "6.0.23" })
      }),
  )

  it.effect(
    "over a missing client secret applies nothing, names the Secret, and works once it is there",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.startOperator()
        world.apply({
          platform: {
            tenantAuth,
          },
        })
        yield* pass(60)
        assert.deepInclude(condition(world, "ConfigApplied"), { reason: "TenantAuthSecretUnavailable" })
        assert.match(condition(world, "Ready")?.message ?? "", /clientSecret of Secret team-a\/oauth/)
        assert.deepStrictEqual(reasons(world), [])
        const data = { clientSecret: Buffer.from("hush").toString("base64") }
        const metadata = { namespace: "team-a", name: "oauth" }
        const secret = world.cluster.create(Kinds.Secret, {
          apiVersion: "v1",
          kind: "Secret",
          metadata,
          data,
        })
        assert.isDefined(secret)
        yield* pass(200)
        assert.strictEqual(phase(world), "Ready")
        assert.notInclude(JSON.stringify([world.statuses, world.events, world.cluster.writes]), "hush")
        assert.notInclude(JSON.stringify([...(world.pulumi.runs[0]?.request.config ?? [])]), "hush")
      }),
  )
})

describe("one bad object among a hundred", () => {
  it.effect(
    "is told which field is wrong; the others are unaffected, and deleting it completes",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld({ maxConcurrentInstalls: 100, maxConcurrentTargets: 100 })
        const bad = { namespace: "team-a", name: "bad" }
        // Stored under an older CRD, when this was allowed.
        world.cluster.apply(Kinds.PlatformInstance, {
          apiVersion: "platform.di-framework.dev/v1alpha1",
          kind: "PlatformInstance",
          metadata: { ...bad, finalizers: ["platform.di-framework.dev/instance"] },
          spec: { version: "latest", target: { type: "vcluster" }, deletionPolicy: "Delete" },
        })
        const others = Array.from({ length: 99 }, (_, number) => ({
          namespace: "team-a",
          name: `i${number}`,
        }))
        const allReady = () => {
          const statuses = others.map((ref) => decoded(world.cluster.instance(ref) ?? assert.fail()).status)
          return statuses.every((status) => status?.phase === "Ready" && status.observedGeneration === 1)
        }
        yield* world.startOperator()
        for (const metadata of others)
          world.cluster.apply(Kinds.PlatformInstance, { ...manifestOf(), metadata })
        yield* pass(100)
        assert.isTrue(allReady())
        // It says so once, and rests.
        const told = world.events.filter(({ action }) => action === "Read")
        assert.lengthOf(told, 1)
        assert.match(told[0]?.note ?? "", /spec.*version/)
        const status = JSON.stringify(world.cluster.instance(bad)?.status)
        assert.match(status, /"phase":"Failed"/)
        assert.match(
          status,
          /"type":"Ready","status":"False","reason":"InstallFailed","message":"[^"]*version/,
        )
        const writes = world.cluster.writes.length
        world.cluster.end(Kinds.PlatformInstance, bad)
        yield* pass(30)
        assert.isUndefined(world.cluster.instance(bad))
        assert.isTrue(allReady())
        assert.isEmpty(world.cluster.writes.slice(writes).filter((write) => /\bi\d+\b/.test(write)))
      }),
    600_000,
  )
})

describe("several instances", () => {
  it.effect("install at most as many at once as there are permits, and all come up", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ maxConcurrentInstalls: 2 })
      yield* world.startOperator()
      const names = ["a", "b", "c", "d", "e"]
      for (const name of names) {
        const manifest = manifestOf()
        const metadata = { namespace: "team-a", name }
        assert.isDefined(world.cluster.apply(Kinds.PlatformInstance, { ...manifest, metadata }))
      }
      let most = 0
      for (let second = 0; second < 300; second++) {
        yield* pass(1)
        most = Math.max(most, outcomes(world).filter((each) => each === "running").length)
      }
      assert.strictEqual(most, 2)
      assert.deepStrictEqual(
        outcomes(world),
        Array.from(names, () => "succeeded"),
      )
    }),
  )
})

describe("a generic client", () => {
  it.effect("reads Current exactly while the newest generation is applied", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const current = new Set<number>()
      const tooEarly: Array<number> = []
      world.cluster.listeners.push(({ kind, object }) => {
        if (kind !== Kinds.PlatformInstance || object.status === undefined) return
        const { metadata, status = {} } = decoded(object)
        if (kstatus({ generation: metadata.generation, deleting: false, status }) !== "Current") return
        const proved = world.pulumi.runs.some(
          ({ request, outcome }) => outcome === "succeeded" && request.generation === metadata.generation,
        )
        if (proved) current.add(metadata.generation)
        else tooEarly.push(metadata.generation)
      })
      yield* world.startOperator()
      world.apply()
      yield* pass(120)
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(20)
      // Edited while the one before is being applied.
      yield* world.edit({ spec: { version: "6.0.23" } })
      yield* pass(200)
      world.pulumi.failures.push("Failed")
      yield* world.edit({ spec: { version: "6.0.24" } })
      yield* pass(200)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(tooEarly, [])
      assert.deepStrictEqual([...current], [1, 3, 4])
    }),
  )
})

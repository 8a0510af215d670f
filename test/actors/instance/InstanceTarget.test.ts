import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { condition, passUntil, phase, ready, reasons, repairDue } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

/** A namespace of the instance's name that somebody else has made. */
const takeNamespace = (world: World, owner: string | undefined) =>
  void world.cluster.apply(Kinds.Namespace, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: world.host,
      labels: { "platform.di-framework.dev/host-namespace": "true" },
      ...(owner === undefined ? {} : { annotations: { "platform.di-framework.dev/instance": owner } }),
    },
  })

describe("a target that cannot be made", () => {
  it.effect("because helm keeps failing is tried again with growing pauses, and told", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let failures = 0; failures < 6; failures++) world.helm.failures.push("no space left on device")
      yield* world.startOperator()
      world.apply()
      yield* pass(3)
      assert.strictEqual(phase(world), "Failed")
      assert.deepInclude(condition(world, "TargetReady"), {
        reason: "TargetError",
        message: "install vcluster 0.37.3: no space left on device",
      })
      yield* pass(57)
      // Each try takes 4 s with its uninstall; pauses of 1, 2, 4, 8 and 16 s leave a minute room for six.
      const installs = world.helm.commands.filter((command) => command === "install").length
      assert.isAtMost(installs, 6)
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect(
    "because its namespace is another instance's takes nothing over, names the owner, and waits",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        takeNamespace(world, "team-b/two")
        yield* world.startOperator()
        world.apply()
        yield* pass(60)
        assert.strictEqual(phase(world), "Failed")
        assert.match(condition(world, "Ready")?.message ?? "", /belongs to team-b\/two/)
        assert.isEmpty(world.cluster.writes.filter((write) => write.includes(world.host)))
        assert.isEmpty(world.helm.commands)
        world.cluster.end(Kinds.Namespace, { name: world.host })
        yield* pass(120)
        assert.strictEqual(phase(world), "Ready")
      }),
  )

  it.effect("because its kubeconfig's Secret is somebody else's overwrites nothing", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const metadata = { namespace: "team-a", name: "one-kubeconfig" }
      const data = { kubeconfig: "mine" }
      const mine = world.cluster.create(Kinds.Secret, { apiVersion: "v1", kind: "Secret", metadata, data })
      yield* world.startOperator()
      world.apply()
      yield* pass(60)
      assert.match(
        condition(world, "TargetReady")?.message ?? "",
        /^store kubeconfig: Secret team-a\/one-kubeconfig belongs to somebody else/,
      )
      assert.deepStrictEqual(world.cluster.find(Kinds.Secret, metadata)?.data, mine.data)
    }),
  )

  it.effect(
    "because the admission policy is refused is told, also of one that was Ready before a restart",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        yield* world.operator.stop
        for (let tries = 0; tries < 3; tries++) {
          const request = "APPLY validatingadmissionpolicies"
          world.cluster.refusals.push({ request, code: 403, reason: "Forbidden" })
        }
        yield* world.startOperator()
        yield* pass(1)
        assert.deepInclude(condition(world, "TargetReady"), { status: "False", reason: "TargetError" })
        assert.match(condition(world, "TargetReady")?.message ?? "", /^apply admission policy: /)
        yield* pass(30)
        assert.strictEqual(phase(world), "Ready")
      }),
  )

  it.effect(
    "with a policy, because the server has none (F56), is made without it, and that is told once",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const request = "APPLY validatingadmissionpolicies"
        world.cluster.refusals.push({ request, code: 404, reason: "NotFound" })
        yield* world.startOperator()
        world.apply()
        yield* pass(120)
        assert.strictEqual(phase(world), "Ready")
        assert.deepInclude(condition(world, "OwnerServiceProtected"), {
          status: "False",
          reason: "AdmissionPolicyUnavailable",
        })
        assert.lengthOf(
          world.events.filter(({ reason }) => reason === "AdmissionPolicyUnavailable"),
          1,
        )
      }),
  )

  it.effect(
    "at once, because an install of helm was cut short, is removed and installed again, and says so",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const first = yield* world.startOperator()
        world.apply()
        yield* pass(1)
        yield* first.stop
        const left = world.cluster
          .all(Kinds.Secret, { namespace: world.host })
          .map(({ metadata }) => metadata.labels?.status)
        assert.deepStrictEqual(left, ["failed"])
        yield* world.startOperator()
        yield* pass(1)
        assert.match(condition(world, "TargetReady")?.message ?? "", /removed it to install again$/)
        yield* pass(120)
        assert.strictEqual(phase(world), "Ready")
        assert.deepStrictEqual(world.helm.commands, ["install", "uninstall", "install"])
      }),
  )
})

describe("the target of a Ready instance", () => {
  it.effect("gets an edited network policy back, without an install, and says that it had to", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const told = world.story().length
      const [policy] = world.cluster.all(Kinds.NetworkPolicy)
      const edited = world.cluster.put(Kinds.NetworkPolicy, policy, {
        ...(policy ?? assert.fail()),
        spec: { podSelector: {} },
      })
      yield* pass(5)
      const [after] = world.cluster.all(Kinds.NetworkPolicy)
      assert.deepStrictEqual(after?.spec, policy?.spec)
      assert.notStrictEqual(after?.metadata.resourceVersion, edited.metadata.resourceVersion)
      assert.deepStrictEqual(world.story().slice(told), [
        "Provisioning: Creating, TargetPending",
        "Ready: Ready, Ready",
      ])
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
    }),
  )

  it.effect("gets a missing object back from the stored release, without an install", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster-headless" })
      yield* pass(1)
      assert.deepInclude(condition(world, "TargetReady"), { status: "False", reason: "Repairing" })
      assert.match(condition(world, "TargetReady")?.message ?? "", /service\/vcluster-headless/)
      yield* pass(10)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.helm.commands, ["install", "reapply"])
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
    }),
  )

  it.effect("is rolled back when putting it back fails, and then put back", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.helm.failures.push("cannot patch")
      world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster-headless" })
      yield* pass(30)
      assert.deepStrictEqual(world.helm.commands.slice(0, 3), ["install", "reapply", "rollback 1"])
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("that misses one check is still ready: nothing is written", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const writes = world.cluster.writes.length
      world.network.reachable = false
      yield* pass(12)
      world.network.reachable = true
      yield* pass(60)
      assert.deepStrictEqual(world.cluster.writes.slice(writes), [])
    }),
  )

  it.effect(
    "that misses three is unreachable, and Ready again as soon as it answers, without an install",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.network.reachable = false
        yield* pass(60)
        assert.strictEqual(phase(world), "Failed")
        assert.deepInclude(condition(world, "TargetReady"), { reason: "TargetUnreachable" })
        assert.match(condition(world, "Ready")?.message ?? "", /https:\/\/vcluster\..*\.svc:443/)
        assert.strictEqual(condition(world, "Installed")?.status, "True")
        world.network.reachable = true
        yield* pass(11)
        assert.strictEqual(phase(world), "Ready")
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      }),
  )

  it.effect("keeps what it says while a restarted operator has not asked it yet", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      const statuses = world.statuses.length
      yield* world.startOperator()
      yield* pass(60)
      assert.isEmpty(world.statuses.slice(statuses).filter((status) => status.phase !== "Ready"))
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
    }),
  )
})

describe("a target that is lost during an install", () => {
  it.effect("has the install cancelled, which is no failure of it, and begun again when it is back", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* pass(30)
      world.network.reachable = false
      yield* pass(60)
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ outcome }) => outcome),
        ["interrupted"],
      )
      assert.deepInclude(condition(world, "Ready"), { reason: "TargetUnreachable" })
      world.network.reachable = true
      yield* pass(90)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "FirstInstall"])
      assert.isEmpty(world.events.filter(({ reason }) => reason === "InstallFailed"))
    }),
  )

  it.effect("that comes back as another cluster: the old state is kept, and never meets it", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      world.pulumi.failures.push("Failed")
      yield* world.startOperator()
      world.apply()
      // The first install fails, and leaves a state made in this cluster.
      while (phase(world) !== "Failed") yield* pass(1)
      world.cluster.end(Kinds.Namespace, { name: world.host })
      const first = world.pulumi.runs[0]?.request.clusterIdentifier ?? assert.fail()
      yield* pass(240)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.store.kept.get("team-a/one"), [first])
      const { request } = world.pulumi.runs.at(-1) ?? assert.fail()
      assert.notStrictEqual(request.clusterIdentifier, first)
      assert.deepInclude(request, { kind: "Resync", state: "lost", refresh: true })
    }),
  )

  it.effect(
    "made anew under a Ready instance is not repaired with the identity of the old one, and installed anew",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        // The repair becomes due when the new vCluster is up and has not answered yet.
        yield* passUntil(repairDue(world) - 33)
        world.network.reachable = false
        world.cluster.end(Kinds.Namespace, { name: world.host })
        yield* pass(42)
        assert.isDefined(world.cluster.find(Kinds.Secret, { namespace: world.host, name: "vc-vcluster" }))
        world.network.reachable = true
        yield* pass(180)
        assert.deepStrictEqual(reasons(world), ["FirstInstall", "Resync"])
        assert.strictEqual(phase(world), "Ready")
        assert.lengthOf(
          world.events.filter(({ reason }) => reason === "ClusterReplaced"),
          1,
        )
        const [before, after] = world.pulumi.runs.map(({ request }) => request.clusterIdentifier)
        assert.notStrictEqual(before, after)
        assert.strictEqual(world.store.records.get("team-a/one")?.kubeSystemUID, after)
        assert.isUndefined(world.store.records.get("team-a/one")?.anew)
      }),
  )
})

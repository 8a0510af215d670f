// A release whose helm was cut off, is still at work, or fails. Field reports F01, F03, F04 and F08.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ANNOTATION_HELM_WRITER } from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { condition, phase, ready, reasons } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const record = (world: World, revision: number, status: string) =>
  world.cluster.apply(Kinds.Secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: `sh.helm.release.v1.vcluster.v${revision}`,
      namespace: world.host,
      labels: { owner: "helm", name: "vcluster", version: String(revision), status },
    },
  })
/** The host namespace says that this pod's helm is at work, since there was this revision. */
const mark = (world: World, pod: string, uid: string, after?: number) => {
  const value = JSON.stringify({ pod, uid, since: "1970-01-01T00:02:00Z", after })
  const patch = { metadata: { annotations: { [ANNOTATION_HELM_WRITER]: value } } }
  assert.isDefined(
    world.cluster.patch(Kinds.Namespace, { name: world.host }, { type: "merge", patch }, false),
  )
}
const told = (world: World, reason: string) =>
  world.statuses.filter(
    ({ conditions = [] }, index, all) =>
      conditions.some((each) => each.type === "TargetReady" && each.reason === reason) &&
      !all[index - 1]?.conditions?.some((each) => each.type === "TargetReady" && each.reason === reason),
  ).length
const volume = (world: World) => world.cluster.find(Kinds.Namespace, { name: world.host })?.metadata.uid
const release = (world: World, revision: number) =>
  world.cluster.find(Kinds.Secret, {
    namespace: world.host,
    name: `sh.helm.release.v1.vcluster.v${revision}`,
  })

describe("F01: a release that a killed helm has left", () => {
  it.effect("pending-install at revision 1 is removed and installed again, once", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const operator = yield* world.startOperator()
      world.apply()
      while (world.helm.commands.length === 0) yield* pass(1)
      yield* operator.stop
      // As SIGKILL leaves it: nobody has written how it ended.
      assert.isDefined(record(world, 1, "pending-install"))
      mark(world, "operator-1", "gone")
      yield* world.startOperator()
      yield* pass(150)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.helm.commands, ["install", "uninstall", "install"])
      assert.strictEqual(told(world, "TargetError"), 1)
      const messages = world.statuses.flatMap(({ conditions = [] }) => conditions.map((each) => each.message))
      assert.isTrue(messages.some((message) => message.endsWith("removed it to install again")))
    }),
  )

  for (const [status, revision, deployed] of [
    ["pending-upgrade", 3, 2],
    ["pending-rollback", 4, 2],
  ] as const) {
    it.effect(
      `${status} at revision ${revision} is rolled back to the deployed one, and nothing is lost`,
      () =>
        Effect.gen(function* () {
          const world = yield* ready()
          const before = volume(world)
          yield* world.operator.stop
          record(world, 1, "superseded")
          record(world, deployed, "deployed")
          for (let between = deployed + 1; between < revision; between++) record(world, between, "failed")
          record(world, revision, status)
          mark(world, "operator-1", "gone")
          yield* world.startOperator()
          yield* pass(60)
          assert.strictEqual(phase(world), "Ready")
          assert.deepStrictEqual(world.helm.commands, ["install", `rollback ${deployed}`])
          assert.strictEqual(told(world, "RolledBack"), 1)
          assert.strictEqual(volume(world), before)
          assert.deepStrictEqual(reasons(world), ["FirstInstall"])
        }),
    )
  }
})

describe("F03: an operator that is stopped during a helm install", () => {
  it.effect("ends it, so that its record says failed and not pending, and the next one goes on", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const operator = yield* world.startOperator()
      world.apply()
      while (world.helm.commands.length === 0) yield* pass(1)
      assert.strictEqual(release(world, 1)?.metadata.labels?.status, "pending-install")
      yield* operator.stop
      assert.strictEqual(release(world, 1)?.metadata.labels?.status, "failed")
      yield* world.startOperator()
      yield* pass(150)
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("F04: a release that is pending while its holder may be alive", () => {
  const operatorPod = (world: World) =>
    world.cluster.create(Kinds.Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "platform-operator", name: "operator-1" },
      status: { containerStatuses: [{ state: { running: {} } }] },
    })

  it.effect("of a container that was started again since is taken over, though its pod lives on", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const pod = world.cluster.create(Kinds.Pod, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace: "platform-operator", name: "operator-1" },
        status: { containerStatuses: [{ state: { running: { startedAt: "1970-01-01T00:02:01Z" } } }] },
      })
      mark(world, "operator-1", pod.metadata.uid)
      assert.isDefined(record(world, 2, "pending-upgrade"))
      yield* pass(300, 2)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect(
    "of another operator's pod is not taken over, is looked at less and less often, and is told",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        const pod = operatorPod(world)
        mark(world, "operator-1", pod.metadata.uid)
        assert.isDefined(record(world, 2, "pending-upgrade"))
        const { length } = world.cluster.requests
        yield* pass(300, 2)
        assert.deepStrictEqual(world.helm.commands, ["install"])
        assert.strictEqual(phase(world), "Failed")
        assert.match(
          condition(world, "TargetReady")?.message ?? "",
          /^check release: revision 2 of vcluster is pending-upgrade, held by operator pod operator-1 since 1970-01-01T00:02:00Z/,
        )
        const looks = world.cluster.requests
          .slice(length)
          .filter((request) => request === "GET pods/platform-operator/operator-1").length
        // After 0, 1, 2, 4, … 128 s.
        assert.isAtLeast(looks, 7)
        assert.isAtMost(looks, 10)
        // Once it is gone, the next look sets things right.
        world.cluster.end(Kinds.Pod, pod.metadata)
        yield* pass(280, 5)
        assert.deepStrictEqual(world.helm.commands, ["install", "rollback 1"])
        assert.strictEqual(phase(world), "Ready")
      }),
  )

  it.effect("that ends well is Ready again by that alone", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      mark(world, "operator-1", operatorPod(world).metadata.uid)
      assert.isDefined(record(world, 2, "pending-upgrade"))
      yield* pass(100, 2)
      record(world, 1, "superseded")
      record(world, 2, "deployed")
      yield* pass(3)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.helm.commands, ["install"])
    }),
  )

  it.effect("of nobody this operator knows is given the 5 minutes that helm gives itself", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      assert.isDefined(record(world, 2, "pending-upgrade"))
      yield* pass(290, 5)
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.match(
        condition(world, "TargetReady")?.message ?? "",
        /held by a helm that is not this operator's since 1970-01-01T00:02:0\dZ/,
      )
      yield* pass(300, 5)
      assert.deepStrictEqual(world.helm.commands, ["install", "rollback 1"])
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("of somebody else's is not this operator's for a mark that an ended run has left", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      // Its run wrote revision 1, and the operator died before it could take the mark away.
      mark(world, "operator-0", "operator", 0)
      assert.isDefined(record(world, 2, "pending-upgrade"))
      yield* pass(290, 5)
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.match(
        condition(world, "TargetReady")?.message ?? "",
        /held by a helm that is not this operator's/,
      )
    }),
  )

  it.effect("that this operator's own run has left is set right at once", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      mark(world, "operator-0", "operator")
      assert.isDefined(record(world, 2, "pending-rollback"))
      yield* pass(5)
      assert.deepStrictEqual(world.helm.commands, ["install", "rollback 1"])
    }),
  )
})

describe("F08: a first install that fails", () => {
  it.effect("names its first cause for as long as that is there, and is Ready after it", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let failure = 0; failure < 4; failure++) world.helm.failures.push("no space left on device")
      yield* world.startOperator()
      world.apply()
      while (world.helm.failures.length > 0) {
        yield* pass(1)
        const message = condition(world, "TargetReady")?.message ?? ""
        if (phase(world) === "Failed")
          assert.match(message, /^install vcluster 0\.37\.3: .*(no space left|removed it to install again)/)
        assert.notMatch(message, /re-?use a name/)
      }
      yield* pass(150)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(new Set(world.helm.commands), new Set(["install", "uninstall"]))
      assert.strictEqual(release(world, 1)?.metadata.labels?.status, "deployed")
    }),
  )
})

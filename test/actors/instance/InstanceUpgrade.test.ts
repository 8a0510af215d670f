// The vCluster of an instance is moved to the operator's chart when somebody asks for it, and back where it does not come up.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { findCondition } from "../../../src/schema/Conditions.ts"
import {
  ANNOTATION_DAY_TWO,
  ANNOTATION_PAUSED,
  ANNOTATION_SLEEP,
  ANNOTATION_UPGRADE_VCLUSTER,
  ANNOTATION_WINDOW,
  hostNamespace,
} from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { decoded, key, manifestOf } from "../support/instances.ts"
import { condition, passUntil, phase, ready, reasons, repairDue } from "../support/readings.ts"
import { pass, type World } from "../support/World.ts"

const annotate = (world: World, name: string, value: string | null) =>
  world.edit({ metadata: { annotations: { [name]: value } } })
const ask = (world: World) => annotate(world, ANNOTATION_UPGRADE_VCLUSTER, "true")
const takeBack = (world: World) => annotate(world, ANNOTATION_UPGRADE_VCLUSTER, null)

const minutes = (count: number) => count * 60
const inHost = (world: World, name: string) => ({ namespace: world.host, name })
const chart = (world: World) =>
  Object(world.cluster.find(Kinds.StatefulSet, inHost(world, "vcluster"))?.spec).template?.chart
const told = (world: World) =>
  world.events
    .filter(({ action }) => action === "Upgrade")
    .map(({ type, reason, note }) => `${type} ${reason}: ${note}`)
const alarms = (world: World) => world.events.filter(({ type }) => type === "Warning").map(({ note }) => note)
const memo = (world: World) => {
  const text = world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_DAY_TWO]
  return text === undefined ? undefined : JSON.parse(text).vcluster
}
const records = (world: World) =>
  world.cluster
    .all(Kinds.Secret, { namespace: world.host, labelSelector: "owner=helm,name=vcluster" })
    .map(({ metadata: { labels } }) => `${labels?.version} ${labels?.status}`)
/** Another process of the operator, after so many seconds without one. */
const restart = Effect.fnUntraced(function* (world: Effect.Success<ReturnType<typeof ready>>, seconds = 5) {
  yield* world.operator.stop
  yield* pass(seconds)
  return { ...world, operator: yield* world.startOperator() }
})

/** Installed by an earlier operator with an older chart. */
const older = Effect.fnUntraced(function* () {
  const world = yield* ready()
  world.helm.chart.version = "0.38.0"
  const next = yield* restart(world)
  yield* pass(30)
  return next
})
/** To a chart that does not come up, for as long as these minutes. */
const comingUp = Effect.fnUntraced(function* (count = 1) {
  const world = yield* older()
  world.controlPlanes.brokenCharts.add("0.38.0")
  yield* ask(world)
  yield* pass(minutes(count), 5)
  return world
})
/** Someone's own helm. */
const byHand = ({ helm, host }: World, revision: number) =>
  helm.rollback({ namespace: host, name: "vcluster" }, revision)
const upgraded = "the vCluster was upgraded from chart 0.37.3 to 0.38.0, and is the same cluster inside"
const again =
  "it is not tried again until annotation platform.di-framework.dev/upgrade-vcluster is taken away and set anew"

describe("the chart of an instance's vCluster", () => {
  it.effect("stays what it was where nobody asks, whatever the operator's is", () =>
    Effect.gen(function* () {
      const world = yield* older()
      const { commands } = world.helm
      world.cluster.end(Kinds.Role, inHost(world, "vc-vcluster"))
      yield* passUntil(repairDue(world) + minutes(60), 60)
      assert.deepStrictEqual([commands, chart(world)], [["install", "reapply"], "0.37.3"])
      assert.deepStrictEqual(told(world), [])
    }),
  )

  it.effect("becomes the operator's where somebody asks, once, over the same cluster", () =>
    Effect.gen(function* () {
      const world = yield* older()
      const { length } = world.pulumi.runs
      yield* ask(world)
      yield* pass(5)
      assert.deepStrictEqual(
        [condition(world, "TargetReady")?.reason, condition(world, "TargetReady")?.message],
        [
          "ControlPlanePending",
          "upgrading vcluster from chart 0.37.3 to 0.38.0: statefulset/vcluster has 0 of 1 replicas ready",
        ],
      )
      assert.deepStrictEqual(world.pulumi.exports, ["team-a/one"])
      yield* pass(60)
      assert.deepStrictEqual([phase(world), chart(world)], ["Ready", "0.38.0"])
      assert.deepStrictEqual(told(world), [`Normal VclusterUpgraded: ${upgraded}`])
      assert.deepStrictEqual(records(world), ["1 superseded", "2 deployed"])
      assert.deepStrictEqual([memo(world).outcome, memo(world).to], ["done", "0.38.0"])
      assert.lengthOf(world.pulumi.runs, length, "nothing of the platform was installed again")
      // What is put back afterwards is the new one.
      world.cluster.end(Kinds.Role, inHost(world, "vc-vcluster"))
      yield* pass(60)
      assert.deepStrictEqual(
        [chart(world), world.helm.commands],
        ["0.38.0", ["install", "upgrade", "reapply"]],
      )
      yield* takeBack(world)
      yield* pass(20)
      assert.isUndefined(memo(world))
      assert.deepStrictEqual([told(world).length, alarms(world)], [1, []])
    }),
  )

  it.effect("follows the operator's for as long as it is asked for", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* ask(world)
      yield* pass(90)
      world.helm.chart.version = "0.38.1"
      const next = yield* restart(world)
      yield* pass(90)
      assert.deepStrictEqual([phase(next), chart(next), told(next).length], ["Ready", "0.38.1", 2])
    }),
  )

  it.effect("is not taken for another value", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* annotate(world, ANNOTATION_UPGRADE_VCLUSTER, "0.38.0")
      yield* pass(60)
      assert.deepStrictEqual([chart(world), world.helm.commands], ["0.37.3", ["install"]])
      assert.match(
        world.events.find(({ reason }) => reason === "AnnotationInvalid")?.note ?? "",
        /upgrade-vcluster: "0\.38\.0" is not understood: it takes "true" or "false"/,
      )
    }),
  )

  it.effect("does not become an older one, and that is told once", () =>
    Effect.gen(function* () {
      const first = yield* ready()
      first.helm.chart.version = "0.36.1"
      const world = yield* restart(first)
      yield* ask(world)
      yield* pass(120)
      assert.deepStrictEqual(
        [phase(world), chart(world), world.helm.commands],
        ["Ready", "0.37.3", ["install"]],
      )
      assert.deepStrictEqual(told(world), [
        "Warning VclusterNotUpgraded: the vCluster keeps chart 0.37.3, and does not get 0.36.1: that is the older one, and nothing is downgraded",
      ])
      const next = yield* restart(world)
      yield* pass(120)
      assert.lengthOf(told(next), 1)
      assert.strictEqual(memo(next).outcome, "refused")
    }),
  )

  it.effect("waits for a window, a pause and a sleep, and is not begun without a copy of the state", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* annotate(world, ANNOTATION_PAUSED, "true")
      yield* ask(world)
      yield* pass(60)
      assert.deepStrictEqual(world.helm.commands, ["install"])
      yield* annotate(world, ANNOTATION_WINDOW, "01:00-02:00")
      yield* annotate(world, ANNOTATION_PAUSED, null)
      yield* pass(60)
      assert.deepStrictEqual([world.helm.commands, phase(world)], [["install"], "Ready"])
      yield* annotate(world, ANNOTATION_SLEEP, "true")
      yield* passUntil(minutes(61))
      assert.deepStrictEqual(world.helm.commands, ["install"])
      world.pulumi.exportFailures.push("no space left on device")
      yield* annotate(world, ANNOTATION_SLEEP, null)
      yield* pass(90)
      assert.deepStrictEqual([world.helm.commands, phase(world)], [["install"], "Ready"])
      assert.deepStrictEqual(told(world), [
        `Warning VclusterNotUpgraded: the vCluster keeps chart 0.37.3, and does not get 0.38.0: no copy of the engine's state could be kept: no space left on device; ${again}`,
      ])
      yield* takeBack(world)
      yield* pass(5)
      yield* ask(world)
      yield* pass(90)
      assert.deepStrictEqual([chart(world), phase(world)], ["0.38.0", "Ready"])
    }),
  )

  it.effect("begins when the window opens, with nothing else to wake it, and says so until then", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* annotate(world, ANNOTATION_WINDOW, "00:20-00:25")
      yield* ask(world)
      yield* passUntil(minutes(20) - 5)
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.deepStrictEqual(
        [condition(world, "Ready")?.status, condition(world, "Ready")?.message],
        [
          "True",
          "chart 0.38.0 of the vCluster waits for the maintenance window, which opens 1970-01-01T00:20:00Z; version 6.0.22 is ready",
        ],
      )
      yield* pass(90)
      assert.deepStrictEqual([chart(world), phase(world)], ["0.38.0", "Ready"])
      assert.strictEqual(condition(world, "Ready")?.message, "version 6.0.22 is ready")
    }),
  )

  it.effect("waits for its turn among the vClusters that start, and says so as one that serves", () =>
    Effect.gen(function* () {
      const first = yield* ready({ maxConcurrentTargets: 1 })
      const { metadata, ...manifest } = manifestOf()
      first.cluster.apply(Kinds.PlatformInstance, { ...manifest, metadata: { ...metadata, name: "two" } })
      yield* pass(180)
      first.helm.chart.version = "0.38.0"
      const world = yield* restart(first)
      yield* pass(30)
      const { cluster } = world
      const annotations = { [ANNOTATION_UPGRADE_VCLUSTER]: "true" }
      for (const name of ["one", "two"])
        cluster.patch(
          Kinds.PlatformInstance,
          { namespace: "team-a", name },
          { type: "merge", patch: { metadata: { annotations } } },
          false,
        )
      const messages = new Set<string | undefined>()
      for (let second = 0; second < 120; second++) {
        yield* pass(1)
        const down = cluster.all(Kinds.StatefulSet, {}).filter((each) => !Object(each).status?.readyReplicas)
        assert.isAtMost(down.length, 1)
        const other = decoded(cluster.instance({ namespace: "team-a", name: "two" }) ?? assert.fail())
        messages.add(findCondition(other.status?.conditions, "Ready")?.message)
      }
      assert.include(
        messages,
        "chart 0.38.0 of the vCluster waits for its turn: 1 others are starting (--max-concurrent-targets); version 6.0.22 is ready",
      )
      assert.deepStrictEqual(world.helm.commands, ["install", "install", "upgrade", "upgrade"])
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("waits for one that gets nowhere no longer than a start counts", () =>
    Effect.gen(function* () {
      const world = yield* ready({ maxConcurrentTargets: 1 })
      const { metadata, ...manifest } = manifestOf()
      const two = { namespace: "team-a", name: "two" }
      world.controlPlanes.broken.add(hostNamespace(two))
      world.cluster.apply(Kinds.PlatformInstance, { ...manifest, metadata: { ...metadata, ...two } })
      yield* pass(10)
      world.helm.chart.version = "0.38.0"
      const next = yield* restart(world)
      yield* pass(30)
      yield* ask(next)
      yield* pass(60)
      assert.notInclude(next.helm.commands, "upgrade")
      yield* pass(minutes(11), 5)
      assert.deepStrictEqual([phase(next), chart(next)], ["Ready", "0.38.0"])
    }),
  )
})

describe("an upgrade that fails", () => {
  it.effect("in helm is rolled back, told, and not tried again until it is asked anew", () =>
    Effect.gen(function* () {
      const world = yield* older()
      world.helm.failures.push("no matches for kind")
      yield* ask(world)
      yield* pass(60)
      assert.deepStrictEqual(world.helm.commands, ["install", "upgrade", "rollback 1"])
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.37.3", "failed"])
      assert.deepStrictEqual(told(world), [
        `Warning VclusterNotUpgraded: the vCluster keeps chart 0.37.3, and does not get 0.38.0: upgrade vcluster 0.38.0: no matches for kind; what was begun is rolled back, and ${again}`,
      ])
      const next = yield* restart(world)
      yield* passUntil(repairDue(next) + minutes(30), 60)
      assert.lengthOf(next.helm.commands, 3)
      yield* takeBack(next)
      yield* pass(5)
      yield* ask(next)
      yield* pass(60)
      assert.deepStrictEqual([phase(next), chart(next), memo(next).outcome], ["Ready", "0.38.0", "done"])
    }),
  )

  it.effect("to come up is rolled back to the revision before", () =>
    Effect.gen(function* () {
      const world = yield* older()
      world.controlPlanes.brokenCharts.add("0.38.0")
      yield* ask(world)
      yield* pass(minutes(29), 10)
      assert.deepStrictEqual(world.helm.commands, ["install", "upgrade"])
      assert.strictEqual(condition(world, "TargetReady")?.reason, "ControlPlanePending")
      const said = world.statuses.length
      yield* pass(minutes(3), 5)
      assert.deepStrictEqual(world.helm.commands, ["install", "upgrade", "rollback 1"])
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.37.3", "failed"])
      assert.include(
        world.statuses.slice(said).flatMap(({ conditions = [] }) => conditions.map(({ reason }) => reason)),
        "RolledBack",
      )
      assert.deepStrictEqual(told(world), [
        `Warning VclusterNotUpgraded: the vCluster keeps chart 0.37.3, and does not get 0.38.0: the vCluster was not ready again within 30 minutes: statefulset/vcluster has 0 of 1 replicas ready; what was begun is rolled back, and ${again}`,
      ])
    }),
  )

  it.effect("to answer is rolled back, too, and one that is silent for a while is waited for", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* ask(world)
      yield* pass(4)
      world.network.reachable = false
      yield* pass(minutes(5), 5)
      assert.strictEqual(condition(world, "TargetReady")?.reason, "ControlPlanePending")
      world.network.reachable = true
      yield* pass(30)
      assert.deepStrictEqual([phase(world), memo(world).outcome], ["Ready", "done"])
      world.helm.chart.version = "0.38.1"
      const next = yield* restart(world)
      yield* pass(4)
      next.network.reachable = false
      yield* pass(minutes(31), 5)
      assert.deepStrictEqual(next.helm.commands.slice(-2), ["upgrade", "rollback 2"])
      next.network.reachable = true
      yield* pass(60)
      assert.deepStrictEqual([phase(next), chart(next), memo(next).outcome], ["Ready", "0.38.0", "failed"])
    }),
  )

  it.effect("because another cluster is inside is rolled back at once", () =>
    Effect.gen(function* () {
      const world = yield* older()
      world.controlPlanes.strangeCharts.add("0.38.0")
      yield* ask(world)
      yield* pass(120)
      assert.deepStrictEqual(world.helm.commands, ["install", "upgrade", "rollback 1"])
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.37.3", "failed"])
      assert.match(told(world)[0] ?? "", /namespace kube-system inside has another UID than before/)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"], "nothing was installed into it")
    }),
  )
})

describe("an upgrade in which other things happen", () => {
  it.effect("is rolled back although the release had to be repaired in it, and goes on being edited", () =>
    Effect.gen(function* () {
      const world = yield* comingUp()
      for (let times = 0; times < 5; times++) {
        world.cluster.end(Kinds.Role, inHost(world, "vc-vcluster"))
        yield* pass(minutes(4), 5)
      }
      yield* pass(minutes(20), 10)
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.37.3", "failed"])
      const next = yield* comingUp()
      next.cluster.listeners.push(({ kind, deleted, object }) => {
        if (kind === Kinds.Role && !deleted && chart(next) === "0.38.0")
          next.cluster.end(kind, object.metadata)
      })
      next.cluster.end(Kinds.Role, inHost(next, "vc-vcluster"))
      yield* pass(minutes(60), 10)
      assert.deepStrictEqual([phase(next), chart(next), memo(next).outcome], ["Ready", "0.37.3", "failed"])
    }),
  )

  it.effect("is rolled back in time although its release cannot be read", () =>
    Effect.gen(function* () {
      const world = yield* older()
      world.controlPlanes.brokenCharts.add("0.38.0")
      yield* ask(world)
      yield* pass(1)
      world.helm.unreadable.push("its manifest holds something that is not an object")
      yield* pass(minutes(29), 10)
      assert.deepStrictEqual(world.helm.commands, ["install", "upgrade"])
      yield* passUntil(minutes(33), 1)
      assert.strictEqual(world.helm.commands[2], "rollback 1")
      world.helm.unreadable.pop()
      yield* pass(60)
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.37.3", "failed"])
    }),
  )

  it.effect("is left to who rolls it back by hand", () =>
    Effect.gen(function* () {
      const world = yield* comingUp()
      yield* Effect.forkChild(byHand(world, 1))
      yield* pass(120)
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.37.3", "failed"])
      assert.deepStrictEqual(world.helm.commands, ["install", "upgrade", "rollback 1"])
      assert.deepStrictEqual(told(world), [
        `Warning VclusterNotUpgraded: the vCluster keeps chart 0.37.3, and does not get 0.38.0: somebody has given the release chart 0.37.3 meanwhile; ${again}`,
      ])
    }),
  )

  it.effect("goes with the host namespace that is lost in it", () =>
    Effect.gen(function* () {
      for (const repairs of [0, 1]) {
        const world = yield* older()
        for (let times = 0; times < repairs; times++) {
          world.cluster.end(Kinds.Role, inHost(world, "vc-vcluster"))
          yield* pass(60)
        }
        yield* ask(world)
        yield* pass(6)
        assert.strictEqual(memo(world).revision, 1 + repairs)
        world.cluster.end(Kinds.Namespace, { name: world.host })
        yield* pass(minutes(10), 5)
        assert.deepStrictEqual([phase(world), chart(world)], ["Ready", "0.38.0"])
        assert.deepStrictEqual(
          [world.helm.commands.slice(1 + repairs), told(world)],
          [["upgrade", "install"], []],
        )
        assert.isUndefined(memo(world))
      }
    }),
  )

  it.effect("is tried again where a request before helm is not answered", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* ask(world)
      world.cluster.refusals.push({
        request: `PATCH namespaces/${world.host}`,
        code: 500,
        reason: "InternalError",
      })
      yield* pass(90)
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.38.0", "done"])
      assert.deepStrictEqual(told(world), [`Normal VclusterUpgraded: ${upgraded}`])
    }),
  )

  it.effect("falls asleep in one that fails, and is rolled back when it wakes", () =>
    Effect.gen(function* () {
      const world = yield* older()
      world.helm.failures.push("no matches for kind")
      yield* ask(world)
      yield* pass(1)
      yield* annotate(world, ANNOTATION_SLEEP, "true")
      yield* pass(minutes(10), 5)
      yield* annotate(world, ANNOTATION_SLEEP, null)
      yield* pass(minutes(5), 5)
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.37.3", "failed"])
    }),
  )

  it.effect("is tried again where it is asked anew while it is rolled back", () =>
    Effect.gen(function* () {
      const world = yield* comingUp(30)
      for (let waited = 0; waited < 120 && memo(world).outcome !== "failing"; waited++) yield* pass(1)
      yield* takeBack(world)
      yield* pass(1)
      world.controlPlanes.brokenCharts.clear()
      yield* ask(world)
      assert.strictEqual(memo(world).outcome, "failing")
      yield* pass(120)
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.38.0", "done"])
    }),
  )

  it.effect("that has failed is not tried again because an older operator was there in between", () =>
    Effect.gen(function* () {
      const world = yield* older()
      world.helm.failures.push("no matches for kind")
      yield* ask(world)
      yield* pass(60)
      world.helm.chart.version = "0.36.0"
      const second = yield* restart(world)
      yield* pass(60)
      world.helm.chart.version = "0.38.0"
      const third = yield* restart(second)
      yield* pass(90)
      assert.deepStrictEqual([chart(third), memo(third).to], ["0.37.3", "0.38.0"])
      third.helm.chart.version = "0.38.1"
      const fourth = yield* restart(third)
      yield* pass(90)
      assert.deepStrictEqual([chart(fourth), memo(fourth).outcome], ["0.38.1", "done"])
    }),
  )
})

describe("an upgrade whose operator ends in it", () => {
  it.effect("is ended by the next one, without the chart before it in between", () =>
    Effect.gen(function* () {
      const world = yield* older()
      const charts = new Set<string>()
      world.cluster.listeners.push(({ kind }) => {
        if (kind === Kinds.StatefulSet) charts.add(chart(world))
      })
      yield* ask(world)
      yield* pass(1)
      const next = yield* restart(world)
      yield* pass(90)
      assert.deepStrictEqual(next.helm.commands, ["install", "upgrade", "rollback 2"])
      assert.deepStrictEqual([phase(next), chart(next), memo(next).outcome], ["Ready", "0.38.0", "done"])
      assert.deepStrictEqual([...charts], ["0.38.0"])
      assert.deepStrictEqual(records(next), ["1 superseded", "2 failed", "3 deployed"])
    }),
  )

  it.effect("goes on when it has taken the annotation away meanwhile", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* ask(world)
      yield* pass(5)
      yield* world.operator.stop
      yield* takeBack(world)
      yield* world.startOperator()
      yield* pass(90)
      assert.deepStrictEqual([phase(world), chart(world), memo(world)], ["Ready", "0.38.0", undefined])
      assert.lengthOf(told(world), 1)
    }),
  )

  it.effect("is not rolled back for the time that nobody looked", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* ask(world)
      yield* pass(4)
      const next = yield* restart(world, minutes(45))
      yield* pass(90)
      assert.deepStrictEqual([phase(next), chart(next), memo(next).outcome], ["Ready", "0.38.0", "done"])
      assert.deepStrictEqual(next.helm.commands.slice(0, 2), ["install", "upgrade"])
    }),
  )

  it.effect("has its whole time once helm has ended, however long it was cut off before", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* ask(world)
      yield* pass(1)
      const next = yield* restart(world, minutes(45))
      yield* pass(90)
      assert.deepStrictEqual([phase(next), chart(next), memo(next).outcome], ["Ready", "0.38.0", "done"])
    }),
  )

  it.effect("is not rolled back because both were on a node that was started again", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* ask(world)
      yield* pass(4)
      yield* world.operator.stop
      yield* pass(minutes(45), 20)
      world.cluster.end(Kinds.Pod, inHost(world, "vcluster-0"))
      yield* pass(4)
      yield* world.startOperator()
      yield* pass(90)
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.38.0", "done"])
    }),
  )

  it.effect("is rolled back although operators end in that again and again", () =>
    Effect.gen(function* () {
      const world = yield* comingUp(30)
      const rollbacks = () => world.helm.commands.filter((each) => each.startsWith("rollback")).length
      let next = world
      for (let times = 1; times <= 6; times++) {
        for (let waited = 0; waited < 120 && rollbacks() < times; waited++) yield* pass(1)
        next = yield* restart(next)
      }
      yield* pass(minutes(5), 5)
      assert.deepStrictEqual([phase(next), chart(next), memo(next).outcome], ["Ready", "0.37.3", "failed"])
      assert.lengthOf(told(next), 1)
    }),
  )

  it.effect("is rolled back by the next one where it does not come up", () =>
    Effect.gen(function* () {
      const world = yield* older()
      world.controlPlanes.brokenCharts.add("0.38.0")
      yield* ask(world)
      yield* pass(minutes(5), 10)
      const next = yield* restart(world)
      yield* pass(minutes(26), 5)
      assert.deepStrictEqual([phase(next), chart(next), memo(next).outcome], ["Ready", "0.37.3", "failed"])
    }),
  )

  it.effect("of which the next operator has another chart is dropped or ended, and begun anew", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* ask(world)
      yield* pass(4)
      world.helm.chart.version = "0.39.0"
      const next = yield* restart(world)
      yield* pass(180)
      assert.deepStrictEqual([phase(next), chart(next), memo(next).outcome], ["Ready", "0.39.0", "done"])
    }),
  )

  it.effect("falls asleep and wakes in it, and has its whole time again", () =>
    Effect.gen(function* () {
      const world = yield* older()
      yield* ask(world)
      yield* pass(5)
      yield* annotate(world, ANNOTATION_SLEEP, "true")
      yield* pass(minutes(60), 20)
      assert.strictEqual(memo(world).outcome, undefined)
      yield* annotate(world, ANNOTATION_SLEEP, null)
      yield* pass(90)
      assert.deepStrictEqual([phase(world), chart(world), memo(world).outcome], ["Ready", "0.38.0", "done"])
    }),
  )
})

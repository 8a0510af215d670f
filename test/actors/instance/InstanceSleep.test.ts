// An instance that is put to sleep: its vCluster ends before what runs in it, nothing of it is mended meanwhile, and it is woken
// whole.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import {
  ANNOTATION_ASLEEP,
  ANNOTATION_DAY_TWO,
  ANNOTATION_PAUSED,
  ANNOTATION_SLEEP,
} from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key, manifestOf } from "../support/instances.ts"
import { condition, outcomes, passUntil, phase, ready, reasons, repairDue } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const annotate = (world: World, name: string, value: string | null) =>
  world.edit({ metadata: { annotations: { [name]: value } } })
const sleep = (world: World) => annotate(world, ANNOTATION_SLEEP, "true")
const wake = (world: World) => annotate(world, ANNOTATION_SLEEP, null)
const hour = 3_600

const inHost = (world: World, name: string) => ({ namespace: world.host, name })
const replicas = (world: World) =>
  Object(world.cluster.find(Kinds.StatefulSet, inHost(world, "vcluster"))?.spec).replicas
const controlPlane = (world: World) => world.cluster.find(Kinds.Pod, inHost(world, "vcluster-0"))
const told = (world: World) =>
  world.events.filter(({ reason }) => ["Asleep", "Waking"].includes(reason)).map(({ note }) => note)
const alarms = (world: World) => world.events.filter(({ type }) => type === "Warning")
const memo = (world: World) => {
  const text = world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_DAY_TWO]
  return text === undefined ? undefined : JSON.parse(text)
}

interface Choices {
  readonly bare?: boolean
  readonly finalizers?: ReadonlyArray<string>
  readonly phase?: string
  readonly labels?: Readonly<Record<string, string>>
}

/** As vCluster syncs a pod of `default`. */
const synced = (world: World, name: string, { bare = false, finalizers, phase, labels }: Choices = {}) =>
  world.cluster.create(Kinds.Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...inHost(world, `${name}-x-default-x-vcluster`),
      labels: { ...labels, "vcluster.loft.sh/managed-by": "vcluster" },
      annotations: {
        "vcluster.loft.sh/object-name": name,
        "vcluster.loft.sh/object-namespace": "default",
      },
      ownerReferences: [
        { apiVersion: "v1", kind: "Service", name: "vcluster", uid: "service", controller: !bare },
      ],
      ...(finalizers === undefined ? {} : { finalizers }),
    },
    spec: { nodeName: "node-1", containers: [{ resources: { requests: { memory: "128Mi" } } }] },
    status: { phase: phase ?? "Running" },
  })
const podOf = (world: World, name: string) =>
  world.cluster.find(Kinds.Pod, inHost(world, `${name}-x-default-x-vcluster`))

describe("an instance that is put to sleep", () => {
  it.effect("is taken down with its workloads, left alone, and woken whole", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      synced(world, "web")
      synced(world, "lonely", { bare: true })
      synced(world, "done", { phase: "Succeeded" })
      /** Which pods are there as each is asked to end. */
      const ends: Array<string> = []
      world.cluster.listeners.push(({ kind, object, deleted }) => {
        if (kind === Kinds.Pod && deleted) ends.push(object.metadata.name)
      })
      const helm = world.helm.commands.length
      yield* sleep(world)
      yield* pass(30)
      assert.strictEqual(ends[0], "vcluster-0")
      assert.sameMembers(ends.slice(1), ["web-x-default-x-vcluster", "lonely-x-default-x-vcluster"])
      assert.deepStrictEqual([replicas(world), controlPlane(world)], [0, undefined])
      // It takes nothing any more, and keeps its log.
      assert.isDefined(podOf(world, "done"))
      assert.deepStrictEqual(
        [condition(world, "TargetReady")?.reason, condition(world, "Ready")?.reason, phase(world)],
        ["ControlPlanePending", "TargetPending", "Provisioning"],
      )
      assert.match(
        condition(world, "Ready")?.message ?? "",
        /^asleep since \S+Z: nothing runs and nothing is written until annotation \S+\/sleep goes; then waiting/,
      )
      assert.strictEqual(condition(world, "Installed")?.status, "True")
      assert.deepStrictEqual(
        [memo(world)?.sleep.pods, memo(world)?.sleep.memory],
        [3, 256 * 2 ** 20],
        "the control plane of this world asks for nothing",
      )
      assert.deepStrictEqual(told(world), [
        "asleep: 3 pods that had asked for 256 MiB of memory ended; nothing inside makes these anew when it is woken: default/lonely",
      ])

      const { length } = world.statuses
      const checks = world.checks.count
      world.cluster.end(Kinds.NetworkPolicy, inHost(world, "platform-operator-control-plane"))
      world.cluster.end(Kinds.Role, inHost(world, "vc-vcluster"))
      yield* passUntil(repairDue(world) + hour, 60)
      assert.lengthOf(world.helm.commands, helm)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.strictEqual(replicas(world), 0)
      assert.deepStrictEqual([world.statuses.length, world.checks.count], [length, checks])

      yield* wake(world)
      yield* pass(90)
      assert.deepStrictEqual([replicas(world), phase(world)], [1, "Ready"])
      assert.isDefined(world.cluster.find(Kinds.Role, inHost(world, "vc-vcluster")))
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue"])
      assert.match(told(world)[1] ?? "", /^woken, after 1h \d+m.* asleep/)
      assert.deepStrictEqual(alarms(world), [])
      assert.isUndefined(memo(world))
      const set = world.cluster.find(Kinds.StatefulSet, inHost(world, "vcluster"))
      assert.isUndefined(set?.metadata.annotations?.[ANNOTATION_ASLEEP])
    }),
  )

  it.effect("needs no helm to be woken", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const before = [...world.helm.commands]
      yield* sleep(world)
      yield* pass(30)
      yield* wake(world)
      yield* pass(60)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.helm.commands, before)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
    }),
  )

  it.effect("waits for a pod that does not end, says which, and is woken over it", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const pod = synced(world, "stuck", { finalizers: ["a/kubelet"] })
      yield* sleep(world)
      yield* pass(10 * 60, 10)
      assert.strictEqual(
        condition(world, "TargetReady")?.message,
        "falling asleep: waiting for pod stuck-x-default-x-vcluster on node-1 to end",
      )
      assert.deepStrictEqual([told(world), alarms(world)], [[], []])
      world.cluster.remove(Kinds.Pod, pod)
      yield* pass(10)
      assert.lengthOf(told(world), 1)

      const other = synced(world, "again", { finalizers: ["a/kubelet"], bare: true })
      yield* wake(world)
      yield* pass(60)
      assert.strictEqual(phase(world), "Ready")
      yield* sleep(world)
      yield* pass(60)
      yield* wake(world)
      yield* pass(60)
      assert.strictEqual(phase(world), "Ready")
      assert.strictEqual(
        told(world).at(-1),
        "woken before all of it was asleep: what has changed meanwhile is acted on; nothing inside makes these anew where they had ended already: default/again",
      )
      world.cluster.remove(Kinds.Pod, other)
    }),
  )

  it.effect("ends nothing inside before its control plane has ended", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      synced(world, "web")
      world.controlPlanes.cutOff.add(world.host)
      yield* sleep(world)
      yield* pass(10 * 60, 10)
      assert.strictEqual(replicas(world), 0)
      assert.isDefined(podOf(world, "web"))
      assert.strictEqual(
        condition(world, "TargetReady")?.message,
        "falling asleep: waiting for pod vcluster-0 to end",
      )
    }),
  )

  it.effect("is not kept awake by a tenant's pod with the labels of a control plane", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      synced(world, "mimic", { labels: { app: "vcluster", release: "vcluster" } })
      yield* sleep(world)
      yield* pass(30)
      assert.lengthOf(told(world), 1)
      assert.isUndefined(podOf(world, "mimic"))
    }),
  )

  it.effect("lets end what runs, and gets its next spec when it is woken", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(20)
      yield* sleep(world)
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(20)
      assert.strictEqual(replicas(world), 1)
      yield* pass(300)
      assert.deepStrictEqual(outcomes(world), ["succeeded", "succeeded"])
      assert.strictEqual(replicas(world), 0)
      const { observedGeneration, installedVersion } = Option.getOrThrow(world.status())
      assert.deepStrictEqual([observedGeneration, installedVersion], [2, "6.0.22"])
      yield* wake(world)
      yield* pass(180)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged", "VersionChanged"])
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("has forgotten when it is woken that names did not resolve inside", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.network.dns = false
      yield* pass(180)
      yield* sleep(world)
      yield* pass(30)
      world.network.dns = true
      yield* wake(world)
      yield* pass(90)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(
        alarms(world).map(({ reason }) => reason),
        ["DnsUnavailable"],
      )
    }),
  )

  it.effect("is neither taken down nor woken in a pause", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, ANNOTATION_PAUSED, "true")
      yield* pass(5)
      yield* sleep(world)
      yield* pass(60)
      assert.deepStrictEqual([replicas(world), phase(world)], [1, "Ready"])
      yield* annotate(world, ANNOTATION_PAUSED, null)
      yield* pass(30)
      assert.strictEqual(replicas(world), 0)
      yield* annotate(world, ANNOTATION_PAUSED, "true")
      yield* pass(5)
      yield* wake(world)
      yield* pass(60)
      assert.strictEqual(replicas(world), 0)
      assert.match(condition(world, "Ready")?.message ?? "", /^paused since/)
      yield* annotate(world, ANNOTATION_PAUSED, null)
      yield* pass(90)
      assert.deepStrictEqual([replicas(world), phase(world)], [1, "Ready"])
    }),
  )

  it.effect.each([
    ["succeeds", "True", "VersionChanged", "version 6.0.21 is installed"],
    ["fails", "False", "InstallFailed", "the program throws"],
  ] as const)("says what came of the install that ended on the way: it %s", ([how, status, reason, words]) =>
    Effect.gen(function* () {
      const world = yield* ready()
      if (how === "fails") world.pulumi.failures.push("Failed")
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(20)
      assert.strictEqual(outcomes(world).at(-1), "running")
      yield* sleep(world)
      yield* pass(180)
      assert.match(condition(world, "Ready")?.message ?? "", /^asleep since/)
      const installed = condition(world, "Installed")
      assert.deepStrictEqual([installed?.status, installed?.reason], [status, reason])
      assert.include(installed?.message ?? "", words)
      const applied = condition(world, "ConfigApplied")?.message ?? ""
      assert.match(applied, how === "fails" ? /^generation 1:/ : /^generation 2:/)
      yield* wake(world)
      yield* pass(300)
      assert.deepStrictEqual([phase(world), condition(world, "Installed")?.status], ["Ready", "True"])
    }),
  )

  it.effect("goes back to sleep when somebody scales it up", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      synced(world, "lonely", { bare: true })
      yield* sleep(world)
      yield* pass(30)
      const asked = memo(world)?.sleep
      assert.deepStrictEqual([asked.pods, asked.memory], [2, 128 * 2 ** 20])
      for (const others of [[], ["web"]]) {
        yield* pass(600, 10)
        world.cluster.patch(
          Kinds.StatefulSet,
          inHost(world, "vcluster"),
          { type: "merge", patch: { spec: { replicas: 1 } } },
          false,
        )
        for (const name of others) synced(world, name, { bare: true })
        yield* pass(30)
        assert.deepStrictEqual([replicas(world), podOf(world, "web")], [0, undefined])
        const bare = ["default/lonely", ...others.map((name) => `default/${name}`)]
        assert.deepStrictEqual(memo(world)?.sleep, { ...asked, bare })
        assert.include(condition(world, "Ready")?.message, `asleep since ${asked.since}: `)
        assert.strictEqual(
          told(world).at(-1),
          `asleep again: somebody had scaled statefulset/vcluster up, and what ran of it has ended; nothing inside makes these anew when it is woken: ${bare.join(", ")}`,
        )
      }
      assert.deepStrictEqual(alarms(world), [])
      assert.lengthOf(told(world), 3)
      yield* wake(world)
      yield* pass(60)
      assert.match(told(world).at(-1) ?? "", /^woken, after 2[01]m.* asleep: /)
    }),
  )

  it.effect("is found asleep by the next operator, and stays so", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* sleep(world)
      yield* pass(30)
      const { length } = world.statuses
      const since = memo(world)?.sleep.since
      yield* world.operator.stop
      yield* pass(60)
      yield* world.startOperator()
      yield* pass(600, 10)
      assert.strictEqual(replicas(world), 0)
      assert.deepStrictEqual([world.statuses.length, memo(world)?.sleep.since], [length, since])
      assert.deepStrictEqual([told(world).length, alarms(world)], [1, []])
    }),
  )

  it.effect("is deleted asleep", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* sleep(world)
      yield* pass(30)
      world.remove()
      yield* pass(180)
      assert.isTrue(Option.isNone(world.status()))
      assert.isUndefined(world.cluster.find(Kinds.Namespace, { name: world.host }))
    }),
  )

  it.effect("is retained asleep, and wakes with the instance that picks it up", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply({ deletionPolicy: "Retain" })
      yield* pass(120)
      yield* sleep(world)
      yield* pass(30)
      world.remove()
      yield* pass(30)
      assert.deepStrictEqual([Option.isNone(world.status()), replicas(world)], [true, 0])
      world.cluster.apply(Kinds.PlatformInstance, manifestOf({ deletionPolicy: "Retain" }))
      yield* pass(180)
      assert.deepStrictEqual([replicas(world), phase(world)], [1, "Ready"])
    }),
  )

  it.effect("from its first moment on is not begun", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* sleep(world)
      yield* pass(300, 10)
      assert.isUndefined(world.cluster.find(Kinds.Namespace, { name: world.host }))
      assert.deepStrictEqual(told(world), ["asleep: nothing of it ran"])
      yield* wake(world)
      yield* pass(180)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("tries again when it may not be scaled, and says what is in the way", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const request = `PATCH statefulsets/${world.host}/vcluster`
      for (let refusal = 0; refusal < 3; refusal++)
        world.cluster.refusals.push({ request, code: 403, reason: "Forbidden" })
      yield* sleep(world)
      yield* pass(1)
      assert.deepStrictEqual(
        [condition(world, "TargetReady")?.reason, phase(world)],
        ["TargetError", "Failed"],
      )
      assert.match(condition(world, "TargetReady")?.message ?? "", /^fall asleep: /)
      yield* pass(60)
      assert.strictEqual(replicas(world), 0)
      assert.match(condition(world, "Ready")?.message ?? "", /^asleep since/)
    }),
  )
})

/** What an operator may find of an instance that is to be awake, or asleep: made by a hand, a restore or an operator before. */
const found: ReadonlyArray<
  readonly [string, (world: World) => void, "awake" | "asleep", helm: ReadonlyArray<string>]
> = [
  ["a mark that says nothing", (world) => scaled(world, 0, "many"), "awake", []],
  ["a mark of no replicas", (world) => scaled(world, 0, "0"), "awake", []],
  ["a mark, and a control plane that runs", (world) => scaled(world, 1, "1"), "awake", []],
  ["no mark", (world) => scaled(world, 0, null), "awake", ["reapply"]],
  [
    "no StatefulSet",
    (world) => world.cluster.end(Kinds.StatefulSet, inHost(world, "vcluster")),
    "awake",
    ["reapply"],
  ],
  ["what another life has remembered", (world) => remembers(world, "another life"), "asleep", []],
  ["what it has remembered, and a control plane that runs", (world) => remembers(world), "asleep", []],
]
const remembered = "1970-01-01T00:00:01Z"

const scaled = (world: World, count: number, mark: string | null): void => {
  const patch = { metadata: { annotations: { [ANNOTATION_ASLEEP]: mark } }, spec: { replicas: count } }
  world.cluster.patch(Kinds.StatefulSet, inHost(world, "vcluster"), { type: "merge", patch }, false)
}

const remembers = (world: World, uid = world.cluster.instance(key)?.metadata.uid): void => {
  const since = remembered
  const text = JSON.stringify({ uid, sleep: { askedAt: since, pods: 1, memory: 1, since } })
  const annotations = { [ANNOTATION_SLEEP]: "true", [ANNOTATION_DAY_TWO]: text }
  world.cluster.patch(
    Kinds.PlatformInstance,
    key,
    { type: "merge", patch: { metadata: { annotations } } },
    false,
  )
}

describe("an operator that begins with", () => {
  for (const [what, make, end, helm] of found) {
    it.effect(`${what} comes to one that is ${end}`, () =>
      Effect.gen(function* () {
        const world = yield* ready()
        synced(world, "web")
        yield* world.operator.stop
        const before = world.helm.commands.length
        make(world)
        yield* pass(10)
        yield* world.startOperator()
        yield* pass(120)
        assert.deepStrictEqual(world.helm.commands.slice(before), helm)
        const awake = end === "awake"
        assert.deepStrictEqual([replicas(world), phase(world) === "Ready"], [awake ? 1 : 0, awake])
        assert.strictEqual(podOf(world, "web") !== undefined, awake)
        const set = world.cluster.find(Kinds.StatefulSet, inHost(world, "vcluster"))
        assert.strictEqual(set?.metadata.annotations?.[ANNOTATION_ASLEEP], awake ? undefined : "1")
        if (!awake) {
          const since = /^asleep since ([^:]+:\S+Z): /.exec(condition(world, "Ready")?.message ?? "")?.[1]
          assert.isDefined(since)
          assert.strictEqual(since === remembered, what.startsWith("what it has remembered"))
        }
        assert.deepStrictEqual(alarms(world), [])
      }),
    )
  }
})

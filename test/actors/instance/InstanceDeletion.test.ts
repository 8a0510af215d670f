import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { findCondition } from "../../../src/schema/Conditions.ts"
import {
  ANNOTATION_RECONCILE_REQUESTED,
  cleanupJobName,
  FINALIZER,
  INSTANCE_POLICY_NAME,
} from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "../support/instances.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const ready = Effect.fnUntraced(function* (spec?: Readonly<Record<string, unknown>>) {
  const world = yield* makeWorld()
  const operator = yield* world.startOperator()
  world.apply(spec)
  yield* pass(120)
  assert.strictEqual(phase(world), "Ready")
  return { ...world, operator }
})
const phase = (world: World) => Option.getOrUndefined(world.status())?.phase
const condition = (world: World, type: Parameters<typeof findCondition>[1]) =>
  findCondition(Option.getOrUndefined(world.status())?.conditions, type)
const isGone = (world: World) => world.cluster.instance(key) === undefined
const jobsMade = (world: World) => world.cluster.writes.filter((write) => write.startsWith("POST jobs/"))

/** What a `Delete` leaves behind: nothing of the instance. */
const assertNothingLeft = (world: World) => {
  assert.isTrue(isGone(world))
  assert.isUndefined(world.cluster.find(Kinds.Namespace, { name: world.host }))
  assert.isUndefined(world.cluster.find(Kinds.Secret, { namespace: "team-a", name: "one-kubeconfig" }))
  assert.isEmpty(world.cluster.all(Kinds.Job))
  assert.isEmpty(world.cluster.all(Kinds.Pod))
  assert.strictEqual(world.store.records.size + world.store.states.size, 0)
}

describe("deleting an instance", () => {
  it.effect("removes all of it, the finalizer last", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const uid = world.cluster.instance(key)?.metadata.uid ?? ""
      world.remove()
      yield* pass(5)
      assert.strictEqual(phase(world), "Deleting")
      assert.strictEqual(condition(world, "Ready")?.status, "False")
      yield* pass(60)
      assertNothingLeft(world)
      assert.deepStrictEqual(world.helm.commands, ["install", "uninstall"])
      assert.deepStrictEqual(jobsMade(world), [`POST jobs/ops/${cleanupJobName(key, uid)}`])
      // Then the definition may go: no instance is left.
      assert.deepStrictEqual(world.cluster.writes.filter((write) => !write.endsWith(" status")).slice(-2), [
        "PATCH platforminstances/team-a/one",
        `DELETE validatingadmissionpolicybindings/${INSTANCE_POLICY_NAME}`,
      ])
    }),
  )

  it.effect("of which nothing has been made yet ends, too", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* pass(0)
      world.remove()
      yield* pass(60)
      assertNothingLeft(world)
    }),
  )

  it.effect("ends a running install first, and starts no other", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      while (world.pulumi.runs.length === 0) yield* pass(1)
      world.remove()
      yield* pass(60)
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ outcome }) => outcome),
        ["interrupted"],
      )
      assertNothingLeft(world)
    }),
  )

  it.effect("ends a running install of helm first", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      while (world.helm.commands.length === 0) yield* pass(1)
      world.remove()
      yield* pass(60)
      assertNothingLeft(world)
    }),
  )

  it.effect("does not wait out the pause of an install that keeps failing", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      for (let failures = 0; failures < 9; failures++) world.pulumi.failures.push("Failed")
      yield* world.startOperator()
      world.apply()
      while (world.pulumi.runs.filter(({ outcome }) => outcome === "failed").length < 8) yield* pass(10)
      world.remove()
      yield* pass(60)
      assertNothingLeft(world)
    }),
  )

  it.effect("starts no cleanup of a custom storage root", () =>
    Effect.gen(function* () {
      const world = yield* ready({ platform: { storageRoot: "/mine" } })
      world.remove()
      yield* pass(60)
      assertNothingLeft(world)
      assert.isEmpty(jobsMade(world))
    }),
  )

  it.effect.each([
    ["that was recorded, whatever the operator's is now", "/recorded"],
    ["of the operator where the record tells of none", undefined],
  ] as const)("cleans up under the base %s", ([_, recorded]) =>
    Effect.gen(function* () {
      const world = yield* ready()
      const { storageRoot, ...record } = world.store.records.get("team-a/one") ?? assert.fail()
      assert.isDefined(storageRoot)
      world.store.records.set("team-a/one", {
        ...record,
        ...(recorded === undefined
          ? {}
          : { storageRoot: { path: `${recorded}/team-a/one`, base: recorded } }),
      })
      world.remove()
      while (world.cluster.all(Kinds.Job).length === 0) yield* pass(1)
      const base = recorded ?? "/base"
      const [job] = world.cluster.all(Kinds.Job)
      const expected = {
        containers: [
          {
            args: [
              `--base=${base}`,
              "--current-base=/base",
              "--namespace=team-a",
              "--name=one",
              "--mount=/storage",
            ],
          },
        ],
        volumes: [{ hostPath: { path: `${base}/team-a` } }],
      }
      expect(job).toMatchObject({ spec: { template: { spec: expected } } })
      yield* pass(60)
      assertNothingLeft(world)
    }),
  )

  it.effect("that nobody deletes the namespace of waits for it, and says so", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const namespace = world.cluster.find(Kinds.Namespace, { name: world.host }) ?? assert.fail()
      world.cluster.refusals.push({
        request: `DELETE namespaces/${world.host}`,
        code: 403,
        reason: "Forbidden",
      })
      world.remove()
      yield* pass(4)
      assert.deepInclude(condition(world, "TargetReady"), { status: "False", reason: "TargetDeleteFailed" })
      assert.match(condition(world, "Ready")?.message ?? "", /^delete host namespace: /)
      assert.strictEqual(phase(world), "Deleting")
      assert.isDefined(namespace)
      yield* pass(60)
      assertNothingLeft(world)
    }),
  )
})

describe("what a deletion asks for", () => {
  it.effect("F36: names a UID each time, and of a Job what becomes of its pod", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.jobs.push("Failed", "Complete")
      world.remove()
      yield* pass(120)
      assertNothingLeft(world)
      const asked = world.cluster.deletions
      assert.isEmpty(asked.filter(({ options }) => options?.uid === undefined))
      const jobs = asked.filter(({ request }) => request.startsWith("jobs/"))
      assert.deepStrictEqual(
        jobs.map(({ options }) => options?.propagation),
        ["Background", "Background"],
      )
    }),
  )

  it.effect("takes no finalizer from another life of the instance", () =>
    Effect.gen(function* () {
      const world = yield* ready({ deletionPolicy: "Retain" })
      const finalizerPatch = "PATCH platforminstances/team-a/one"
      // In the moment before its last write, somebody else ends the instance and makes it again.
      const swap = (): void => {
        if (world.cluster.writes.at(-1) !== finalizerPatch) {
          watchOut()
          return
        }
        const last = world.cluster.instance(key) ?? assert.fail()
        world.cluster.put(Kinds.PlatformInstance, last, {
          ...last,
          metadata: { ...last.metadata, finalizers: [] },
        })
        world.apply()
        const change = { metadata: { finalizers: [FINALIZER] } }
        world.cluster.patch(Kinds.PlatformInstance, key, { type: "merge", patch: change }, false)
      }
      const watchOut = () => void world.cluster.meanwhile.push({ request: finalizerPatch, act: swap })
      watchOut()
      world.remove()
      yield* pass(120)
      // Neither the finalizer nor the status of the other life is written.
      assert.deepStrictEqual(world.cluster.errors, [
        `Conflict ${finalizerPatch}`,
        `Invalid ${finalizerPatch} status`,
      ])
      assert.deepStrictEqual(world.cluster.instance(key)?.metadata.finalizers, [FINALIZER])
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.helm.commands, ["install"])
    }),
  )
})

describe("a cleanup that fails", () => {
  it.effect("is told with its path, and tried again after 10 s, then 20 s", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.jobs.push("Failed", "Failed")
      world.remove()
      const started: Array<number> = []
      for (let second = 0; second < 90; second++) {
        if (jobsMade(world).length > started.length) started.push(second)
        yield* pass(1)
        if (second === 25) {
          assert.deepInclude(condition(world, "Installed"), {
            status: "False",
            reason: "StorageCleanupFailed",
          })
          assert.match(condition(world, "Ready")?.message ?? "", /\/base\/team-a\/one/)
          assert.strictEqual(phase(world), "Deleting")
        }
      }
      assertNothingLeft(world)
      const pauses = started.slice(1).map((at, index) => at - (started[index] ?? 0) - 5)
      assert.lengthOf(started, 3)
      for (const [index, least] of [10, 20].entries()) {
        assert.isAtLeast(pauses[index] ?? 0, least)
        assert.isAtMost(pauses[index] ?? 0, least + 3)
      }
    }),
  )

  it.effect("is tried at once when a person asks for it, and its pauses begin anew", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      for (let failures = 0; failures < 5; failures++) world.jobs.push("Failed")
      world.remove()
      while (jobsMade(world).length < 4) yield* pass(1)
      yield* pass(20)
      const request = { metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED]: "now" } } }
      yield* world.edit(request)
      yield* pass(3)
      assert.lengthOf(jobsMade(world), 5)
      // Five failures in a row would be a pause of 160 s.
      yield* pass(30)
      assertNothingLeft(world)
    }),
  )

  it.effect("is left when a person asks for it, and the instance goes", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      for (let failures = 0; failures < 20; failures++) world.jobs.push("Failed")
      world.remove()
      yield* pass(60)
      assert.isFalse(isGone(world))
      yield* world.edit({
        metadata: { annotations: { "platform.di-framework.dev/skip-storage-cleanup": "true" } },
      })
      yield* pass(10)
      assertNothingLeft(world)
    }),
  )

  it.effect("is left when the instance is switched to Retain", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      for (let failures = 0; failures < 20; failures++) world.jobs.push("Failed")
      world.remove()
      yield* pass(60)
      yield* world.edit({ spec: { deletionPolicy: "Retain" } })
      yield* pass(10)
      assert.isTrue(isGone(world))
      assert.isEmpty(world.cluster.all(Kinds.Job))
    }),
  )
})

const skip = { metadata: { annotations: { "platform.di-framework.dev/skip-storage-cleanup": "true" } } }
const notes = (world: World, reason: string) =>
  world.events.filter((event) => event.reason === reason).map(({ note }) => note)

describe("F31: what has to be left behind", () => {
  it.effect("is listed in an Event", () =>
    Effect.gen(function* () {
      const world = yield* ready({ platform: { storageRoot: "/mine" } })
      world.remove()
      yield* pass(60)
      assert.deepStrictEqual(notes(world, "LeftBehind"), [
        "not removed with the instance: the custom storage root /mine",
      ])
      assertNothingLeft(world)
    }),
  )

  it.effect("is no storage root that was refused", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply({ platform: { storageRoot: "/" } })
      while (phase(world) !== "Failed") yield* pass(10)
      world.remove()
      yield* pass(60)
      assert.deepStrictEqual(notes(world, "LeftBehind"), [])
      assertNothingLeft(world)
    }),
  )

  it.effect("is the directory that a person chose to leave", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit(skip)
      world.remove()
      yield* pass(60)
      assert.deepStrictEqual(notes(world, "LeftBehind"), [
        "not removed with the instance: storage root /base/team-a/one",
      ])
    }),
  )

  it.effect("is no Event when nothing is", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.remove()
      yield* pass(60)
      assertNothingLeft(world)
      assert.isEmpty(notes(world, "LeftBehind"))
    }),
  )
})

describe("a storage root that another instance's overlaps with", () => {
  it.effect("is not removed, and the condition names both", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const mine = world.store.records.get("team-a/one") ?? assert.fail()
      world.store.records.set("team-b/two", {
        ...mine,
        uid: "two",
        storageRoot: { path: "/base/team-a/one/inner" },
      })
      world.remove()
      yield* pass(60)
      assert.isEmpty(jobsMade(world))
      assert.deepInclude(condition(world, "Installed"), { status: "False", reason: "StorageCleanupFailed" })
      assert.match(
        condition(world, "Ready")?.message ?? "",
        /^remove storage root \/base\/team-a\/one: it overlaps .* team-b\/two \(\/base\/team-a\/one\/inner\)/,
      )
      yield* world.edit(skip)
      yield* pass(60)
      assert.isTrue(isGone(world))
    }),
  )
})

describe("an instance whose finalizer was taken in the middle of its deletion", () => {
  const cut = Effect.fnUntraced(function* (
    moment: (world: World) => boolean,
    successor?: Readonly<Record<string, unknown>>,
  ) {
    const world = yield* ready()
    world.remove()
    while (!moment(world)) yield* pass(1)
    const last = world.cluster.instance(key) ?? assert.fail()
    world.cluster.put(Kinds.PlatformInstance, last, {
      ...last,
      metadata: { ...last.metadata, finalizers: [] },
    })
    world.apply(successor)
    return { world, before: last.metadata.uid }
  })

  it.effect("is removed to its end before its successor makes anything", () =>
    Effect.gen(function* () {
      const { world, before } = yield* cut(
        (it) => it.cluster.find(Kinds.Namespace, { name: it.host })?.metadata.deletionTimestamp !== undefined,
      )
      const first = world.controlPlanes.starts.length
      yield* pass(200)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.helm.commands, ["install", "uninstall", "install"])
      assert.deepStrictEqual(jobsMade(world), [`POST jobs/ops/${cleanupJobName(key, before)}`])
      const order = world.cluster.writes.filter((write) => /^(POST|DELETE) (namespaces|jobs)\//.test(write))
      assert.deepStrictEqual(
        order.slice(-4).map((write) => write.split("/")[0]),
        ["DELETE namespaces", "POST jobs", "DELETE jobs", "POST namespaces"],
      )
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ request }) => request.kind),
        ["FirstInstall", "FirstInstall"],
      )
      assert.isAbove(world.controlPlanes.starts.length, first)
    }),
  )

  it.effect("is removed no further when its successor goes at once, and is to be retained", () =>
    Effect.gen(function* () {
      const { world } = yield* cut(
        ({ store }) => [...store.records.values()].some(({ deleting }) => deleting !== undefined),
        { deletionPolicy: "Retain" },
      )
      yield* pass(1)
      assert.include(world.cluster.instance(key)?.metadata.finalizers ?? [], FINALIZER)
      world.remove()
      yield* pass(60)
      assert.isTrue(isGone(world))
      const namespace = world.cluster.find(Kinds.Namespace, { name: world.host })
      assert.isDefined(namespace)
      assert.isUndefined(namespace?.metadata.deletionTimestamp)
    }),
  )

  it.effect("has its running cleanup ended before its successor writes to the same directory", () =>
    Effect.gen(function* () {
      const { world } = yield* cut((it) => it.cluster.all(Kinds.Job).length > 0)
      yield* pass(200)
      assert.strictEqual(phase(world), "Ready")
      assert.lengthOf(jobsMade(world), 1)
      assert.isEmpty(world.cluster.all(Kinds.Job))
    }),
  )

  it.effect("shows on its successor what its cleanup fails of, and is tried again", () =>
    Effect.gen(function* () {
      const { world } = yield* cut((it) => {
        it.jobs.push("Failed")
        return it.helm.commands.includes("uninstall")
      })
      const reasons = new Set<string>()
      for (let second = 0; second < 60; second++) {
        yield* pass(1)
        const target = condition(world, "TargetReady")
        if (target?.message.startsWith("finish the deletion before: remove storage root /base/team-a/one"))
          reasons.add(target.reason)
      }
      assert.deepStrictEqual([...reasons], ["TargetError"])
    }),
  )
})

describe("retaining an instance", () => {
  const retained = Effect.gen(function* () {
    const world = yield* ready({ deletionPolicy: "Retain" })
    world.remove()
    yield* pass(20)
    assert.isTrue(isGone(world))
    return world
  })

  it.effect("keeps vCluster, state and record, and starts no cleanup", () =>
    Effect.gen(function* () {
      const world = yield* retained
      assert.isDefined(world.cluster.find(Kinds.StatefulSet, { namespace: world.host, name: "vcluster" }))
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.isEmpty(jobsMade(world))
      assert.deepStrictEqual([world.store.records.size, world.store.states.size], [1, 1])
    }),
  )

  it.effect("lets the next of its name pick all of it up, with its own settings applied", () =>
    Effect.gen(function* () {
      const world = yield* retained
      const record = world.store.records.get("team-a/one")
      world.apply({ platform: { tenants: [{ name: "acme" }] } })
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(world.helm.commands, ["install"])
      assert.deepStrictEqual(
        world.pulumi.runs.map(({ request }) => request.kind),
        ["FirstInstall", "SpecChanged"],
      )
      assert.strictEqual(
        world.pulumi.runs[1]?.request.clusterIdentifier,
        world.pulumi.runs[0]?.request.clusterIdentifier,
      )
      assert.deepStrictEqual(world.store.records.get("team-a/one")?.storageRoot, record?.storageRoot)
      assert.strictEqual(Option.getOrThrow(world.status()).applied?.tenants, 1)
      assert.deepStrictEqual(notes(world, "Adopted"), [
        "picked up the retained instance of this name, with version 6.0.22 installed: its vCluster, state and storage root",
      ])
    }),
  )

  it.effect("lets no settings of the last one count as the next one's, whatever their generations", () =>
    Effect.gen(function* () {
      const world = yield* retained
      world.apply({ platform: { tenants: [{ name: "acme" }] } })
      // The operator is stopped in the middle of the first install of this life.
      while (world.pulumi.runs.length < 2) yield* pass(1)
      yield* pass(5)
      yield* world.operator.stop
      yield* world.startOperator()
      yield* pass(120)
      assert.strictEqual(world.pulumi.runs.at(-1)?.outcome, "succeeded")
      assert.lengthOf(world.pulumi.runs, 3)
      assert.deepInclude(Option.getOrThrow(world.status()), { phase: "Ready", observedGeneration: 1 })
      assert.strictEqual(Option.getOrThrow(world.status()).applied?.tenants, 1)
    }),
  )
})

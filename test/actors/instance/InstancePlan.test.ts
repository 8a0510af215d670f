// Plans, and changes that wait for approval: what is looked at changes nothing, and what waits does not begin.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Option, Schema } from "effect"
import { HistoryText } from "../../../src/schema/History.ts"
import {
  ANNOTATION_APPROVE,
  ANNOTATION_APPROVED,
  ANNOTATION_DAY_TWO,
  ANNOTATION_PLAN,
  ANNOTATION_RECONCILE_REQUESTED,
  PLAN_KEY,
} from "../../../src/schema/Names.ts"
import { approvalOf } from "../../../src/schema/Plan.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { InstanceRecord } from "../../../src/services/StateStore/StateStore.ts"
import { key } from "../support/instances.ts"
import {
  annotate,
  changed,
  failing,
  grave,
  kept,
  looks,
  ofSpec,
  ofVersion,
  readyMessage,
  required,
  shown,
  told,
  upgrading,
} from "../support/plans.ts"
import { passUntil, phase, ready, reasons, repairDue } from "../support/readings.ts"
import { makeWorld, pass, type World } from "../support/World.ts"

const pastOf = (world: World) =>
  Schema.decodeSync(HistoryText)(world.store.histories.get("team-a/one") ?? assert.fail("there is a past"))
    .operations
const agreedOf = ({ agreed }: InstanceRecord) => agreed ?? assert.fail("something was agreed on")

describe("a plan", () => {
  it.effect("of a version is told and kept, and changes nothing; it is made once", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: grave, drifted: [] }
      const status = Option.getOrThrow(world.status())
      const record = world.store.records.get("team-a/one")
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.21" })
      yield* pass(60)
      assert.deepStrictEqual(looks(world), ["6.0.21"])
      assert.deepStrictEqual(
        told(world).map(({ type, reason, note }) => `${type} ${reason}: ${note}`),
        [
          "Normal Planned: version 6.0.21, generation 1: create 1 (ConfigMap 1), update 1 (Deployment 1), delete 1 (PersistentVolumeClaim 1); goes with its data: PersistentVolumeClaim wasmcloud/data",
        ],
      )
      assert.deepStrictEqual(ofVersion(world).deleted, ["PersistentVolumeClaim wasmcloud/data"])
      assert.deepStrictEqual(shown(world), ["history.json", PLAN_KEY])
      // Nothing else has come of it.
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.deepStrictEqual(Option.getOrThrow(world.status()), status)
      assert.strictEqual(world.store.records.get("team-a/one"), record)
      assert.strictEqual(phase(world), "Ready")
      // The same value asks for nothing more, of the next operator neither.
      yield* passUntil(repairDue(world) + 180, 30)
      yield* world.operator.stop
      yield* world.startOperator()
      yield* pass(120, 10)
      assert.deepStrictEqual(looks(world), ["6.0.21"])
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue"])
      // Taken away and set again, it asks again.
      yield* annotate(world, { [ANNOTATION_PLAN]: null })
      yield* pass(5)
      assert.isUndefined(world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_DAY_TWO])
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.21" })
      yield* pass(60)
      assert.deepStrictEqual(looks(world), ["6.0.21", "6.0.21"])
    }),
  )

  it.effect("that fails says why, is tried again, and keeps nothing else waiting", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.lookFailures.push("Failed", "Failed")
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.23" })
      yield* pass(30)
      // What asks for that version is not the spec.
      assert.match(
        ofVersion(world).unreadable ?? "",
        /the program throws; check annotation platform\.di-framework\.dev\/plan$/,
      )
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(300)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged"])
      assert.deepStrictEqual([...new Set(told(world).map(({ reason }) => reason))], ["PlanFailed", "Planned"])
      assert.isUndefined(ofVersion(world).unreadable)
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("of an instance whose state was lost says so, and what to do", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      world.store.records.clear()
      yield* world.startOperator()
      yield* world.edit({
        metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } },
        spec: { version: "6.0.21" },
      })
      yield* pass(120)
      assert.match(
        told(world)[0]?.note ?? "",
        /^check state \(version 6\.0\.21\): nothing in \S+ says what is installed.* Put it back from a backup/,
      )
      assert.deepStrictEqual(looks(world), [])
    }),
  )

  it.effect("of an instance that is being deleted is given up", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* annotate(world, { [ANNOTATION_PLAN]: "spec" })
      yield* pass(5)
      world.remove()
      yield* pass(180)
      assert.deepStrictEqual(
        world.pulumi.looks.map(({ outcome }) => outcome),
        ["interrupted"],
      )
      assert.isTrue(Option.isNone(world.status()))
    }),
  )

  it.effect(
    "that cannot be made is told and kept once, however often it is tried; retried at once on demand",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        failing(world)
        yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
        yield* pass(6 * 3_600, 300)
        assert.isAbove(looks(world).length, 15)
        assert.deepStrictEqual(
          told(world).map(({ reason }) => reason),
          ["PlanFailed", "ApprovalPending"],
        )
        const past = pastOf(world)
        assert.lengthOf(
          past.filter(({ what }) => what === "plan"),
          1,
        )
        assert.isTrue(past.some(({ why }) => why === "FirstInstall"))
        // Whoever asks for a try does not wait out the pauses, of the tries after it neither.
        const before = looks(world).length
        yield* annotate(world, { [ANNOTATION_RECONCILE_REQUESTED]: "now" })
        yield* pass(90, 1)
        assert.isAbove(looks(world).length, before + 2)
      }),
  )

  it.effect(
    "of another version that cannot be made keeps neither the change's own waiting nor takes its place",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        failing(world)
        yield* annotate(world, { ...required, [ANNOTATION_PLAN]: "9.9.9" })
        yield* pass(120, 5)
        yield* world.edit({ spec: { version: "6.0.21" } })
        // It is looked at although the other one goes on failing.
        yield* pass(60, 5)
        assert.include(looks(world), "6.0.21")
        world.pulumi.lookFailures.splice(0)
        world.pulumi.seen.preview = { steps: grave, drifted: [] }
        yield* pass(120, 5)
        assert.match(readyMessage(world), /goes with its data/)
        failing(world)
        yield* annotate(world, { [ANNOTATION_PLAN]: "9.9.8" })
        yield* pass(600, 5)
        assert.isDefined(ofVersion(world).unreadable)
        assert.match(readyMessage(world), /goes with its data/)
        assert.deepStrictEqual(new Set(reasons(world)), new Set(["FirstInstall"]))
      }),
  )

  it.effect("of an operator with a fault says nothing of what the one before has said", () =>
    Effect.gen(function* () {
      const world = yield* upgrading(required)
      world.pulumi.lookFailures.push("Defect")
      yield* annotate(world, { [ANNOTATION_PLAN]: "spec" })
      yield* pass(25)
      assert.match(ofSpec(world).unreadable ?? "", /internal error/)
      assert.deepStrictEqual(kept(world).grave, ["6.0.21"])
    }),
  )

  it.effect(
    "is asked of what the spec will be: a change waits for it, and for somebody where it takes data",
    () =>
      Effect.gen(function* () {
        const world = yield* upgrading({ [ANNOTATION_PLAN]: "spec" })
        assert.match(
          readyMessage(world),
          /^generation 2 waits for approval, annotation \S+approved="2-[0-9a-f]{12}"; plan of version 6\.0\.21, generation 2: .*goes with its data: PersistentVolumeClaim wasmcloud\/data; version 6\.0\.22 is ready$/,
        )
        // Without the annotation it waits all the same.
        yield* annotate(world, { [ANNOTATION_PLAN]: null })
        yield* pass(120)
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
        yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
        yield* pass(120)
        assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
        // It does what was shown, with what is missing in the target.
        assert.isTrue(world.pulumi.runs.at(-1)?.request.refresh)
        assert.strictEqual(readyMessage(world), "version 6.0.21 is ready")
      }),
  )

  it.effect(
    "that takes data has its version wait, also once nobody asks for the plan any more, over a restart",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.pulumi.seen.preview = { steps: grave, drifted: [] }
        yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.21" })
        yield* pass(60)
        // Nor does another look make it forgotten.
        world.pulumi.seen.preview = { steps: changed, drifted: [] }
        yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.23" })
        yield* pass(60)
        yield* annotate(world, { [ANNOTATION_PLAN]: null })
        yield* pass(10)
        yield* world.operator.stop
        yield* world.startOperator()
        world.pulumi.seen.preview = { steps: grave, drifted: [] }
        yield* world.edit({ spec: { version: "6.0.21" } })
        yield* pass(180)
        assert.deepStrictEqual(
          [looks(world), reasons(world)],
          [["6.0.21", "6.0.23", "6.0.21"], ["FirstInstall"]],
        )
      }),
  )

  it.effect("that takes data holds what comes after it, too, until one takes none", () =>
    Effect.gen(function* () {
      const world = yield* upgrading({ [ANNOTATION_PLAN]: "spec" })
      yield* annotate(world, { [ANNOTATION_PLAN]: null })
      yield* world.operator.stop
      yield* world.startOperator()
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(240)
      assert.deepStrictEqual([looks(world), reasons(world)], [["6.0.21", "6.0.21"], ["FirstInstall"]])
      // Whoever takes it back has nothing to approve.
      world.pulumi.seen.preview = { steps: changed, drifted: [] }
      yield* world.edit({ spec: { version: "6.0.22" } })
      yield* pass(240)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "SpecChanged"])
      assert.isUndefined(world.cluster.instance(key)?.metadata.annotations?.[ANNOTATION_DAY_TWO])
    }),
  )

  for (const [how, lose] of [
    ["lost", (world: World) => void world.store.plans.clear()],
    ["broken", (world: World) => void world.store.plans.set("team-a/one", "{")],
  ] as const)
    it.effect(`that is ${how} while its change waits is made again`, () =>
      Effect.gen(function* () {
        const world = yield* upgrading({ [ANNOTATION_PLAN]: "spec" })
        yield* annotate(world, { [ANNOTATION_PLAN]: null })
        yield* world.operator.stop
        lose(world)
        yield* world.startOperator()
        yield* pass(120)
        assert.deepStrictEqual(looks(world), ["6.0.21", "6.0.21"])
        assert.deepStrictEqual(ofSpec(world).deleted, ["PersistentVolumeClaim wasmcloud/data"])
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      }),
    )

  it.effect("file that cannot be read has the next change looked at first", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      world.store.plans.set("team-a/one", "{")
      yield* world.startOperator()
      world.pulumi.seen.preview = { steps: grave, drifted: [] }
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(180)
      assert.deepStrictEqual([looks(world), reasons(world)], [["6.0.21"], ["FirstInstall"]])
    }),
  )

  it.effect("that takes no data is followed by its change", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: changed, drifted: [] }
      yield* world.edit({
        metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } },
        spec: { version: "6.0.21" },
      })
      yield* pass(180)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
      assert.deepStrictEqual(looks(world), ["6.0.21"])
    }),
  )
})

describe("approval", () => {
  it.effect("is waited for by a change, over restarts; repairs of what is installed need none", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: changed, drifted: [] }
      yield* annotate(world, required)
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(120)
      assert.deepStrictEqual([looks(world), reasons(world)], [["6.0.22"], ["FirstInstall"]])
      assert.deepStrictEqual(
        told(world).map(({ reason }) => reason),
        ["Planned", "ApprovalPending"],
      )
      const status = Option.getOrThrow(world.status())
      assert.deepStrictEqual([status.phase, status.observedGeneration], ["Ready", 1])
      assert.match(
        readyMessage(world),
        /^generation 2 waits for approval, .*create 1 \(ConfigMap 1\), update 1 \(Deployment 1\); version/,
      )
      yield* world.operator.stop
      yield* world.startOperator()
      // That of another generation or plan is none of this one; a wrong one is none at all.
      for (const value of ["1", "2-0123456789ab", "yes"]) {
        yield* annotate(world, { [ANNOTATION_APPROVED]: value })
        yield* pass(60)
      }
      // Meanwhile it is repaired as it was agreed on last.
      yield* passUntil(repairDue(world) + 180, 30)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue"])
      const repaired = world.pulumi.runs.at(-1)?.request
      assert.deepStrictEqual([repaired?.generation, repaired?.config.get("tenants")], [1, undefined])
      // What it has found is looked at again; the same is told once.
      assert.deepStrictEqual(looks(world).length, 2)
      assert.deepStrictEqual(
        told(world).map(({ reason }) => reason),
        ["Planned", "ApprovalPending"],
      )
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world).slice(2), ["SpecChanged"])
      assert.strictEqual(Option.getOrThrow(world.status()).observedGeneration, 2)
      // The next change waits again.
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world).slice(2), ["SpecChanged"])
    }),
  )

  it.effect("that was there before its plan is none of it, and one that names the plan is", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: grave, drifted: [] }
      yield* annotate(world, { ...required, [ANNOTATION_APPROVED]: "2" })
      yield* pass(30)
      yield* world.edit({ spec: { version: "6.0.21" } })
      yield* pass(180)
      assert.deepStrictEqual([looks(world), reasons(world)], [["6.0.21"], ["FirstInstall"]])
      yield* annotate(world, { [ANNOTATION_APPROVED]: approvalOf(ofSpec(world)) })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
    }),
  )

  it.effect("given while its plan is being made is given before it", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
      yield* pass(5)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(180)
      assert.deepStrictEqual([looks(world), reasons(world)], [["6.0.21"], ["FirstInstall"]])
      yield* annotate(world, { [ANNOTATION_APPROVED]: null })
      yield* pass(5)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
    }),
  )

  it.effect("given in the moment before its plan is told is given before it", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
      yield* pass(5)
      world.cluster.meanwhile.push({
        request: "PATCH configmaps/team-a/one-history",
        act: () =>
          void world.cluster.patch(
            Kinds.PlatformInstance,
            key,
            { type: "merge", patch: { metadata: { annotations: { [ANNOTATION_APPROVED]: "2" } } } },
            false,
          ),
      })
      yield* pass(180)
      assert.lengthOf(world.cluster.meanwhile, 0)
      assert.deepStrictEqual([looks(world), reasons(world)], [["6.0.21"], ["FirstInstall"]])
      assert.match(readyMessage(world), /^generation 2 waits for approval/)
    }),
  )

  it.effect(
    "is none of what the plan has become since: another package is looked at before it is installed",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.pulumi.seen.preview = { steps: changed, drifted: [] }
        yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
        yield* pass(120)
        world.pulumi.seen.preview = { steps: grave, drifted: [] }
        world.pulumi.found.digest = "sha256:other"
        yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
        yield* pass(180)
        assert.deepStrictEqual([looks(world).length, reasons(world)], [2, ["FirstInstall"]])
        assert.match(readyMessage(world), /waits for approval, .*goes with its data/)
        yield* annotate(world, { [ANNOTATION_APPROVED]: approvalOf(ofSpec(world)) })
        yield* pass(120)
        assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
      }),
  )

  it.effect("holds where what has changed since comes to the same", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: changed, drifted: [] }
      yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
      yield* passUntil(repairDue(world) - 10, 30)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2-0123456789ab" })
      // The state is another one after the repair.
      yield* passUntil(repairDue(world) + 70, 10)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(180)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "RepairDue", "VersionChanged"])
      assert.isAtMost(looks(world).length, 3)
    }),
  )

  it.effect("taken back before the engine has begun is none", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.pulumi.seen.preview = { steps: changed, drifted: [] }
      yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.23" } })
      yield* pass(120)
      world.pulumi.fetches.splice(0)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(2)
      yield* annotate(world, { [ANNOTATION_APPROVED]: null })
      yield* pass(180)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.match(readyMessage(world), /^generation 2 waits for approval/)
    }),
  )

  it.effect(
    "of what has begun outlives it: what failed is tried again over a newer change that waits, and over a restart",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        world.pulumi.seen.preview = { steps: changed, drifted: [] }
        yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
        yield* pass(120)
        world.pulumi.failures.push("Failed")
        yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
        yield* passUntil(60 * Math.ceil((yield* Clock.currentTimeMillis) / 60_000), 5)
        yield* world.edit({
          metadata: { annotations: { [ANNOTATION_APPROVED]: null } },
          spec: { version: "6.0.23" },
        })
        yield* pass(20)
        yield* world.operator.stop
        yield* world.startOperator()
        yield* pass(400, 5)
        const versions = world.pulumi.runs.map(({ request }) => `${request.kind} ${request.version}`)
        assert.strictEqual(versions.at(-1), "Retry 6.0.21")
        assert.isFalse(versions.some((each) => each.includes("6.0.23")))
        assert.match(readyMessage(world), /^generation 3 waits for approval, .*; version 6\.0\.21 is ready$/)
      }),
  )

  it.effect("is not waited for by a lost control plane, nor by sleep", () =>
    Effect.gen(function* () {
      const world = yield* upgrading(required)
      yield* Effect.sync(() => world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster" }))
      yield* pass(400, 5)
      assert.deepStrictEqual(reasons(world).slice(1), ["Resync"])
      assert.strictEqual(world.pulumi.runs.at(-1)?.request.version, "6.0.22")
      assert.match(readyMessage(world), /^generation 2 waits for approval/)
    }),
  )

  it.effect("is taken up while something else is looked at", () =>
    Effect.gen(function* () {
      const world = yield* upgrading(required)
      yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.23" })
      yield* pass(5)
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(180)
      assert.deepStrictEqual(
        world.pulumi.looks.map(({ outcome }) => outcome),
        ["succeeded", "interrupted", "succeeded"],
      )
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
    }),
  )

  it.effect("is not given by a plan that cannot be read", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      failing(world)
      yield* world.edit({
        metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } },
        spec: { version: "6.0.21" },
      })
      yield* pass(600, 5)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      assert.isAbove(looks(world).length, 2)
      assert.match(readyMessage(world), /cannot be read: .*the program throws/)
      // Somebody may, knowing that.
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
    }),
  )

  it.effect("where nobody knows what was agreed on last has repairs wait, too", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const record = world.store.records.get("team-a/one") ?? assert.fail("there is a record")
      yield* world.operator.stop
      world.store.records.set("team-a/one", { ...record, agreed: { ...agreedOf(record), spec: "?" } })
      yield* world.startOperator()
      yield* world.edit({ metadata: { annotations: required }, spec: { version: "6.0.21" } })
      yield* passUntil(repairDue(world) + 300, 30)
      assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      const status = Option.getOrThrow(world.status())
      assert.deepStrictEqual([status.phase, status.observedGeneration], ["Ready", 1])
      yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
      yield* pass(120)
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "VersionChanged"])
    }),
  )

  it.effect("is not needed by a first install", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      yield* world.startOperator()
      world.apply()
      yield* annotate(world, { [ANNOTATION_APPROVE]: "required", [ANNOTATION_PLAN]: "spec" })
      yield* pass(180)
      assert.strictEqual(phase(world), "Ready")
      assert.deepStrictEqual(looks(world), ["6.0.22"])
    }),
  )
})

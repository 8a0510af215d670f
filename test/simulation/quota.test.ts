// What an instance may take, and the priority of its control plane, with the operator as it is and the world around it simulated.

import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Option } from "effect"
import { PRIORITY, PRIORITY_CLASS } from "../../src/actors/instance/target/controlPlanePriority.ts"
import { DEFAULTS_NAME, QUOTA_NAME } from "../../src/actors/instance/target/quotaManifests.ts"
import { POD_POLICY_NAME } from "../../src/schema/Names.ts"
import { parseQuota } from "../../src/schema/Quota.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { at } from "../twins/kubernetes/Json.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import type { World } from "../twins/world/World.ts"
import { start } from "./deletions.ts"
import { watchReady } from "./watchReady.ts"

vi.setConfig({ testTimeout: 600_000 })

const settings = (text: string) => ({
  release: { settings: { instanceQuota: Option.getOrThrow(parseQuota(text)) } },
})
const bounded = settings("pods=10,requests.cpu=1")

const kept = [
  [Kinds.ResourceQuota, QUOTA_NAME, { spec: { hard: { pods: "1k", services: "3" } } }],
  [Kinds.LimitRange, DEFAULTS_NAME, { spec: { limits: [{ type: "Container", max: { cpu: "1" } }] } }],
] as const
const specs = (world: World) =>
  kept.map(([kind, name]) => world.admin.get(kind, { namespace: world.hostNamespace(), name })?.spec)

describe("the quota of an instance", () => {
  it("comes to one that is there, is put back when edited or removed, follows the flag and goes with it; the instance is Ready throughout", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const wasReady = watchReady(world)
        let current = world.operator
        const again = Effect.fnUntraced(function* (how: ReturnType<typeof settings>) {
          yield* current.stop
          current = yield* world.startOperator(how)
        })
        assert.deepStrictEqual(specs(world), [undefined, undefined])
        yield* again(bounded)
        const are = (hard: object) =>
          JSON.stringify(at(specs(world)[0] ?? null, "hard")) === JSON.stringify(hard)
        const hard = { pods: "11", "requests.cpu": "1200m" }
        yield* until(() => are(hard), "1 minute", "the quota is there")
        const before = specs(world)
        const areAsBefore = () => JSON.stringify(specs(world)) === JSON.stringify(before)
        for (const [kind, name, patch] of kept) {
          const ref = { namespace: world.hostNamespace(), name }
          world.admin.patch(kind, ref, { type: "merge", patch })
          assert.isFalse(areAsBefore())
          yield* until(areAsBefore, "1 minute", `${name} is as it was`)
          world.admin.delete(kind, ref)
          yield* until(areAsBefore, "1 minute", `${name} is there again`)
        }
        yield* again(settings("pods=20"))
        yield* until(() => are({ pods: "21" }), "1 minute", "the quota is another one")
        yield* until(() => specs(world)[1] === undefined, "1 minute", "the defaults are gone")
        yield* again(settings(""))
        yield* until(() => specs(world)[0] === undefined, "1 minute", "the quota is gone")
        yield* Effect.sleep("10 minutes")
        assert.isTrue(wasReady())
      }),
      { seed: 1 },
    ))

  it("is away while the control plane is, so that a quota that is used up does not keep its pod from coming back", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start(bounded.release)
        const pod = () => world.admin.get(Kinds.Pod, { namespace: world.hostNamespace(), name: "vcluster-0" })
        const isThere = () => specs(world)[0] !== undefined
        yield* until(isThere, "1 minute", "the quota is there")
        const before = pod()?.metadata.uid
        world.admin.delete(Kinds.Pod, { namespace: world.hostNamespace(), name: "vcluster-0" })
        yield* until(() => !isThere(), "1 minute", "the quota is away")
        yield* until(isThere, "10 minutes", "the quota is there again")
        assert.notStrictEqual(pod()?.metadata.uid, before)
        assert.isUndefined(pod()?.metadata.deletionTimestamp)
        let written = 0
        world.host.subscribe(({ kind }) => {
          if (kind.kind === "ResourceQuota" || kind.kind === "LimitRange") written += 1
        })
        yield* Effect.sleep("1 hour")
        assert.strictEqual(written, 0)
      }),
      { seed: 1 },
    ))

  it("is a warning where the role of an earlier release does not grant it: instances come up and are Ready", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        yield* world.operator.stop
        const role = { name: "platform-operator" }
        const rules = (at(world.admin.get(Kinds.ClusterRole, role) ?? null, "rules") ?? []) as ReadonlyArray<{
          readonly resources: ReadonlyArray<string>
        }>
        const earlier = rules.filter(({ resources }) => !/quotas|priorityclasses/.test(resources.join()))
        assert.isBelow(earlier.length, rules.length)
        world.admin.patch(Kinds.ClusterRole, role, { type: "merge", patch: { rules: earlier } })
        const wasReady = watchReady(world)
        yield* world.startOperator(bounded)
        yield* Effect.sleep("1 hour")
        assert.isTrue(wasReady())
        assert.deepStrictEqual(specs(world), [undefined, undefined])
        world.admin.patch(Kinds.ClusterRole, role, { type: "merge", patch: { rules } })
        yield* until(() => specs(world)[0] !== undefined, "30 minutes", "the quota is there")
        assert.isTrue(wasReady())
      }),
      { seed: 1 },
    ))
})

describe("the priority of control planes", () => {
  const ref = { name: PRIORITY_CLASS }
  const className = (world: World) =>
    at(
      world.admin.get(Kinds.StatefulSet, { namespace: world.hostNamespace(), name: "vcluster" }) ?? null,
      ...["spec", "template", "spec", "priorityClassName"],
    )

  it("is a class that is there before them, and again at once when somebody removes it", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        assert.strictEqual(className(world), PRIORITY_CLASS)
        world.admin.delete(Kinds.PriorityClass, ref)
        yield* until(
          () => world.admin.get(Kinds.PriorityClass, ref) !== undefined,
          "30 seconds",
          "it is back",
        )
      }),
      { seed: 1 },
    ))

  it("is asked of no pod while the cluster's default class is as high, whenever that is made", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        const isRanked = () =>
          JSON.stringify(
            world.admin.get(Kinds.ValidatingAdmissionPolicy, { name: POD_POLICY_NAME })?.spec,
          ).includes("object.spec.priority")
        assert.isTrue(isRanked())
        const name = "everything"
        world.admin.create(Kinds.PriorityClass, {
          apiVersion: "scheduling.k8s.io/v1",
          kind: "PriorityClass",
          metadata: { name },
          value: PRIORITY,
          globalDefault: true,
        })
        yield* until(() => !isRanked(), "1 minute", "pods may have the default class")
        world.admin.delete(Kinds.PriorityClass, { name })
        yield* until(isRanked, "1 minute", "pods may not be as high again")
        assert.isTrue(world.isReady())
      }),
      { seed: 1 },
    ))

  it("comes to none that is there already: it is not restarted", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start({ settings: { controlPlanePriority: false } })
        assert.isUndefined(className(world))
        assert.isUndefined(world.admin.get(Kinds.PriorityClass, ref))
        const pod = () =>
          world.admin.get(Kinds.Pod, { namespace: world.hostNamespace(), name: "vcluster-0" })?.metadata.uid
        const before = pod()
        const wasReady = watchReady(world)
        yield* world.operator.stop
        yield* world.startOperator({ release: { settings: { controlPlanePriority: true } } })
        yield* until(
          () => world.admin.get(Kinds.PriorityClass, ref) !== undefined,
          "1 minute",
          "the class is there",
        )
        yield* Effect.sleep("1 hour")
        assert.isUndefined(className(world))
        assert.strictEqual(pod(), before)
        assert.isTrue(wasReady())
      }),
      { seed: 1 },
    ))
})

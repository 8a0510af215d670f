// What the operator's admission policies keep, with the operator as it is and the world around it simulated.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import {
  ANNOTATION_PROTECT,
  ANNOTATION_STORAGE_ROOT,
  CRD_NAME,
  INSTANCE_POLICY_NAME,
  POD_POLICY_NAME,
  SERVICE_POLICY_NAME,
  VCLUSTER_POLICY_NAME,
} from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { escapes, podSpec } from "../support/escapes.ts"
import { refusal } from "../twins/kubernetes/refusal.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { key, type World } from "../twins/world/World.ts"
import { gone, leavesNothing, ready, start, storageRoot } from "./deletions.ts"

vi.setConfig({ testTimeout: 600_000 })

const annotate = (world: World, value: string | null) =>
  world.admin.patch(Kinds.PlatformInstance, key, {
    type: "merge",
    patch: { metadata: { annotations: { [ANNOTATION_PROTECT]: value } } },
  })
const binding = (world: World, name: string) =>
  world.admin.get(Kinds.ValidatingAdmissionPolicyBinding, { name })
const dropDefinition = (world: World) =>
  refusal(() => world.admin.delete(Kinds.CustomResourceDefinition, { name: CRD_NAME }))
const unbound = (world: World) =>
  until(
    () => binding(world, INSTANCE_POLICY_NAME) === undefined,
    "1 minute",
    "the definition is no longer protected",
  )

describe("the definition of instances", () => {
  it("is kept while there is one, and may go with the last", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        assert.include(dropDefinition(world), INSTANCE_POLICY_NAME)
        world.remove()
        yield* leavesNothing(world)
        yield* unbound(world)
        assert.strictEqual(dropDefinition(world), "")
      }),
      { seed: 1 },
    ))

  it("may go also where the operator was away when the last went", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        yield* world.operator.stop
        world.admin.patch(Kinds.PlatformInstance, key, {
          type: "merge",
          patch: { metadata: { finalizers: null } },
        })
        world.remove()
        yield* gone(world)
        assert.include(dropDefinition(world), INSTANCE_POLICY_NAME)
        yield* world.startAgain
        yield* unbound(world)
      }),
      { seed: 1 },
    ))

  it("is kept again for the next instance, in whatever moment it comes", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        world.remove()
        yield* gone(world)
        world.apply()
        yield* ready(world)
        yield* until(
          () => binding(world, INSTANCE_POLICY_NAME) !== undefined,
          "1 minute",
          "the definition is protected",
        )
        yield* Effect.sleep("1 hour")
        assert.include(dropDefinition(world), INSTANCE_POLICY_NAME)
      }),
      { seed: 1 },
    ))
})

describe("an instance that is annotated as protected", () => {
  it("is not deleted, and goes its way once the annotation is gone", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        annotate(world, "true")
        assert.include(
          refusal(() => world.remove()),
          `${ANNOTATION_PROTECT}-`,
        )
        yield* Effect.sleep("1 hour")
        assert.isTrue(world.isReady())
        annotate(world, null)
        world.remove()
        // One that is going is ended, though it is annotated meanwhile.
        annotate(world, "true")
        yield* leavesNothing(world)
      }),
      { seed: 1 },
    ))

  it("outlives the deletion of its namespace, which ends once the annotation is gone", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        annotate(world, "true")
        world.admin.delete(Kinds.Namespace, { name: key.namespace })
        yield* Effect.sleep("10 minutes")
        assert.isUndefined(world.instance()?.metadata.deletionTimestamp)
        assert.isDefined(world.admin.get(Kinds.Namespace, { name: world.hostNamespace() }))
        annotate(world, null)
        yield* gone(world, "30 minutes")
        yield* until(
          () => world.admin.get(Kinds.Namespace, { name: key.namespace }) === undefined,
          "10 minutes",
          "its namespace is gone",
        )
      }),
      { seed: 1 },
    ))
})

describe("a host namespace", () => {
  const hostPod = (world: World, asked: Parameters<typeof podSpec>[0]) =>
    refusal(() =>
      world.admin.create(Kinds.Pod, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace: world.hostNamespace(), name: asked.name },
        spec: podSpec(asked),
      }),
    )

  it("takes no pod that reaches for the node", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        for (const asked of escapes(storageRoot)) assert.match(hostPod(world, asked), asked.says)
      }),
      { seed: 1 },
    ))

  it("takes any where instances may be privileged; the policy of the operator before goes", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        assert.isDefined(binding(world, POD_POLICY_NAME))
        yield* world.operator.stop
        yield* world.startOperator({ release: { settings: { allowPrivilegedInstances: true } } })
        yield* until(() => binding(world, POD_POLICY_NAME) === undefined, "1 minute", "the policy is gone")
        assert.strictEqual(hostPod(world, { name: "asks", spec: { hostPID: true } }), "")
      }),
      { seed: 1 },
    ))

  it("from before there was a mark gets it, and its instance is Ready all the while", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* start()
        yield* world.operator.stop
        const ref = { name: world.hostNamespace() }
        const annotations = { [ANNOTATION_STORAGE_ROOT]: null }
        world.admin.patch(Kinds.Namespace, ref, { type: "merge", patch: { metadata: { annotations } } })
        let ready = true
        world.host.subscribe(({ kind }) => {
          if (kind.kind === "PlatformInstance") ready &&= world.isReady()
        })
        yield* world.startAgain
        const mark = () =>
          world.admin.get(Kinds.Namespace, ref)?.metadata.annotations?.[ANNOTATION_STORAGE_ROOT]
        yield* until(() => mark() === storageRoot, "1 minute", "the namespace is marked")
        yield* Effect.sleep("10 minutes")
        assert.isTrue(ready)
      }),
      { seed: 1 },
    ))
})

describe("each policy", () => {
  it.each([VCLUSTER_POLICY_NAME, INSTANCE_POLICY_NAME, POD_POLICY_NAME, SERVICE_POLICY_NAME])(
    "%s is put back, and its binding, at once",
    (name) =>
      simulate(
        Effect.gen(function* () {
          const world = yield* start()
          for (const kind of [Kinds.ValidatingAdmissionPolicy, Kinds.ValidatingAdmissionPolicyBinding]) {
            const before = world.admin.get(kind, { name })
            world.admin.delete(kind, { name })
            yield* until(() => world.admin.get(kind, { name }) !== undefined, "30 seconds", "it is back")
            assert.deepStrictEqual(world.admin.get(kind, { name })?.spec, before?.spec)
          }
        }),
        { seed: 1 },
      ),
  )
})

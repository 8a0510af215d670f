import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { type InstanceSettings, Settings } from "../../../../src/actors/instance/Settings.ts"
import {
  instancePolicyManifests,
  podPolicyManifests,
  policyManifests,
  servicePolicyManifests,
} from "../../../../src/actors/instance/target/AdmissionPolicies.ts"
import {
  PRIORITY,
  PRIORITY_CLASS,
  priorityClassManifest,
} from "../../../../src/actors/instance/target/controlPlanePriority.ts"
import { Protection } from "../../../../src/actors/instance/target/Protection.ts"
import {
  INSTANCE_POLICY_NAME,
  POD_POLICY_NAME,
  SERVICE_POLICY_NAME,
  VCLUSTER_POLICY_NAME,
} from "../../../../src/schema/Names.ts"
import {
  KubeError,
  type KubeManifest,
  type KubeObject,
  Kubernetes,
  type Patch,
} from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { priorityClass } from "../../support/priorityClasses.ts"
import { settings } from "../../support/World.ts"

const all: ReadonlyArray<KubeManifest> = [
  ...policyManifests("operator"),
  ...instancePolicyManifests(),
  ...podPolicyManifests(),
  ...servicePolicyManifests(),
]

const seen = (kind: string, name: string) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  metadata: { name, uid: "u", resourceVersion: "2" },
})

/** A server that keeps what is applied beside what somebody has added to the specs, or refuses it. */
const over = (
  refusal: Option.Option<KubeError>,
  added: object = {},
  allowPrivilegedInstances = false,
  isRefused: (name: string) => boolean = () => true,
  classes: ReadonlyArray<KubeObject> = [],
  choices: Partial<InstanceSettings> = {},
) => {
  const applied: Array<KubeManifest> = []
  const patched: Array<Patch> = []
  const deleted: Array<string> = []
  const meanwhile = { does: Effect.void, refusesClass: Option.none<KubeError>() }
  const kubernetes = Layer.mock(Kubernetes, {
    list: () => Effect.succeed(classes),
    whoAmI: Effect.succeed("operator"),
    apply: (_, manifest) =>
      Option.match(
        manifest.kind === "PriorityClass"
          ? meanwhile.refusesClass
          : Option.filter(refusal, () => isRefused(manifest.metadata.name)),
        {
          onSome: Effect.fail,
          onNone: () =>
            Effect.sync(() => {
              if (manifest.kind !== "PriorityClass") applied.push(manifest)
              const metadata = { ...manifest.metadata, uid: "u", resourceVersion: "1" }
              return { ...manifest, metadata, spec: Object.assign({}, manifest.spec, added) }
            }).pipe(Effect.tap(() => meanwhile.does)),
        },
      ),
    get: ({ kind }, { name }) => Effect.succeedSome(seen(kind, name)),
    delete: ({ kind }, { name }, options) =>
      Effect.sync(() => {
        deleted.push(`${kind} ${name} ${options?.uid}`)
        return true
      }),
    patch: ({ kind }, { name }, patch) =>
      Effect.sync(() => {
        patched.push(patch)
        return seen(kind, name)
      }),
  })
  const flags = Layer.succeed(Settings, { ...settings, allowPrivilegedInstances, ...choices })
  return {
    applied,
    patched,
    deleted,
    meanwhile,
    layer: Protection.layer.pipe(Layer.provide(Layer.mergeAll(kubernetes, flags))),
  }
}
const refused = (code: number, reason: string) =>
  Option.some(new KubeError({ code, reason, request: "PATCH policy", message: reason }))

describe("the protection", () => {
  it.effect("is unknown until it was applied, and again after somebody changed it", () => {
    const { applied, patched, layer } = over(Option.none())
    return Effect.gen(function* () {
      const protection = yield* Protection
      assert.isTrue(Option.isNone(yield* protection.state))
      const state = yield* protection.ensure
      assert.isTrue(state.installed)
      assert.deepStrictEqual(applied, all)
      assert.isEmpty(patched)
      assert.deepStrictEqual(yield* protection.state, Option.some(state))
      yield* protection.invalidate
      assert.isTrue(Option.isNone(yield* protection.state))
    }).pipe(Effect.provide(layer))
  })

  it.effect("is the whole of all specs: what somebody has added, a condition that never holds, goes", () => {
    const matchConditions = [{ name: "never", expression: "false" }]
    const { patched, layer } = over(Option.none(), { matchConditions })
    return Effect.gen(function* () {
      assert.isTrue((yield* (yield* Protection).ensure).installed)
      assert.deepStrictEqual(
        patched,
        all.map(({ spec }) => ({
          type: "json",
          operations: [
            { op: "test", path: "/metadata/uid", value: "u" },
            { op: "replace", path: "/spec", value: spec },
          ],
        })),
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect(
    "has no policy for instances where they are not to be protected, and takes away an earlier one",
    () => {
      const { applied, deleted, layer } = over(Option.none(), {}, false, () => true, [], {
        protectInstances: false,
      })
      return Effect.gen(function* () {
        assert.isTrue((yield* (yield* Protection).ensure).installed)
        assert.notInclude(
          applied.map(({ metadata }) => metadata.name),
          INSTANCE_POLICY_NAME,
        )
        assert.deepStrictEqual(deleted, [
          `ValidatingAdmissionPolicyBinding ${INSTANCE_POLICY_NAME} u`,
          `ValidatingAdmissionPolicy ${INSTANCE_POLICY_NAME} u`,
        ])
      }).pipe(Effect.provide(layer))
    },
  )

  it.effect("has no policy for pods where instances may be privileged, and takes away an earlier one", () => {
    const { applied, deleted, layer } = over(Option.none(), {}, true)
    return Effect.gen(function* () {
      assert.isTrue((yield* (yield* Protection).ensure).installed)
      assert.deepStrictEqual(applied, all.slice(0, 4))
      assert.deepStrictEqual(deleted, [
        `ValidatingAdmissionPolicyBinding ${POD_POLICY_NAME} u`,
        `ValidatingAdmissionPolicy ${POD_POLICY_NAME} u`,
        `ValidatingAdmissionPolicyBinding ${SERVICE_POLICY_NAME} u`,
        `ValidatingAdmissionPolicy ${SERVICE_POLICY_NAME} u`,
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect(
    "goes without the policies that a role of an earlier release does not name, and not without the first",
    () =>
      Effect.gen(function* () {
        const forbidden = refused(403, "Forbidden")
        const others = over(forbidden, {}, false, (name) => name !== VCLUSTER_POLICY_NAME)
        const state = yield* Effect.flatMap(Protection, ({ ensure }) => ensure).pipe(
          Effect.provide(others.layer),
        )
        assert.isTrue(state.installed)
        assert.deepStrictEqual(
          others.applied.map(({ metadata }) => metadata.name),
          [VCLUSTER_POLICY_NAME, VCLUSTER_POLICY_NAME],
        )
        const error = yield* Effect.flatMap(Protection, ({ ensure }) => ensure).pipe(
          Effect.provide(over(forbidden).layer),
          Effect.flip,
        )
        assert.strictEqual(error.code, 403)
      }),
  )

  const isRanked = (manifests: ReadonlyArray<KubeManifest>) =>
    JSON.stringify(manifests.map(({ spec }) => spec)).includes("object.spec.priority")

  it.effect("has a class for control planes, made anew where somebody's has its name", () => {
    const { applied, deleted, layer } = over(Option.none(), {}, false, () => true, [
      priorityClass(PRIORITY_CLASS, 7),
      priorityClass("others", PRIORITY - 1, true),
    ])
    return Effect.gen(function* () {
      assert.isTrue((yield* (yield* Protection).ensure).priority)
      assert.deepStrictEqual(deleted, [`PriorityClass ${PRIORITY_CLASS} c`])
      assert.isTrue(isRanked(applied))
    }).pipe(Effect.provide(layer))
  })

  it.effect("has a class that displaces nobody: one from before that does is made anew", () => {
    assert.strictEqual(priorityClassManifest.preemptionPolicy, "Never")
    const { deleted, layer } = over(Option.none(), {}, false, () => true, [
      priorityClass(PRIORITY_CLASS, PRIORITY, false, "PreemptLowerPriority"),
    ])
    return Effect.gen(function* () {
      assert.isTrue((yield* (yield* Protection).ensure).priority)
      assert.deepStrictEqual(deleted, [`PriorityClass ${PRIORITY_CLASS} c`])
    }).pipe(Effect.provide(layer))
  })

  it.effect("needs no right to write a class that is as it should be", () => {
    const { deleted, layer, meanwhile } = over(Option.none(), {}, false, () => true, [
      priorityClass(PRIORITY_CLASS, PRIORITY),
    ])
    meanwhile.refusesClass = refused(403, "Forbidden")
    return Effect.gen(function* () {
      assert.isTrue((yield* (yield* Protection).ensure).priority)
      assert.isEmpty(deleted)
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([
    [400, "BadRequest"],
    [403, "Forbidden"],
    [422, "Invalid"],
    [500, "InternalError"],
  ] as const)(
    "is there whatever refuses the class of control planes (%s), which is tried again ten minutes later",
    ([code, reason]) => {
      const { applied, layer, meanwhile } = over(Option.none())
      meanwhile.refusesClass = refused(code, reason)
      return Effect.gen(function* () {
        const protection = yield* Protection
        const state = yield* protection.ensure
        assert.isTrue(state.installed)
        assert.isFalse(state.priority)
        assert.deepStrictEqual(applied, all)
        yield* TestClock.adjust("9 minutes")
        assert.isTrue(Option.isSome(yield* protection.state))
        yield* TestClock.adjust("1 minute")
        assert.isTrue(Option.isNone(yield* protection.state))
        meanwhile.refusesClass = Option.none()
        assert.isTrue((yield* protection.ensure).priority)
      }).pipe(Effect.provide(layer))
    },
  )

  it.effect("leaves the cluster's default class to instances, however high it is", () => {
    const { applied, deleted, layer } = over(Option.none(), {}, false, () => true, [
      priorityClass(PRIORITY_CLASS, PRIORITY),
      priorityClass("everything", PRIORITY, true),
    ])
    return Effect.gen(function* () {
      assert.isTrue((yield* (yield* Protection).ensure).priority)
      assert.isEmpty(deleted)
      assert.isFalse(isRanked(applied))
    }).pipe(Effect.provide(layer))
  })

  it.effect("is unknown when somebody changes it while it is applied", () => {
    const { layer, meanwhile } = over(Option.none())
    return Effect.gen(function* () {
      const protection = yield* Protection
      meanwhile.does = protection.invalidate
      yield* protection.ensure
      meanwhile.does = Effect.void
      assert.isTrue(Option.isNone(yield* protection.state))
      yield* protection.ensure
      assert.isTrue(Option.isSome(yield* protection.state))
    }).pipe(Effect.provide(layer))
  })

  it.effect("lets the definition of instances go by its binding alone", () => {
    const { deleted, layer } = over(Option.none())
    return Effect.gen(function* () {
      yield* (yield* Protection).letDefinitionGo
      assert.deepStrictEqual(deleted, [`ValidatingAdmissionPolicyBinding ${INSTANCE_POLICY_NAME} u`])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is told as unavailable by a server without admission policies: no failure", () =>
    Effect.gen(function* () {
      const protection = yield* Protection
      const state = yield* protection.ensure
      assert.isFalse(state.installed)
      assert.match(state.message, /Kubernetes 1\.30 or later/)
      assert.deepStrictEqual(yield* protection.state, Option.some(state))
    }).pipe(Effect.provide(over(refused(404, "NotFound")).layer)),
  )

  it.effect("is looked at again, once what a server has said has stood for ten minutes", () =>
    Effect.gen(function* () {
      const protection = yield* Protection
      yield* protection.ensure
      yield* TestClock.adjust("9 minutes")
      assert.isTrue(Option.isSome(yield* protection.state))
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Option.isNone(yield* protection.state))
    }).pipe(Effect.provide(over(refused(404, "NotFound")).layer)),
  )

  it.effect("that is installed is known for as long as nobody changes it", () =>
    Effect.gen(function* () {
      const protection = yield* Protection
      yield* protection.ensure
      yield* TestClock.adjust("30 days")
      assert.isTrue(Option.exists(yield* protection.state, ({ installed }) => installed))
    }).pipe(Effect.provide(over(Option.none()).layer)),
  )

  it.effect("fails, and stays unknown, when the server refuses it", () =>
    Effect.gen(function* () {
      const protection = yield* Protection
      const error = yield* Effect.flip(protection.ensure)
      assert.strictEqual(error.reason, "Forbidden")
      assert.isTrue(Option.isNone(yield* protection.state))
    }).pipe(Effect.provide(over(refused(403, "Forbidden")).layer)),
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  POLICY_NAME,
  Protection,
  policyManifests,
} from "../../../../src/actors/instance/target/Protection.ts"
import {
  KubeError,
  type KubeManifest,
  Kubernetes,
  type Patch,
} from "../../../../src/services/Kubernetes/Kubernetes.ts"

const Policy = Schema.Struct({
  spec: Schema.Struct({
    failurePolicy: Schema.String,
    matchConstraints: Schema.Struct({
      namespaceSelector: Schema.Unknown,
      resourceRules: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)),
    }),
    validations: Schema.Array(Schema.Struct({ expression: Schema.String, message: Schema.String })),
  }),
})
const decode = Schema.decodeUnknownEffect(Policy)

/** The string that the expression compares the user's name with, read as CEL reads a single-quoted literal. */
const userIn = (expression: string): string => {
  const [, literal = ""] = /request\.userInfo\.username == '((?:[^'\\]|\\.)*)' \|\|/.exec(expression) ?? []
  return literal.replaceAll(/\\(.)/g, "$1")
}

describe("the admission policy", () => {
  it.effect("denies every deletion of service/vcluster in a host namespace, by name in CEL", () =>
    Effect.gen(function* () {
      const [policy, binding] = policyManifests("operator")
      const { spec } = yield* decode(policy)
      assert.strictEqual(spec.failurePolicy, "Fail")
      assert.deepStrictEqual(spec.matchConstraints.namespaceSelector, {
        matchLabels: { "platform.di-framework.dev/host-namespace": "true" },
      })
      // A resourceName would let a DELETE of the collection pass.
      for (const rule of spec.matchConstraints.resourceRules) assert.notProperty(rule, "resourceNames")
      assert.match(spec.validations[0]?.expression ?? "", /^oldObject\.metadata\.name != 'vcluster' \|\| /)
      assert.match(spec.validations[0]?.expression ?? "", /namespaceObject\.status\.phase == 'Terminating'/)
      assert.deepInclude(binding.spec, { policyName: POLICY_NAME, validationActions: ["Deny"] })
      assert.strictEqual(policy.metadata.name, binding.metadata.name)
    }),
  )

  for (const user of [
    "system:serviceaccount:platform-operator:platform-operator",
    "o'brien",
    "domain\\operator",
    "both\\'",
    "' || true || '",
    "\\",
  ]) {
    it.effect(`excepts the operator's own user and no other: ${user}`, () =>
      Effect.gen(function* () {
        const { spec } = yield* decode(policyManifests(user)[0])
        const expression = spec.validations[0]?.expression ?? ""
        assert.strictEqual(userIn(expression), user)
        // Outside of literals there are three alternatives and nothing that the name brought in.
        const outside = expression.replaceAll(/'(?:[^'\\]|\\.)*'/g, "''")
        assert.strictEqual(outside.split(" || ").length, 3)
      }),
    )
  }
})

/** A server that keeps what is applied beside what somebody has added to the specs, or refuses it. */
const over = (refusal: Option.Option<KubeError>, added: object = {}) => {
  const applied: Array<KubeManifest> = []
  const patched: Array<Patch> = []
  const kubernetes = Layer.mock(Kubernetes, {
    whoAmI: Effect.succeed("operator"),
    apply: (_, manifest) =>
      Option.match(refusal, {
        onSome: Effect.fail,
        onNone: () =>
          Effect.sync(() => {
            applied.push(manifest)
            const metadata = { ...manifest.metadata, uid: "u", resourceVersion: "1" }
            return { ...manifest, metadata, spec: Object.assign({}, manifest.spec, added) }
          }),
      }),
    patch: ({ kind }, { name }, patch) =>
      Effect.sync(() => {
        patched.push(patch)
        return {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind,
          metadata: { name, uid: "u", resourceVersion: "2" },
        }
      }),
  })
  return { applied, patched, layer: Protection.layer.pipe(Layer.provide(kubernetes)) }
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
      assert.deepStrictEqual(applied, [...policyManifests("operator")])
      assert.isEmpty(patched)
      assert.deepStrictEqual(yield* protection.state, Option.some(state))
      yield* protection.invalidate
      assert.isTrue(Option.isNone(yield* protection.state))
    }).pipe(Effect.provide(layer))
  })

  it.effect("is the whole of both specs: what somebody has added, a condition that never holds, goes", () => {
    const matchConditions = [{ name: "never", expression: "false" }]
    const { patched, layer } = over(Option.none(), { matchConditions })
    return Effect.gen(function* () {
      assert.isTrue((yield* (yield* Protection).ensure).installed)
      assert.deepStrictEqual(
        patched,
        policyManifests("operator").map(({ spec }) => ({
          type: "json",
          operations: [
            { op: "test", path: "/metadata/uid", value: "u" },
            { op: "replace", path: "/spec", value: spec },
          ],
        })),
      )
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

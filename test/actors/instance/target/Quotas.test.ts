import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Option } from "effect"
import { TestClock } from "effect/testing"
import { Quotas } from "../../../../src/actors/instance/target/Quotas.ts"
import { DEFAULTS_NAME, QUOTA_NAME } from "../../../../src/actors/instance/target/quotaManifests.ts"
import { KubeError, type KubeManifest, Kubernetes } from "../../../../src/services/Kubernetes/Kubernetes.ts"

const quota: KubeManifest = {
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: QUOTA_NAME, namespace: "host" },
  spec: { hard: { pods: "1" } },
}

/** A server that refuses quotas as long as it is told to. */
const server = () => {
  const refuses = { with: Option.none<KubeError>() }
  const written: Array<string> = []
  const deleted: Array<string> = []
  const kubernetes = Layer.mock(Kubernetes, {
    list: ({ kind }) =>
      Effect.succeed(
        kind === "ResourceQuota"
          ? [{ ...quota, metadata: { ...quota.metadata, uid: "u", resourceVersion: "1" } }]
          : [],
      ),
    delete: (_, { name }) =>
      Effect.sync(() => {
        deleted.push(name)
        return true
      }),
    apply: (_, manifest) =>
      Option.match(refuses.with, {
        onSome: Effect.fail,
        onNone: () =>
          Effect.sync(() => {
            written.push(manifest.metadata.name)
            return { ...manifest, metadata: { ...manifest.metadata, uid: "u", resourceVersion: "1" } }
          }),
      }),
  })
  return { refuses, written, deleted, layer: Quotas.layer.pipe(Layer.provide(kubernetes)) }
}
const refusal = (code: number) =>
  Option.some(new KubeError({ code, reason: "No", request: "PATCH resourcequotas", message: "no" }))

const defaults: KubeManifest = {
  apiVersion: "v1",
  kind: "LimitRange",
  metadata: { name: DEFAULTS_NAME, namespace: "host" },
  spec: { limits: [] },
}

describe("the quotas", () => {
  it.effect("that are in the way go also where the defaults are refused", () => {
    const { refuses, deleted, layer } = server()
    refuses.with = refusal(422)
    return Effect.gen(function* () {
      yield* (yield* Quotas).apply("host", [defaults])
      assert.deepStrictEqual(deleted, [QUOTA_NAME])
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([0, 400, 403, 404, 422, 500])(
    "that a server refuses (%s) fail nobody: each refusal is told once, and tried again ten minutes later",
    (code) => {
      const { refuses, written, layer } = server()
      const said: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ message }) => void said.push(message))])
      refuses.with = refusal(code)
      return Effect.gen(function* () {
        const quotas = yield* Quotas
        yield* quotas.apply("host", [quota])
        yield* TestClock.adjust("9 minutes")
        assert.isTrue(yield* quotas.areApplied("host", [quota]))
        yield* TestClock.adjust("1 minute")
        assert.isFalse(yield* quotas.areApplied("host", [quota]))
        yield* quotas.apply("host", [quota])
        assert.lengthOf(said, 1)
        refuses.with = Option.none()
        yield* quotas.apply("host", [quota])
        assert.deepStrictEqual(written, [QUOTA_NAME])
        yield* TestClock.adjust("1 hour")
        assert.isTrue(yield* quotas.areApplied("host", [quota]))
        refuses.with = refusal(code)
        yield* quotas.apply("host", [quota])
        assert.lengthOf(said, 2)
      }).pipe(Effect.provide(Layer.merge(layer, logger)))
    },
  )
})

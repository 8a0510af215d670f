import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Ref } from "effect"
import { CrdCheck } from "../../../src/services/Health/CrdCheck.ts"
import { problems, Ready } from "../../../src/services/Health/Readiness.ts"
import { WatchHealth, type WatchStatus } from "../../../src/services/Kubernetes/WatchHealth.ts"

const watch = (name: string, more: Partial<WatchStatus> = {}): WatchStatus => ({
  name,
  state: "Watching",
  lastListAt: 1,
  lastEventAt: undefined,
  ...more,
})

const problemsOf = (world: {
  readonly ready: boolean
  readonly crd?: string
  readonly watches: ReadonlyArray<WatchStatus>
}) =>
  problems.pipe(
    Effect.provide([
      Layer.effect(Ready, Ref.make(world.ready)),
      Layer.succeed(CrdCheck, { problem: Effect.succeed(Option.fromNullishOr(world.crd)) }),
      Layer.succeed(WatchHealth, { statuses: Effect.succeed(world.watches) }),
    ]),
  )

describe("readiness", () => {
  it.effect("has no problem when the caches are complete", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problemsOf({ ready: true, watches: [watch("pods")] }), [])
    }),
  )

  it.effect("does not depend on an API server that went away after the start", () =>
    Effect.gen(function* () {
      const watches = [watch("pods", { state: "BackingOff" }), watch("jobs.batch", { state: "Listing" })]
      assert.deepStrictEqual(yield* problemsOf({ ready: true, watches }), [])
    }),
  )

  it.effect("names each watch that is waited for, with its state", () =>
    Effect.gen(function* () {
      const watches = [
        watch("pods"),
        watch("jobs.batch", { state: "Listing", lastListAt: undefined }),
        watch("secrets", { state: "BackingOff", lastListAt: undefined }),
      ]
      assert.deepStrictEqual(yield* problemsOf({ ready: false, watches }), [
        "caches are not complete yet: jobs.batch (Listing), secrets (BackingOff)",
      ])
    }),
  )

  it.effect("ends when the operator begins to stop", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problemsOf({ ready: false, watches: [watch("pods")] }), [
        "not taking work: starting or stopping",
      ])
    }),
  )

  it.effect("names a watch that the API server refuses, also later", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* problemsOf({ ready: true, watches: [watch("pods", { state: "Forbidden" })] }),
        ["the API server refuses the watch of pods; the chart's ClusterRole grants it"],
      )
    }),
  )

  it.effect("fails over the definition alone", () =>
    Effect.gen(function* () {
      const crd = "the CRD x lacks status.y; upgrade it with the chart"
      assert.deepStrictEqual(yield* problemsOf({ ready: true, crd, watches: [watch("pods")] }), [crd])
    }),
  )
})

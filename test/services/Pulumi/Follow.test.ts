// What counts as hanging, under the test clock.
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Option, Queue } from "effect"
import { TestClock } from "effect/testing"
import { awaitedNames, follow, makeFollowed, wordsOf } from "../../../src/services/Pulumi/Follow.ts"
import type { RunnerEvent } from "../../../src/services/Pulumi/Protocol.ts"
import type { Ended } from "../../../src/services/Pulumi/Runner.ts"

const urn = "urn:pulumi:instance::platform-instance::kubernetes:apps/v1:Deployment::controller"
const resource = (state: "started" | "done"): RunnerEvent => ({
  type: "resource",
  state,
  urn,
  operation: "create",
})

const scene = Effect.gen(function* () {
  const events = yield* Queue.unbounded<RunnerEvent | Ended>()
  const followed = makeFollowed()
  const fiber = yield* Effect.forkChild(follow(events, followed, "5 minutes", () => Effect.void))
  return { fiber, followed, say: (event: RunnerEvent | Ended) => Queue.offer(events, event) }
})

it.effect("five minutes without an event, nothing awaited: it hangs", () =>
  Effect.gen(function* () {
    const { fiber, say } = yield* scene
    yield* say({ type: "step", step: "up" })
    yield* TestClock.adjust("4 minutes")
    yield* say({ type: "engine", event: "preludeEvent" })
    yield* TestClock.adjust("4 minutes")
    assert.isUndefined(fiber.pollUnsafe())
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "Hangs", step: "up" })
  }),
)

it.effect("awaiting a slow resource is no hang, and is what a timeout names", () =>
  Effect.gen(function* () {
    const { fiber, followed, say } = yield* scene
    yield* say(resource("started"))
    yield* TestClock.adjust("3 hours")
    assert.isUndefined(fiber.pollUnsafe())
    assert.strictEqual(awaitedNames(followed), "kubernetes:apps/v1:Deployment controller")
    yield* say(resource("done"))
    yield* TestClock.adjust("5 minutes")
    assert.strictEqual((yield* Fiber.join(fiber))._tag, "Hangs")
  }),
)

it.each([
  [
    ["Unhandled exception: Error: it threw\n    at one.js:1:1", "it threw"],
    "Unhandled exception: Error: it threw\n    at one.js:1:1",
  ],
  [["no room", "no room"], "no room"],
  [["no room", "no network"], "no room\nno network"],
  [[], "how it ended"],
])("what the engine says of a failure is told once: %j", (errors, words) => {
  assert.strictEqual(wordsOf(errors, "how it ended"), words)
})

it.effect("the engine's own errors are what a failure says; a runner that just ends says how", () =>
  Effect.gen(function* () {
    const first = yield* scene
    yield* first.say({ type: "diagnostic", severity: "warning", message: "a warning" })
    yield* first.say({ type: "diagnostic", severity: "error", message: "the cause" })
    yield* first.say({ type: "outcome", outcome: "failed", step: "up", message: "code: -2 …", changes: {} })
    const failed = { _tag: "Failed", step: "up", words: "the cause", cancelled: false } as const
    assert.deepStrictEqual(yield* Fiber.join(first.fiber), failed)

    const second = yield* scene
    yield* second.say({ type: "ended", exitCode: Option.none(), words: "last words" })
    const ended = yield* Fiber.join(second.fiber)
    assert.strictEqual(ended._tag, "Failed")
    assert.include(JSON.stringify(ended), "SIGKILL")
    assert.include(JSON.stringify(ended), "last words")
  }),
)

it.effect(
  "what the up has made, changed or removed is kept for people; providers and what stays are not",
  () =>
    Effect.gen(function* () {
      const { fiber, followed, say } = yield* scene
      const done = (
        type: string,
        name: string,
        operation: string,
        state: "done" | "failed" = "done",
      ): RunnerEvent => ({
        type: "resource",
        state,
        urn: `urn:pulumi:prod::platform::${type}::${name}`,
        operation,
      })
      yield* say({ type: "step", step: "refresh" })
      yield* say(done("kubernetes:core/v1:ConfigMap", "settings", "refresh"))
      yield* say(done("kubernetes:core/v1:ConfigMap", "gone", "delete"))
      yield* say({ type: "step", step: "up" })
      yield* say(done("kubernetes:core/v1:Namespace", "wasmcloud", "same"))
      yield* say(done("pulumi:providers:kubernetes", "platform", "update"))
      yield* say(done("kubernetes:core/v1:ConfigMap", "settings", "update"))
      yield* say(done("platform:Hosts$kubernetes:apps/v1:Deployment", "hosts", "create"))
      yield* say(done("kubernetes:core/v1:Secret", "token", "create-replacement"))
      yield* say(done("kubernetes:core/v1:Secret", "token", "replace"))
      yield* say(done("kubernetes:core/v1:Secret", "late", "create", "failed"))
      yield* say({ type: "outcome", outcome: "failed", step: "up", message: "", changes: {} })
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(followed.changed, [
        "ConfigMap settings (updated)",
        "Deployment hosts (created)",
        "Secret token (replaced)",
      ])
    }),
)

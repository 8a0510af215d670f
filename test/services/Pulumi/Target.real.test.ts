// F21 on the real engine and a real API server: nothing is refreshed against silence, and a state keeps what it knows.
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { machine } from "../../support/machine.ts"
import { installScene } from "./installScene.ts"

it.live(
  "F21 a target that falls silent is not refreshed; in the middle of a refresh the state keeps every resource",
  () =>
    Effect.gen(function* () {
      const { api, run, steps, instance } = yield* installScene
      const { changes } = yield* run()
      const known = (): ReadonlyArray<string> =>
        JSON.parse(
          gunzipSync(
            readFileSync(`${instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz`),
          ).toString(),
        ).checkpoint.latest.resources.map(({ urn }: { readonly urn: string }) => urn)
      const before = known()
      const repair = run({ kind: "RepairDue", refresh: true })
      const answers = api
        .kubectl("get", "--raw", "/readyz")
        .pipe(Effect.retry({ schedule: Schedule.spaced("200 millis"), times: 1_200 }))

      steps.length = 0
      yield* api.fallSilent
      const early = yield* Effect.flip(repair)
      assert.match(early.message, /^The instance's cluster does not answer/)
      assert.notInclude(steps, "start engine")
      assert.notInclude(steps, "refresh")
      assert.deepStrictEqual(known(), before)
      yield* api.speak
      yield* answers

      steps.length = 0
      const fiber = yield* Effect.forkChild(Effect.flip(repair))
      // Said before the engine starts, which takes a while to come to its first request.
      while (!steps.includes("refresh")) yield* Effect.sleep("10 millis")
      yield* api.fallSilent
      const late = yield* Fiber.join(fiber)
      assert.match(late.message, /^The instance's cluster does not answer/)
      assert.notInclude(steps, "up")
      assert.deepStrictEqual(known(), before)
      yield* api.speak
      yield* answers
      assert.deepStrictEqual((yield* repair).changes, { same: changes.create ?? 0 })
    }).pipe(Effect.scoped, Effect.provide(machine)),
  3_600_000,
)

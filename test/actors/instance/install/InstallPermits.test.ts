// After a container was ended for lack of memory its operations begin one at a time.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Option } from "effect"
import { InstallPermits } from "../../../../src/actors/instance/install/InstallPermits.ts"
import { Settings } from "../../../../src/actors/instance/Settings.ts"
import { OwnPod } from "../../../../src/actors/instance/target/writer.ts"
import { KubeError, type KubeObject, Kubernetes } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { settings } from "../../support/World.ts"

const pod = (uid: string, reason: string | undefined): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "operator-0", namespace: "platform-operator", uid, resourceVersion: "1" },
  status: {
    containerStatuses: [
      { name: "operator", lastState: reason === undefined ? {} : { terminated: { reason, exitCode: 137 } } },
    ],
  },
})

/** How many of three that ask at once begin. */
const begin = (found: Effect.Effect<Option.Option<KubeObject>, KubeError>) =>
  Effect.gen(function* () {
    const permits = yield* InstallPermits
    for (const key of ["a", "b", "c"]) {
      yield* permits
        .withPermit({ key, urgent: false, failing: false }, Effect.void, Effect.never)
        .pipe(Effect.forkChild)
    }
    yield* Effect.repeat(Effect.yieldNow, { times: 20 })
    return permits.state().holding
  }).pipe(
    Effect.provide(
      InstallPermits.layer.pipe(
        Layer.provide([
          Layer.succeed(Settings, { ...settings, maxConcurrentInstalls: 2 }),
          Layer.succeed(OwnPod, { podName: "operator-0", podUID: "mine" }),
          Layer.mock(Kubernetes, { get: () => found }),
        ]),
      ),
    ),
  )

describe("places for installs", () => {
  it.effect.each([
    ["after this container ran out of memory", 1, Effect.succeedSome(pod("mine", "OOMKilled"))],
    ["after it ended otherwise", 2, Effect.succeedSome(pod("mine", "Error"))],
    ["of a pod that has just begun", 2, Effect.succeedSome(pod("mine", undefined))],
    ["of another pod that ran out of memory", 2, Effect.succeedSome(pod("other", "OOMKilled"))],
    ["where nobody tells", 2, Effect.succeedNone],
    [
      "where the API does not answer",
      2,
      Effect.fail(new KubeError({ code: 0, reason: "Transport", request: "GET pod", message: "refused" })),
    ],
  ] as const)("%s begin with %i", ([, count, found]) =>
    Effect.map(begin(found), (holding) => assert.strictEqual(holding, count)),
  )
})

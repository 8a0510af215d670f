import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Option } from "effect"
import { KubeError, type KubeObject, Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { formatIdentity, holderIsDead } from "../../../src/services/LeaderElection/Identity.ts"

const self = { podName: "operator-b", podUID: "uid-b", incarnation: "2" }
const other = formatIdentity({ podName: "operator-a", podUID: "uid-a", incarnation: "1" })

const running = { running: { startedAt: "2026-11-03T12:00:00Z" } }
const terminated = { terminated: { exitCode: 137 } }

const pod = (uid: string, ...states: ReadonlyArray<object>): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "ops", name: "operator-a", uid, resourceVersion: "1" },
  status: { containerStatuses: states.map((state) => ({ name: "operator", state })) },
})

/** Whether the holder counts as dead, with this pod under its name. */
const judged = (holder: string, found: Effect.Effect<Option.Option<KubeObject>, KubeError>) =>
  holderIsDead("ops", self).pipe(
    Effect.flatMap((isDead) => isDead(holder)),
    Effect.provide(Layer.mock(Kubernetes, { get: () => found })),
  )
const gone = Effect.succeedNone
const away = Effect.fail(
  new KubeError({ code: 503, reason: "Unavailable", request: "GET pods", message: "" }),
)

describe("the holder of a lease", () => {
  it.effect.each([
    ["a pod whose containers have all ended", other, Effect.succeedSome(pod("uid-a", terminated)), true],
    ["an earlier container of our own pod", formatIdentity({ ...self, incarnation: "1" }), gone, true],
    ["a pod that is gone: its node may go on working", other, gone, false],
    ["a pod that runs", other, Effect.succeedSome(pod("uid-a", running)), false],
    [
      "a pod of which one container runs",
      other,
      Effect.succeedSome(pod("uid-a", terminated, running)),
      false,
    ],
    ["a pod of which its kubelet has said nothing", other, Effect.succeedSome(pod("uid-a")), false],
    ["a pod whose name another has", other, Effect.succeedSome(pod("uid-c", terminated)), false],
    ["a pod that cannot be asked for", other, away, false],
    ["nobody that this operator knows", "somebody", Effect.succeedSome(pod("uid-a", terminated)), false],
  ] as const)("is judged as %s", ([, holder, found, dead]) =>
    Effect.map(judged(holder, found), (is) => assert.strictEqual(is, dead)),
  )
})

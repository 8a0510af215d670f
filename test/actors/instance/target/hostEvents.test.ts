import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { emptyMemory } from "../../../../src/actors/instance/Memory.ts"
import { explainControlPlane } from "../../../../src/actors/instance/target/hostEvents.ts"
import type { InstanceView } from "../../../../src/actors/instance/Views.ts"
import { KubeError, type KubeObject, Kubernetes } from "../../../../src/services/Kubernetes/Kubernetes.ts"

const object = (kind: string, name: string, more: Readonly<Record<string, unknown>> = {}): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, namespace: "host", uid: `uid of ${name}`, resourceVersion: "1" },
  ...more,
})
const view: InstanceView = {
  hostNamespace: Option.none(),
  networkPolicies: [],
  innerNetworkPolicies: [],
  releaseSecrets: [],
  statefulSet: Option.some(object("StatefulSet", "vcluster", { spec: { replicas: 1 } })),
  services: [],
  releaseObjects: [],
  controlPlanePods: [],
  sourceSecret: Option.none(),
  kubeconfigSecret: Option.none(),
  cleanups: [],
}
const base = "statefulset/vcluster has 0 of 1 replicas ready"

/** What is said of the control plane at each of these seconds, and which Events were asked for. */
const said = Effect.fnUntraced(function* (
  seen: InstanceView,
  seconds: ReadonlyArray<number>,
  answer: Effect.Effect<ReadonlyArray<KubeObject>, KubeError>,
) {
  const memory = emptyMemory("uid", {}, Option.none(), Option.none())
  const asked: Array<string | undefined> = []
  const kubernetes = Layer.mock(Kubernetes, {
    list: (_, options) => {
      asked.push(options?.fieldSelector)
      return answer
    },
  })
  const messages = yield* Effect.forEach(seconds, (second) =>
    Effect.map(explainControlPlane(memory, seen, second * 1_000, 10_000), ({ message }) => message),
  ).pipe(Effect.provide(kubernetes))
  return { messages, asked }
})

describe("a control plane without a pod", () => {
  const refused = (why: string) =>
    object("Event", "e", { reason: "FailedCreate", message: why, lastTimestamp: "2026-11-03T12:00:00Z" })

  for (const why of [
    'create Pod vcluster-0 in StatefulSet vcluster failed error: pods "vcluster-0" is forbidden: violates PodSecurity "restricted:latest"',
    'create Pod vcluster-0 in StatefulSet vcluster failed error: pods "vcluster-0" is forbidden: exceeded quota: small',
  ]) {
    it.effect(`is told of in the words of its StatefulSet's Events: ${why.slice(90)}`, () =>
      Effect.gen(function* () {
        const { messages, asked } = yield* said(view, [0, 9, 10, 15, 20], Effect.succeed([refused(why)]))
        const told = `${base}; FailedCreate: ${why}`
        assert.deepStrictEqual(messages, [base, base, told, told, told])
        const selector = "involvedObject.uid=uid of vcluster,type=Warning"
        assert.deepStrictEqual(asked, [selector, selector])
      }),
    )
  }

  it.effect("whose Events cannot be read is told of without them", () =>
    Effect.gen(function* () {
      const failure = new KubeError({ code: 403, reason: "Forbidden", request: "GET events", message: "no" })
      const { messages } = yield* said(view, [0, 10], Effect.fail(failure))
      assert.deepStrictEqual(messages, [base, base])
    }),
  )
})

describe("a control plane whose pod says why it waits", () => {
  it.effect("needs no Events", () =>
    Effect.gen(function* () {
      const waiting = { reason: "ErrImagePull", message: "no such tag" }
      const pod = object("Pod", "vcluster-0", { status: { containerStatuses: [{ state: { waiting } }] } })
      const { messages, asked } = yield* said(
        { ...view, controlPlanePods: [pod] },
        [0, 10, 20],
        Effect.succeed([]),
      )
      assert.deepStrictEqual(
        new Set(messages),
        new Set([`${base}; pod vcluster-0: ErrImagePull: no such tag`]),
      )
      assert.isEmpty(asked)
    }),
  )
})

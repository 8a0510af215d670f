import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { controlPlaneState } from "../../../../src/actors/instance/target/ControlPlane.ts"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"

const statefulSet = (options: {
  readonly generation?: number
  readonly replicas?: number
  readonly status?: Readonly<Record<string, unknown>>
}): Option.Option<KubeObject> =>
  Option.some({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: {
      name: "vcluster",
      namespace: "h",
      uid: "u",
      resourceVersion: "1",
      generation: options.generation ?? 1,
    },
    spec: { ...(options.replicas === undefined ? {} : { replicas: options.replicas }) },
    ...(options.status === undefined ? {} : { status: options.status }),
  })
const pod = (status: Readonly<Record<string, unknown>>): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "vcluster-0", namespace: "h", uid: "p", resourceVersion: "1" },
  status,
})
const waitingFor = (reason: string, message?: string) => ({
  state: { waiting: { reason, ...(message === undefined ? {} : { message }) } },
})
const current = { observedGeneration: 1, readyReplicas: 1, currentRevision: "a", updateRevision: "a" }

describe("a control plane", () => {
  it("is ready when every wanted replica is, at one revision", () => {
    for (const replicas of [undefined, 1]) {
      const state = controlPlaneState(
        statefulSet({ ...(replicas === undefined ? {} : { replicas }), status: current }),
        [],
      )
      assert.isTrue(state.ready)
    }
  })

  for (const [what, seen] of [
    ["nobody has looked at yet", statefulSet({})],
    ["whose change is not seen yet", statefulSet({ generation: 2, status: current })],
    ["that is being rolled", statefulSet({ status: { ...current, updateRevision: "b" } })],
    ["that has too few replicas", statefulSet({ replicas: 2, status: current })],
    ["scaled to nothing", statefulSet({ replicas: 0, status: { ...current, readyReplicas: 0 } })],
    ["that cannot be read", statefulSet({ status: { ...current, readyReplicas: "many" } })],
    ["that is missing", Option.none<KubeObject>()],
  ] as const) {
    it(`${what} is not ready`, () => {
      assert.isFalse(controlPlaneState(seen, []).ready)
    })
  }

  it("whose replicas are ready but not as wanted says what is waited for", () => {
    const unseen = controlPlaneState(statefulSet({ generation: 2, status: current }), [])
    assert.match(unseen.message, /changed, and its controller has not seen that yet$/)
    const rolling = controlPlaneState(statefulSet({ status: { ...current, updateRevision: "b" } }), [])
    assert.match(rolling.message, /changed, and its pods are being replaced$/)
  })

  const starting = statefulSet({ replicas: 1, status: { observedGeneration: 1 } })
  const says = (...pods: ReadonlyArray<KubeObject>) => controlPlaneState(starting, pods).message

  it("says how many replicas are ready, and when it is scaled to none", () => {
    assert.strictEqual(says(), "statefulset/vcluster has 0 of 1 replicas ready")
    assert.strictEqual(
      controlPlaneState(statefulSet({ replicas: 0 }), []).message,
      "statefulset/vcluster is scaled to 0 replicas",
    )
    assert.strictEqual(controlPlaneState(Option.none(), []).message, "waiting for statefulset/vcluster")
  })

  it("says in the pod's words why it waits", () => {
    assert.strictEqual(
      says(pod({ containerStatuses: [waitingFor("ImagePullBackOff", "no such tag")] })),
      "statefulset/vcluster has 0 of 1 replicas ready; pod vcluster-0: ImagePullBackOff: no such tag",
    )
  })

  it("looks at init containers first, and past those that have run", () => {
    const done = { state: { terminated: { exitCode: 0 } } }
    const status = {
      initContainerStatuses: [done, waitingFor("CrashLoopBackOff", "back-off 10s")],
      containerStatuses: [waitingFor("PodInitializing")],
    }
    assert.match(says(pod(status)), /pod vcluster-0: CrashLoopBackOff: back-off 10s$/)
  })

  it("says how a container ended that is started again and again, and one that has just ended", () => {
    const killed = { terminated: { reason: "OOMKilled", exitCode: 137 } }
    const again = { ...waitingFor("CrashLoopBackOff", "back-off 40s"), lastState: killed }
    assert.match(
      says(pod({ containerStatuses: [again] })),
      /pod vcluster-0: CrashLoopBackOff: back-off 40s; it ended as OOMKilled \(exit code 137\)$/,
    )
    const ended = { state: { terminated: { exitCode: 1 } } }
    assert.match(says(pod({ containerStatuses: [ended] })), /vcluster-0: it ended as Error \(exit code 1\)$/)
  })

  it("says why a pod is on no node", () => {
    const conditions = [
      { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes are available" },
    ]
    assert.match(says(pod({ conditions })), /pod vcluster-0: Unschedulable: 0\/1 nodes are available$/)
  })

  it("does not give what every starting pod goes through as a reason", () => {
    for (const reason of ["ContainerCreating", "PodInitializing"]) {
      const message = says(pod({ containerStatuses: [waitingFor(reason)] }))
      assert.strictEqual(message, "statefulset/vcluster has 0 of 1 replicas ready")
    }
  })

  it("is told even when a pod cannot be read", () => {
    assert.strictEqual(
      says(pod({ containerStatuses: "none" })),
      "statefulset/vcluster has 0 of 1 replicas ready",
    )
  })
})

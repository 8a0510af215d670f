import { assert, describe, it } from "@effect/vitest"
import { podProblem } from "../../../../src/actors/instance/deletion/cleanupProblem.ts"

const pod = (status: Readonly<Record<string, unknown>>) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "cleanup", namespace: "ops", uid: "pod", resourceVersion: "1" },
  status,
})
const container = (state: unknown) => pod({ containerStatuses: [{ name: "cleanup", state }] })

/** Statuses as kubelet, scheduler and controller-manager write them. */
const table: ReadonlyArray<readonly [string, ReturnType<typeof pod>, string | undefined]> = [
  [
    "no node takes it",
    pod({
      phase: "Pending",
      conditions: [
        {
          type: "PodScheduled",
          status: "False",
          reason: "Unschedulable",
          message: "0/1 nodes are available: 1 node(s) were unschedulable.",
        },
      ],
    }),
    "Unschedulable: 0/1 nodes are available: 1 node(s) were unschedulable.",
  ],
  [
    "its image cannot be had",
    container({ waiting: { reason: "ImagePullBackOff", message: 'Back-off pulling image "x"' } }),
    'ImagePullBackOff: Back-off pulling image "x"',
  ],
  [
    "the removal failed",
    container({
      terminated: { exitCode: 1, reason: "Error", message: "cannot remove /base/team-a/one: EACCES\n" },
    }),
    "cannot remove /base/team-a/one: EACCES",
  ],
  [
    "it was killed without a word",
    container({ terminated: { exitCode: 137, reason: "OOMKilled" } }),
    "OOMKilled: exit code 137",
  ],
  [
    "its node is gone",
    pod({
      conditions: [
        {
          type: "DisruptionTarget",
          status: "True",
          reason: "DeletionByTaintManager",
          message: "Taint manager: deleting due to NoExecute taint",
        },
      ],
    }),
    "DeletionByTaintManager: Taint manager: deleting due to NoExecute taint",
  ],
  ["it starts", container({ waiting: { reason: "ContainerCreating" } }), undefined],
  ["it has succeeded", container({ terminated: { exitCode: 0, reason: "Completed" } }), undefined],
  ["it is too new to say anything", pod({}), undefined],
]

describe("what a cleanup pod says of itself", () => {
  for (const [name, seen, problem] of table) {
    it(name, () => assert.strictEqual(podProblem(seen), problem))
  }
})

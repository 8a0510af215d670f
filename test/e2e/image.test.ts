// A vCluster whose image cannot be had: the instance says so in the pod's own words, and can be deleted.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { hostNamespace } from "../../src/schema/Names.ts"
import { operatorArgs, restartWith } from "./support/Chart.ts"
import { deleteInstance, type Key, manifest } from "./support/Instance.ts"
import { apply, createNamespace, exists } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { tellOf } from "./support/Told.ts"

holdOperator("exclusive")
leavesNothing("image")

const key: Key = { namespace: "image", name: "one" }

describe("a vCluster whose image cannot be pulled", () => {
  let args: ReadonlyArray<string> = []
  beforeAll(async () => {
    args = await operatorArgs()
    const image = "--vcluster-image=ghcr.io/loft-sh/vcluster-oss:nowhere"
    await restartWith(args.map((arg) => (arg.startsWith("--vcluster-image=") ? image : arg)))
    await createNamespace(key.namespace)
  })
  afterAll(async () => {
    await deleteInstance(key)
    await restartWith(args)
  })

  it("says what its pod says", async () => {
    await apply(manifest(key))
    const told = await tellOf(key)
    await told.untilTarget(
      /^False ControlPlanePending: statefulset\/vcluster has 0 of 1 replicas ready; pod vcluster-0: (ErrImagePull|ImagePullBackOff): .*vcluster-oss:nowhere/,
      0,
    )
    console.log(told.targetSince(0).join("\n"))
    await told.end()
  })

  it("is deleted like any other", async () => {
    await deleteInstance(key)
    assert.isFalse(await exists("namespace", hostNamespace(key)))
  })
})

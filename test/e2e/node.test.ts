// A node that dies and comes back, with everything on it: the vClusters have their volumes, the platforms are in them, and
// the operator has nothing to install.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { hostNamespace } from "../../src/schema/Names.ts"
import { inside } from "./support/Inside.ts"
import {
  conditionOf,
  deleteInstance,
  getInstance,
  isReady,
  type Key,
  manifest,
  revisions,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, getJson, uidOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { killNode } from "./support/NodeDeath.ts"
import { incarnation, instanceState, logOf, readRecord } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { untilChecked } from "./support/Requests.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("exclusive")
leavesNothing("node-death")

const namespace = "node-death"
const keys: ReadonlyArray<Key> = ["one", "two", "three"].map((name) => ({ namespace, name }))

const Pod = Schema.Struct({
  status: Schema.Struct({
    containerStatuses: Schema.Array(
      Schema.Struct({ ready: Schema.Boolean, containerID: Schema.optionalKey(Schema.String) }),
    ),
  }),
})
/** Its container, while it is ready. */
const controlPlane = async (key: Key): Promise<string | undefined> => {
  const { status } = await getJson(Pod, ["pod", "vcluster-0", "--namespace", hostNamespace(key)])
  return status.containerStatuses[0]?.ready ? status.containerStatuses[0].containerID : undefined
}
/** What an install or a resync would change. */
const proofs = async (key: Key) => ({
  record: readRecord(await instanceState(key.namespace, key.name)),
  revisions: await revisions("vcluster", hostNamespace(key)),
  pod: await uidOf("pod", "vcluster-0", "--namespace", hostNamespace(key)),
  installed: conditionOf(await getInstance(key), "Installed"),
})

const Deployments = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({ name: Schema.String }),
      status: Schema.Struct({ readyReplicas: Schema.optionalKey(Schema.Finite) }),
    }),
  ),
})
const platformRuns = (key: Key): Promise<boolean> =>
  inside(key, async (context) => {
    const { items } = await getJson(Deployments, [...context, "deployments", "--namespace", "wasmcloud"])
    return items.length === 2 && items.every(({ status }) => status.readyReplicas === 1)
  })

describe("a node on which everything is killed at once", () => {
  beforeAll(async () => {
    await createNamespace(namespace)
    for (const key of keys) await apply(manifest(key))
    for (const key of keys) await untilReady(key)
  })
  afterAll(async () => {
    for (const key of keys) await deleteInstance(key)
  })

  it("has its three instances Ready again, without an install and without a resync", async () => {
    const operator = await until("the operator is ready", incarnation)
    const before = await Promise.all(keys.map(proofs))
    const containers = await Promise.all(keys.map(controlPlane))

    const died = Date.now()
    console.log(`killed: ${await killNode()} processes`)
    const next = await until("another operator is ready", async () => {
      const now = await incarnation()
      return now !== undefined && now.container !== operator.container ? now : undefined
    })
    for (const [index, key] of keys.entries()) {
      await untilTrue(`the control plane of ${key.name} runs again`, async () => {
        const now = await controlPlane(key)
        return now !== undefined && now !== containers[index]
      })
      await untilTrue(`the platform of ${key.name} runs again`, () => platformRuns(key))
    }
    await untilChecked(4 * keys.length)
    await untilTrue("all are Ready", async () => (await Promise.all(keys.map(getInstance))).every(isReady))
    console.log(`from the death to Ready: ${((Date.now() - died) / 1000).toFixed(1)} s`)

    assert.deepStrictEqual(await Promise.all(keys.map(proofs)), before)
    const log = await logOf(next)
    assert.notMatch(log, /"install step"/)
    assert.notMatch(log, /resync/i)
  })
})

// Noisy neighbours: a tenant who makes pods without end gets as many as the quota has, reads why there are no more, and disturbs
// no other instance; on a node that is full, a control plane displaces nothing, and comes back once there is room.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { hostNamespace } from "../../src/schema/Names.ts"
import { inside } from "./support/Inside.ts"
import { deleteInstance, type Key, manifest, untilReady } from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl, uidOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { untilRunning } from "./support/PlainPod.ts"
import { type Told, tellOf } from "./support/Told.ts"
import { until, untilTrue } from "./support/Until.ts"

// It fills the node.
holdOperator("exclusive")
leavesNothing("quota")

const greedy: Key = { namespace: "quota", name: "greedy" }
const calm: Key = { namespace: "quota", name: "calm" }
const filler = "quota-filler"
const quota = "platform-operator-instance-quota"
const inHost = (key: Key) => ["--namespace", hostNamespace(key)]

const replicas = (namespace: string, name: string, count: number, requests: Record<string, string>) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace, name },
  spec: {
    replicas: count,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 0,
        automountServiceAccountToken: false,
        containers: [
          {
            name: "sh",
            image: "docker.io/library/busybox:1.36",
            command: ["sleep", "36000"],
            ...(Object.keys(requests).length === 0 ? {} : { resources: { requests } }),
          },
        ],
      },
    },
  },
})

const Quota = Schema.Struct({
  status: Schema.optionalKey(
    Schema.Struct({
      hard: Schema.Record(Schema.String, Schema.String),
      used: Schema.Record(Schema.String, Schema.String),
    }),
  ),
})
const Pods = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      spec: Schema.Struct({
        priority: Schema.optionalKey(Schema.Finite),
        containers: Schema.Array(Schema.Struct({ resources: Schema.Unknown })),
      }),
    }),
  ),
})
const Warnings = Schema.Struct({
  items: Schema.Array(Schema.Struct({ reason: Schema.String, message: Schema.String })),
})

/** Deletes the control plane's pod, and waits for the next one to be Ready. */
const restarted = async (key: Key) => {
  const pod = ["pod", "vcluster-0", ...inHost(key)]
  const before = await uidOf(...pod)
  await kubectl(["delete", ...pod, "--wait=false"])
  await untilTrue("another pod takes its place", async () =>
    (await exists(...pod)) ? (await uidOf(...pod).catch(() => before)) !== before : false,
  )
  await untilRunning({ namespace: hostNamespace(key), name: "vcluster-0" })
}

let told: Told
beforeAll(async () => {
  for (const name of [greedy.namespace, filler]) await createNamespace(name)
  await apply(manifest(greedy))
  await apply(manifest(calm))
  await untilReady(greedy)
  await untilReady(calm)
  told = await tellOf(calm)
})
afterAll(async () => {
  await told.end()
  await kubectl(["delete", "namespace", filler])
  await deleteInstance(greedy)
  await deleteInstance(calm)
})

describe("a tenant who makes pods without end", () => {
  it("gets as many as the quota has, reads that there is one, and disturbs no other instance", async () => {
    const mark = told.mark()
    await inside(greedy, async (context) => {
      const flood = (name: string, count: number, requests: Record<string, string>) =>
        kubectl([...context, "apply", "-f", "-"], {
          input: JSON.stringify(replicas("flood", name, count, requests)),
        })
      const refusedFor = async (resource: string) => {
        const said = await until(`the refusal for ${resource}`, async () => {
          const { items } = await getJson(Warnings, [...context, "events", "--namespace", "flood"])
          return items.find(
            ({ reason, message }) =>
              reason === "SyncError" &&
              message.includes(`exceeded quota: ${quota}`) &&
              new RegExp(`limited: (\\S*,)?${resource}=`).test(message),
          )?.message
        })
        console.log(said)
      }
      await kubectl([...context, "create", "namespace", "flood"])
      await flood("big", 20, { memory: "1Gi" })
      await refusedFor("requests.memory")
      await kubectl([...context, "delete", "deployment", "big", "--namespace", "flood"])
      await flood("small", 400, {})
      await refusedFor("pods")
    })
    await untilTrue("the quota is used up", async () => {
      const { status } = await getJson(Quota, ["resourcequota", quota, ...inHost(greedy)])
      return status !== undefined && status.used.pods === status.hard.pods
    })
    const { status } = await getJson(Quota, ["resourcequota", quota, ...inHost(greedy)])
    console.log(JSON.stringify(status))
    assert.lengthOf((await getJson(Pods, ["pods", ...inHost(greedy)])).items, Number(status?.hard.pods))
    assert.isEmpty(told.phasesSince(mark).filter((phase) => phase !== "Ready"))
    await restarted(calm)
    await untilReady(calm)
  })

  it("has a control plane that comes back though the quota is used up", async () => {
    await restarted(greedy)
    await untilReady(greedy)
    // While it was lifted for the control plane, a tenant's pod may have taken that one's place beside it.
    await untilTrue("the quota is there again, and used up", async () => {
      if (!(await exists("resourcequota", quota, ...inHost(greedy)))) return false
      const { status } = await getJson(Quota, ["resourcequota", quota, ...inHost(greedy)])
      return status !== undefined && Number(status.used.pods) >= Number(status.hard.pods)
    })
  })

  it("has pods that say nothing of what they need, and have got a request", async () => {
    const { items } = await getJson(Pods, ["pods", ...inHost(greedy)])
    const requests = items.flatMap(({ spec }) =>
      spec.containers.map(({ resources }) => JSON.stringify(resources)),
    )
    assert.isTrue(requests.some((text) => text.includes('"memory":"64Mi"')))
    assert.isTrue(requests.every((text) => text.includes('"memory"')))
  })

  it.each([
    ["resourcequota", quota],
    ["limitrange", "platform-operator-instance-defaults"],
  ])("does not get rid of the %s %s, which comes back", async (...object) => {
    const before = await uidOf(...object, ...inHost(calm))
    await kubectl(["delete", ...object, ...inHost(calm)])
    await untilTrue("it is back", () => exists(...object, ...inHost(calm)))
    assert.notStrictEqual(await uidOf(...object, ...inHost(calm)), before)
  })
})

describe("a node that is full", () => {
  it("loses nothing to a control plane, which comes back once there is room", async () => {
    await apply(replicas(filler, "filler", 60, { cpu: "100m" }))
    const pending = ["pods", "--namespace", filler, "--field-selector=status.phase=Pending"]
    const unschedulable = [...["events", "--namespace", filler], "--field-selector=reason=FailedScheduling"]
    await untilTrue(
      "the node takes no more",
      async () => (await getJson(Warnings, unschedulable)).items.length > 0,
    )
    assert.isNotEmpty((await getJson(Pods, pending)).items)
    const back = restarted(calm)
    await apply(replicas(filler, "filler", 0, { cpu: "100m" }))
    await back
    await untilReady(calm)
    const preempted = ["events", "--namespace", filler, "--field-selector=reason=Preempted"]
    const { items } = await getJson(Warnings, preempted)
    assert.isEmpty(items)
  })
})

// An instance that is put to sleep and woken: what of it runs ends, its vCluster before what runs inside, and what is inside
// comes back as it was.
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ANNOTATION_DAY_TWO, ANNOTATION_SLEEP, hostNamespace } from "../../src/schema/Names.ts"
import { full } from "./support/Cluster.ts"
import { inside } from "./support/Inside.ts"
import {
  annotateInstance,
  conditionOf,
  deleteInstance,
  editInstance,
  findHostNamespace,
  getInstance,
  type Key,
  manifest,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, getJson, kubectl, uidOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { plainPod, synced, untilRunning } from "./support/PlainPod.ts"
import { podsOf } from "./support/Pods.ts"
import { deployment, settings } from "./support/Tenant.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("sleep")

const key: Key = { namespace: "sleep", name: "one" }
const host = hostNamespace(key)
const inNamespace = ["--namespace", key.namespace]
const inHost = ["--namespace", host]
const annotate = (text: string) => annotateInstance(key, text)
const ready = async () => conditionOf(await getInstance(key), "Ready")

const Events = Schema.Struct({
  items: Schema.Array(Schema.Struct({ reason: Schema.String, message: Schema.String, type: Schema.String })),
})
const eventsOf = async () => {
  const uid = (await getInstance(key)).metadata.uid
  return (await getJson(Events, ["events", ...inNamespace, `--field-selector=involvedObject.uid=${uid}`]))
    .items
}
const eventOf = (reason: string) =>
  until(`the Event ${reason}`, async () => (await eventsOf()).find((each) => each.reason === reason))

const Sleep = Schema.fromJsonString(
  Schema.Struct({
    sleep: Schema.Struct({ pods: Schema.Finite, memory: Schema.Finite, since: Schema.String }),
  }),
)
const asleep = async () => {
  await annotate(`${ANNOTATION_SLEEP}=true`)
  await untilTrue("it is asleep", async () => (await ready())?.message.startsWith("asleep since ") === true)
}

const running = async () =>
  (await podsOf(...inHost, "-l", "vcluster.loft.sh/managed-by=vcluster")).filter(
    ({ status }) => status.phase === "Running",
  )
const namesOf = (pods: Awaited<ReturnType<typeof running>>) => pods.map(({ metadata }) => metadata.name)
const kubeSystem = () =>
  inside(key, (context) =>
    kubectl([...context, "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"]),
  )

describe.runIf(full)("an instance that is put to sleep", () => {
  let cluster = ""
  let claim = ""
  let web: ReadonlyArray<string> = []

  beforeAll(async () => {
    await createNamespace(key.namespace)
    await apply(manifest(key))
    await untilReady(key)
    await inside(key, async (context) => {
      for (const object of [deployment, settings])
        await kubectl([...context, "apply", "-f", "-"], { input: JSON.stringify(object) })
      await plainPod({ namespace: "default", name: "lonely" }, ...context)
      await kubectl([...context, "wait", "--for=condition=Available", "deployment/web", "--timeout=300s"])
    })
    await untilRunning(synced(host, "default", "lonely"))
    cluster = await kubeSystem()
    claim = await uidOf("persistentvolumeclaim", "data-vcluster-0", ...inHost)
    web = namesOf(await running())
  })

  it("is taken down with what runs inside, and says what that saves", async () => {
    await asleep()
    assert.deepStrictEqual(await podsOf(...inHost), [])
    const replicas = ["get", "statefulset", "vcluster", ...inHost, "-o", "jsonpath={.spec.replicas}"]
    assert.strictEqual(await kubectl(replicas), "0")
    const { metadata, status } = await getInstance(key)
    const { sleep } = Schema.decodeUnknownSync(Sleep)(metadata.annotations?.[ANNOTATION_DAY_TWO])
    assert.strictEqual(sleep.pods, web.length + 1)
    assert.isAbove(sleep.memory, 32 * 2 ** 20)
    assert.match((await eventOf("Asleep")).message, /nothing inside makes these anew .*: default\/lonely$/)
    assert.strictEqual(status?.phase, "Provisioning")
    assert.strictEqual(conditionOf(await getInstance(key), "Installed")?.status, "True")
  })

  it("is neither woken nor told to fail by what changes meanwhile", async () => {
    await editInstance(key, { platform: { users: [] } })
    await kubectl(["delete", "networkpolicy", "platform-operator-control-plane", ...inHost])
    await kubectl(["scale", "statefulset", "vcluster", "--replicas=1", ...inHost])
    await untilTrue("it is put back to sleep", async () => {
      const events = (await eventsOf()).filter(({ reason }) => reason === "Asleep")
      return events.length > 1 && (await podsOf(...inHost)).length === 0
    })
    assert.isFalse((await eventsOf()).some(({ type }) => type === "Warning"))
    const { status, metadata } = await getInstance(key)
    assert.isBelow(status?.observedGeneration ?? 0, metadata.generation)
  })

  it("is woken whole, with its next spec", async () => {
    await annotate(`${ANNOTATION_SLEEP}-`)
    await untilReady(key)
    await eventOf("Waking")
    assert.strictEqual(await kubeSystem(), cluster)
    assert.strictEqual(await uidOf("persistentvolumeclaim", "data-vcluster-0", ...inHost), claim)
    await inside(key, async (context) => {
      await kubectl([...context, "wait", "--for=condition=Available", "deployment/web", "--timeout=300s"])
      const kept = ["get", "configmap", "kept", "--namespace", "default", "-o", "jsonpath={.data.a}"]
      assert.strictEqual(await kubectl([...context, ...kept]), "b")
      const lonely = ["get", "pod", "lonely", "--namespace", "default", "--ignore-not-found", "-o", "name"]
      await untilTrue(
        "the pod that nothing makes anew is gone",
        async () => (await kubectl([...context, ...lonely])) === "",
      )
    })
    await untilTrue("as many run inside as before", async () => (await running()).length === web.length - 1)
    assert.isFalse((await eventsOf()).some(({ type }) => type === "Warning"))
  })

  it("is deleted asleep", async () => {
    await asleep()
    await deleteInstance(key)
    assert.isUndefined(await findHostNamespace(key))
  })
})

// The playground with its operator: how its pod dies (in peace when it is deleted, suddenly when that is forced), and what is applied.
import { afterEach, assert, describe, it } from "@effect/vitest"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { type Playground, startPlayground } from "../../tools/playground/Playground.ts"
import type { Change } from "../twins/kubernetes/ApiServer.ts"
import { at } from "../twins/kubernetes/Json.ts"

const NAMESPACE = "platform-operator"

const logged: Array<string> = []
let playground: Playground | undefined
afterEach(() => playground?.stop())

/** A playground, and what becomes of lease and pods in it from its first leader on, in order. */
const started = async () => {
  const made = await startPlayground({
    speed: 60,
    seed: 1,
    start: new Date(0),
    log: (_, { text }) => logged.push(text),
    onEnd: (error) => assert.fail(error.message),
  })
  playground = made
  const seen: Array<string> = []
  const listeners = new Set<() => void>()
  const tell = ({ kind, object, type }: Change) => {
    const { name, namespace } = object.metadata
    if (namespace !== NAMESPACE) return
    if (kind.kind === Kinds.Lease.kind) {
      const holder = String(at(object, "spec", "holderIdentity") ?? "")
      const what = holder === "" ? "nobody leads" : `${holder.split("_")[0]} leads`
      if (what !== seen.findLast((it) => it.endsWith("leads"))) seen.push(what)
    } else if (kind.kind === Kinds.Pod.kind && type !== "MODIFIED")
      seen.push(type === "ADDED" ? `${name} is there` : `${name} is gone`)
    for (const listener of [...listeners]) listener()
  }
  made.subscribe(tell)
  const sees = (what: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!what()) return
        listeners.delete(look)
        resolve()
      }
      listeners.add(look)
      look()
    })
  const leaders = () => seen.filter((it) => it.endsWith(" leads") && it !== "nobody leads")
  await sees(() => leaders().length === 1)
  const pod = leaders()[0]?.split(" ")[0] ?? ""
  const remove = (body: object) =>
    made.enter(() =>
      made.api.handle({
        user: "admin",
        groups: ["system:masters"],
        method: "DELETE",
        path: `/api/v1/namespaces/${NAMESPACE}/pods/${pod}`,
        body: { kind: "DeleteOptions", apiVersion: "v1", ...body },
      }),
    )
  return { pod, remove, seen, another: () => sees(() => leaders().length === 2) }
}

describe("the operator's pod that is deleted", () => {
  it("gives its lease back before it is gone, so that the next one leads at once", async () => {
    const { another, pod, remove, seen } = await started()
    seen.splice(0, seen.length, `${pod} leads`)
    assert.strictEqual(remove({}).status, 200)
    await another()
    const next = seen.at(-1)?.split(" ")[0]
    assert.notStrictEqual(next, pod)
    assert.deepStrictEqual(seen, [
      `${pod} leads`,
      "nobody leads",
      `${pod} is gone`,
      `${next} is there`,
      `${next} leads`,
    ])
  })

  it("by force dies as it stands, and its lease runs out", async () => {
    const { another, pod, remove, seen } = await started()
    seen.splice(0, seen.length, `${pod} leads`)
    assert.strictEqual(remove({ gracePeriodSeconds: 0 }).status, 200)
    await another()
    const next = seen.at(-1)?.split(" ")[0]
    assert.deepStrictEqual(seen, [`${pod} leads`, `${pod} is gone`, `${next} is there`, `${next} leads`])
  })
})

describe("what the playground applies", () => {
  it("says what was applied, as kubectl does, and keeps labels and annotations of the manifest", async () => {
    await started()
    const made = playground ?? assert.fail("it has been started")
    const metadata = { name: "one", namespace: "team-a", labels: { a: "b" }, annotations: { c: "d" } }
    const manifest = {
      apiVersion: "platform.di-framework.dev/v1alpha1",
      kind: "PlatformInstance",
      metadata,
      spec: { version: "6.0.22", target: { type: "vcluster" }, platform: { tenants: [] } },
    }
    made.apply(JSON.stringify(manifest))
    const found = made.enter(() =>
      made.api.as("admin").get(Kinds.PlatformInstance, { namespace: "team-a", name: "one" }),
    )
    const { annotations, labels } = found?.metadata ?? assert.fail("it is there")
    assert.deepStrictEqual(labels, metadata.labels)
    assert.strictEqual(annotations?.c, "d")
    assert.deepStrictEqual(
      JSON.parse(annotations?.["kubectl.kubernetes.io/last-applied-configuration"] ?? ""),
      manifest,
    )
  })

  it("has nodes with address ranges, so that pods of instances can be kept from each other", async () => {
    await started()
    assert.isNotEmpty(logged)
    assert.isFalse(logged.some((line) => line.includes("not kept from each other")))
  })
})

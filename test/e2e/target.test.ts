// The vCluster of an instance and its release: whatever is killed, deleted, edited or scaled, it comes back by itself,
// from the release as it was stored, with its data.
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { parseAllDocuments } from "yaml"
import { hostNamespace } from "../../src/schema/Names.ts"
import { run } from "./support/Child.ts"
import { full, onNode, programs } from "./support/Cluster.ts"
import { inside, readKubeconfig } from "./support/Inside.ts"
import {
  conditionOf,
  deleteInstance,
  isReady,
  type Key,
  manifest,
  requestReconcile,
  revisions,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl, uidOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { instanceState, readRecord } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { type Stall, stallStatefulSets } from "./support/Stall.ts"
import { type Told, tellOf } from "./support/Told.ts"
import { untilTrue } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("target")

const key: Key = { namespace: "target", name: "one" }
const host = hostNamespace(key)
const inHost = (...args: ReadonlyArray<string>) => [...args, "--namespace", host]
const ready = /^True Ready/

/** The helm that the operator runs for this instance, dead without notice. */
const killHelm = (): Promise<string> =>
  onNode("pkill", "-KILL", "-f", `^\\S*helm (upgrade|rollback) .*--namespace ${host}`)

/** Kills helm when such a record is there: it comes no further than the StatefulSet, which is held until it is dead. */
const killHelmAt = async (record: string): Promise<void> => {
  await untilTrue(`the record ${record}`, async () => (await revisions("vcluster", host)).includes(record))
  await killHelm()
  await stall.end()
}

const keptPath = ["configmap", "kept", "--namespace", "default"]
/** The UIDs of what lies on the vCluster's volume alone. */
const keptInside = (): Promise<ReadonlyArray<string>> =>
  inside(key, (context) =>
    Promise.all([uidOf(...context, "namespace", "kube-system"), uidOf(...context, ...keptPath)]),
  )

const Manifest = Schema.Struct({
  metadata: Schema.Struct({ labels: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)) }),
  spec: Schema.optionalKey(Schema.Unknown),
  data: Schema.optionalKey(Schema.Unknown),
  rules: Schema.optionalKey(Schema.Unknown),
  roleRef: Schema.optionalKey(Schema.Unknown),
  subjects: Schema.optionalKey(Schema.Unknown),
})
const content = (path: ReadonlyArray<string>) => getJson(Manifest, inHost(...path))

const decodeNamed = Schema.decodeUnknownSync(
  Schema.Struct({ kind: Schema.String, metadata: Schema.Struct({ name: Schema.String }) }),
)

let kept: ReadonlyArray<string> = []
let stall: Stall
let told: Told
beforeAll(async () => {
  await createNamespace(key.namespace)
  stall = await stallStatefulSets(host, 9443)
  await apply(manifest(key))
  told = await tellOf(key)
})
afterAll(async () => {
  await told.end()
  await deleteInstance(key)
})

/** What each of these tests begins with: an instance whose last repair is forgotten. */
const begin = async (): Promise<number> => {
  await requestReconcile(key)
  return told.mark()
}

describe("the release of an instance", () => {
  let finishedAt = ""

  it("whose helm is killed at the install is removed and installed again", async () => {
    await killHelmAt("1 pending-install")
    await told.untilTarget(
      /TargetError: install vcluster .* left pending-install at revision 1; removed it to install again/,
      0,
    )
    await untilReady(key)
    assert.deepStrictEqual(await revisions("vcluster", host), ["1 deployed"])
    await inside(key, (context) => kubectl([...context, "create", ...keptPath, "--from-literal=a=b"]))
    kept = await keptInside()
    finishedAt = readRecord(await instanceState(key.namespace, key.name)).installed.finishedAt
  })

  const deleted = [
    ["role", "vc-vcluster"],
    ["rolebinding", "vc-vcluster"],
    ["serviceaccount", "vc-vcluster"],
    ["serviceaccount", "vc-workload-vcluster"],
    ["secret", "vc-config-vcluster"],
    ["service", "vcluster-headless"],
    ["statefulset", "vcluster"],
  ] as const
  it("consists of what these tests take away, and of the Service that nobody can", async () => {
    const text = await run(join(programs, "helm"), ["get", "manifest", "vcluster", "--namespace", host])
    const objects = parseAllDocuments(text).map((document) => decodeNamed(document.toJS()))
    assert.sameMembers(
      objects.map(({ kind, metadata }) => `${kind.toLowerCase()} ${metadata.name}`),
      [...deleted.map((path) => path.join(" ")), "service vcluster"],
    )
  })

  it.each(deleted)("has %s/%s, when deleted, put back as it was", async (...path) => {
    const before = await content(path)
    const mark = await begin()
    await kubectl(["delete", ...inHost(...path), "--wait=false"])
    await told.untilReadyAfter(new RegExp(`Repairing: putting back .*${path.join("/")}`), mark)
    assert.deepStrictEqual(await content(path), before)
  })

  const edited = [
    ["role", "vc-vcluster", { rules: [] }],
    ["rolebinding", "vc-vcluster", { subjects: [] }],
    ["serviceaccount", "vc-vcluster", { metadata: { labels: { chart: "another" } } }],
    ["secret", "vc-config-vcluster", { data: { "config.yaml": "eDogMQ==" } }],
    ["service", "vcluster", { spec: { selector: { never: "matches" } } }],
    [
      "statefulset",
      "vcluster",
      {
        spec: {
          template: {
            metadata: { labels: { release: "vcluster" }, annotations: { vClusterConfigHash: "another" } },
          },
        },
      },
    ],
  ] as const
  it.each(edited)("has %s/%s, when edited, put back as it was", async (kind, name, patch) => {
    const before = await content([kind, name])
    const mark = await begin()
    await kubectl([
      ...["patch", ...inHost(kind, name)],
      ...["--type=merge", "--patch", JSON.stringify(patch)],
    ])
    await told.untilReadyAfter(new RegExp(`Repairing: putting back .*${kind}/${name} \\(edited\\)`), mark)
    assert.deepStrictEqual(await content([kind, name]), before)
  })

  it("scaled to 0 is not ready, and scaled up again", async () => {
    const mark = await begin()
    await kubectl(["scale", ...inHost("statefulset", "vcluster"), "--replicas=0"])
    await told.untilReadyAfter(/^False Repairing: putting back statefulset\/vcluster \(edited\)/, mark)
    const after = told.targetSince(mark)
    assert.match(after.at(-1) ?? "", ready, after.join("\n"))
  })

  it("whose helm is killed at a repair is rolled back, and the object is back", async () => {
    stall = await stallStatefulSets(host, 9443)
    const mark = await begin()
    await kubectl(["delete", ...inHost("service", "vcluster-headless")])
    const pending = async () =>
      (await revisions("vcluster", host)).find((each) => each.endsWith("pending-rollback"))
    await untilTrue("a repair is at work", async () => (await pending()) !== undefined)
    const record = (await pending()) ?? ""
    await killHelmAt(record)
    await told.untilReadyAfter(/^False RolledBack: .* left pending-rollback and is rolled back/, mark)
    assert.isTrue(await exists(...inHost("service", "vcluster-headless")))
    const after = await revisions("vcluster", host)
    assert.lengthOf(
      after.filter((each) => each.endsWith(" deployed")),
      1,
      after.join(", "),
    )
    // What was put back was the release, five revisions of it at most.
    assert.isAtMost(after.length, 5)
  })

  it("costs no data and no install, whatever of it was lost", async () => {
    assert.deepStrictEqual(await keptInside(), kept)
    const record = readRecord(await instanceState(key.namespace, key.name))
    assert.strictEqual(record.installed.finishedAt, finishedAt)
    assert.strictEqual(record.installed.reason, "FirstInstall")
    assert.isUndefined(record.resync)
  })
})

describe("the control plane of an instance", () => {
  it("whose pod is deleted is waited for, without a resync", async () => {
    const state = await instanceState(key.namespace, key.name)
    const before = readRecord(state)
    const mark = await begin()
    await kubectl(["delete", ...inHost("pod", "vcluster-0"), "--wait=false"])
    await told.untilReadyAfter(/^False ControlPlanePending: statefulset\/vcluster has 0 of 1/, mark)
    assert.notInclude(told.targetSince(mark).join("\n"), "Resync")
    assert.deepStrictEqual(readRecord(state), before)
    assert.deepStrictEqual(await keptInside(), kept)
  })

  if (full)
    it("that a quota refuses says so in the words of the refusal, and is Ready without it", async () => {
      const mark = await begin()
      await kubectl(["create", ...inHost("quota", "none"), "--hard=pods=0"])
      await kubectl(["delete", ...inHost("pod", "vcluster-0"), "--wait=false"])
      await told.untilTarget(/^False ControlPlanePending: .* FailedCreate: .*exceeded quota: none/, mark)
      await kubectl(["delete", ...inHost("quota", "none")])
      await told.untilReadyAfter(/exceeded quota/, mark)
    })

  it("whose kubeconfig Secret is deleted is restarted, and the platform installed again", async () => {
    const secret = await uidOf(...inHost("secret", "vc-vcluster"))
    const service = await uidOf(...inHost("service", "vcluster"))
    const pod = await uidOf(...inHost("pod", "vcluster-0"))
    const mark = await begin()
    await kubectl(["delete", ...inHost("secret", "vc-vcluster")])
    await told.untilTarget(/^False KubeconfigMissing/, mark)
    const after = await told.untilReadyAfter(/^False Resyncing/, mark)
    assert.include(conditionOf(after, "Installed"), { status: "True", reason: "Resync" })
    assert.notInclude(told.phasesSince(mark), "Failed")
    assert.isTrue(isReady(after))
    assert.notStrictEqual(await uidOf(...inHost("secret", "vc-vcluster")), secret)
    assert.notStrictEqual(await uidOf(...inHost("pod", "vcluster-0")), pod)
    assert.strictEqual(await uidOf(...inHost("service", "vcluster")), service)
    assert.include(await readKubeconfig(key), `https://vcluster.${host}.svc:443`)
    assert.deepStrictEqual(await keptInside(), kept)
  })
})

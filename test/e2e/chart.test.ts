// The chart under a user's hands while instances live: upgraded, closed off, scaled, removed and installed again.
import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { installChart, rollBackChart, uninstallChart } from "./support/Chart.ts"
import { full, operatorNamespace } from "./support/Cluster.ts"
import { assertStill, type Identity, settledIdentity } from "./support/Identity.ts"
import {
  conditionOf,
  deleteInstance,
  editInstance,
  getInstance,
  type Key,
  manifest,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, kubectl, names } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { incarnations, instanceState, killContainer, leader, logOf } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { requestsOf, untilChecked } from "./support/Requests.ts"
import {
  applySecondOperator,
  lastWords,
  removeSecondOperator,
  secondInstall,
  secondNamespace,
} from "./support/SecondOperator.ts"
import { until, untilTrue } from "./support/Until.ts"
import { assertWhole, duringUp } from "./support/Whole.ts"

holdOperator("exclusive")
leavesNothing("chart")

const namespace = "chart"
const key: Key = { namespace, name: "one" }
const inOperator = ["--namespace", operatorNamespace]

const record = async (): Promise<string> => {
  const { record } = await instanceState(key.namespace, key.name)
  return readFileSync(record, "utf8")
}

/** Another default tenant host image, as a newer release has it. */
const newer = [
  "--set-json",
  `extraArgs=${JSON.stringify([
    "--vcluster-image=ghcr.io/loft-sh/vcluster-oss:0.36.1",
    "--vcluster-kubernetes-image=ghcr.io/loft-sh/kubernetes:v1.35.4",
    `--default-tenant-host-image=ghcr.io/di-framework/wash:3.0.0@sha256:${"3".repeat(64)}`,
  ])}`,
]

describe("the operator's chart", () => {
  let first: Identity
  let recorded = ""

  beforeAll(() => createNamespace(namespace))
  afterAll(async () => {
    await kubectl(["delete", "networkpolicy", "default-deny", ...inOperator, "--ignore-not-found"])
    await installChart()
  })

  it("runs its code as it was compiled when the image was made", async () => {
    const help = "node /opt/platform-operator/main.mjs --help 2>&1"
    const inPod = ["exec", (await leader()).pod, ...inOperator, "--", "sh", "-c"]
    const said = await kubectl([...inPod, `NODE_DEBUG_NATIVE=COMPILE_CACHE ${help}`])
    assert.match(said, /file:\/\/\/opt\/platform-operator\/main\.mjs was accepted/)
  })

  it("is upgraded in the middle of an install, which comes to its end", async () => {
    await apply(manifest(key))
    await duringUp(key)
    await installChart("--set", "podAnnotations.release=next")
    await untilReady(key)
    await assertWhole(key)
  })

  it("is rolled back in the middle of a change, which comes to its end", async () => {
    const before = await settledIdentity(key)
    await editInstance(key, {
      platform: { tenants: ["acme", "globex", "umbrella"].map((name) => ({ name })) },
    })
    await duringUp(key)
    await rollBackChart()
    await untilReady(key)
    await assertWhole(key)
    first = await settledIdentity(key)
    for (const what of ["host", "volumes", "inside", "platform"] as const)
      assert.deepStrictEqual(first[what], before[what], what)
    recorded = await record()
  })

  it("changes nothing in a Ready instance when it is upgraded, another default image included", async () => {
    const { status } = await getInstance(key)
    await installChart(...newer)
    await untilChecked(2)
    const seconds = await until(
      "its log says when it was ready",
      async () => /"secondsSinceStart":([\d.]+)/.exec(await logOf(await leader()))?.[1],
    )
    console.log(`from the start of the process to /readyz: ${seconds} s`)
    await assertStill(key, first)
    assert.strictEqual(await record(), recorded)
    assert.deepStrictEqual((await getInstance(key)).status, status)
  })

  it("leaves definition, claim, passphrase and instances when it is uninstalled, and finds them again", async () => {
    const passphrase = ["secret", "platform-operator-passphrase", ...inOperator, "--output=jsonpath={.data}"]
    const before = await kubectl(["get", ...passphrase])
    await uninstallChart()
    assert.isFalse(await exists("deployment", "platform-operator", ...inOperator))
    assert.isTrue(await exists("crd", "platforminstances.platform.di-framework.dev"))
    assert.isTrue(await exists("persistentvolumeclaim", "platform-operator-state", ...inOperator))
    assert.strictEqual(await kubectl(["get", ...passphrase]), before)
    assert.strictEqual((await getInstance(key)).status?.phase, "Ready")

    await installChart()
    await untilChecked(2)
    assert.strictEqual(await kubectl(["get", ...passphrase]), before)
    await assertStill(key, first)
    assert.strictEqual(await record(), recorded)
  })

  it("works in a namespace that denies everything, with its own policy", async () => {
    await apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "default-deny", namespace: operatorNamespace },
      spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
    })
    await installChart("--set", "networkPolicy.enabled=true")
    // A version that has to be fetched, and a target that has to be reached.
    await editInstance(key, { version: "6.0.21" })
    const ready = await untilReady(key)
    assert.strictEqual(ready.status?.installedVersion, "6.0.21")
    await kubectl(["delete", "networkpolicy", "default-deny", ...inOperator])
  })

  it("leaves a node that is drained in the middle of an upgrade, and ends that elsewhere", async () => {
    const [node] = await names("nodes")
    await editInstance(key, { version: "6.0.22" })
    await duringUp(key)
    await kubectl([
      ...["drain", String(node), "--pod-selector=app.kubernetes.io/name=platform-operator"],
      ...["--delete-emptydir-data", "--timeout=300s"],
    ])
    assert.isEmpty(await incarnations())
    await kubectl(["uncordon", String(node)])
    const ready = await untilReady(key)
    assert.strictEqual(ready.status?.installedVersion, "6.0.22")
    await assertWhole(key)
  })

  it("is the only one of its cluster", async () => {
    await createNamespace(secondNamespace)
    try {
      assert.match(await secondInstall(), /exists and cannot be imported into the current release/)
      await applySecondOperator()
      // Between an end and the next start there may be nothing to read.
      const words = await until("the second operator says why it ends", async () => {
        const said = await lastWords()
        return said?.includes("platform-operator: ") === true ? said : undefined
      })
      assert.include(
        words,
        "another operator serves this cluster: system:serviceaccount:platform-operator:platform-operator",
      )
    } finally {
      await removeSecondOperator()
    }
  })

  it("says so when the passphrase is another one, and touches nothing", async () => {
    const secret = ["secret", "platform-operator-passphrase", ...inOperator]
    const right = await kubectl(["get", ...secret, "--output=jsonpath={.data.passphrase}"])
    const put = async (passphrase: string): Promise<void> => {
      const patch = JSON.stringify({ data: { passphrase } })
      await kubectl(["patch", ...secret, "--type=merge", `--patch=${patch}`])
      await kubectl(["rollout", "restart", "deployment/platform-operator", ...inOperator])
      await kubectl(["rollout", "status", "deployment/platform-operator", ...inOperator, "--timeout=300s"])
    }
    const before = await settledIdentity(key)
    await put(Buffer.from("another passphrase").toString("base64"))
    await editInstance(key, {
      platform: { tenants: [{ name: "acme" }, { name: "globex" }, { name: "initech" }] },
    })
    const failed = await until("the install fails", async () => {
      const found = await getInstance(key)
      return conditionOf(found, "Installed")?.reason === "InstallFailed" ? found : undefined
    })
    assert.include(conditionOf(failed, "Installed")?.message, "put back the passphrase Secret")
    await assertStill(key, before)
    await put(right)
    await untilReady(key)
    await assertWhole(key)
  })
})

describe("two replicas", () => {
  const names = full ? ["a", "b", "c", "d", "e"] : ["a", "b", "c"]
  const keys = names.map((name): Key => ({ namespace, name }))
  const kills = full ? 10 : 2

  beforeAll(async () => {
    await installChart("--set", "replicaCount=2")
    await untilTrue("both are ready", async () => (await incarnations()).length === 2)
  })
  afterAll(() => installChart())

  it(`bring ${names.length} instances up though the one that works is killed ${kills} times`, async () => {
    for (const each of keys) await apply(manifest(each))
    for (let kill = 0; kill < kills; kill++) {
      const working = await leader()
      // Some moment of its work: it has been seen to do something, and a part of the next few seconds has passed.
      const began = Date.now()
      const asked = await requestsOf(working)
      const after = Math.random() * 8_000
      await untilTrue(
        "it is at work",
        async () => Date.now() - began > after && (await requestsOf(working)) > asked,
      )
      await killContainer(working)
      await untilTrue("it is gone", async () => {
        return !(await incarnations()).some(({ container }) => container === working.container)
      })
    }
    for (const each of keys) await untilReady(each)
    for (const each of keys) await assertWhole(each)
    for (const each of [...keys, key]) await deleteInstance(each)
  }, 1_800_000)
})

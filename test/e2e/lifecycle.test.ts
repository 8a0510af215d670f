// One instance from `kubectl apply` to Ready and to its deletion, as a user sees it.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { fromNode, onNode, operatorNamespace, programs, storageRootBase } from "./support/Cluster.ts"
import { deletionOrder, logDeletion } from "./support/DeletionLog.ts"
import { inside, readKubeconfig } from "./support/Inside.ts"
import {
  conditionOf,
  findHostNamespace,
  isReady,
  manifest,
  SeenInstance,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl, names } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { instanceState, operatorLog, refusals, stateDirectory } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { withPod } from "./support/Pod.ts"
import { spansBetween } from "./support/Spans.ts"
import { installSteps, table, timing } from "./support/Timing.ts"
import { until, untilTrue } from "./support/Until.ts"
import { type Watch, watch } from "./support/Watch.ts"

holdOperator("shared")
leavesNothing("team-a", "lifecycle-elsewhere")

const key = { namespace: "team-a", name: "one" }
const storageRoot = `${storageRootBase}/team-a/one`
const elsewhere = "lifecycle-elsewhere"

const StatefulSet = Schema.Struct({
  status: Schema.Struct({ readyReplicas: Schema.optionalKey(Schema.Finite) }),
})

let seen: Watch<SeenInstance>
let hostNamespace = ""

const phases = (): ReadonlyArray<string> =>
  seen.seen
    .map(({ object }) => object.status?.phase ?? "")
    .filter((phase, index, all) => phase !== "" && phase !== all[index - 1])

/** Every state that was seen, for people. */
const history = (): string =>
  seen.seen
    .map(({ object }) => {
      const ready = conditionOf(object, "Ready")
      return `${object.status?.phase} ${ready?.reason} ${ready?.message}`
    })
    .join("\n")

/** Lets another instance fetch the package, so that the time to Ready is one that has it; that one is deleted early. */
const warmPackageStore = async (): Promise<void> => {
  const packages = join(await stateDirectory(), "packages")
  const fetched = () =>
    existsSync(packages) && readdirSync(packages).some((folder) => folder.startsWith("6.0.22-"))
  if (fetched()) return
  await apply(manifest({ namespace: elsewhere, name: "warm" }))
  await untilTrue("the package is fetched", fetched)
  await kubectl(["delete", "pi", "warm", "--namespace", elsewhere, "--timeout=300s"])
}

describe("an instance", () => {
  beforeAll(async () => {
    await createNamespace(key.namespace)
    await createNamespace(elsewhere)
    await warmPackageStore()
    seen = watch(
      SeenInstance,
      "/apis/platform.di-framework.dev/v1alpha1/namespaces/team-a/platforminstances?fieldSelector=metadata.name=one",
    )
  })
  afterAll(() => seen.end())

  it("becomes Ready through Provisioning and Installing, and says where the time went", async () => {
    const applied = Date.now()
    await kubectl(["apply", "-f", "examples/one.yaml"])

    hostNamespace = await until("the host namespace", () => findHostNamespace(key))
    const statefulSets = watch(StatefulSet, `/apis/apps/v1/namespaces/${hostNamespace}/statefulsets`)
    const secrets = watch(
      Schema.Unknown,
      `/api/v1/namespaces/${hostNamespace}/secrets?fieldSelector=metadata.name=vc-vcluster`,
    )
    await untilReady(key)
    const ready = await until("the watch tells of it", () => seen.seen.find(({ object }) => isReady(object)))
    await statefulSets.end()
    await secrets.end()

    const shown = phases().filter((phase) => phase !== "Pending")
    assert.deepStrictEqual(shown, ["Provisioning", "Installing", "Ready"], history())
    const condition = (type: string) => conditionOf(ready.object, type)
    assert.strictEqual(condition("TargetReady")?.status, "True")
    assert.include(condition("Installed"), { status: "True", reason: "FirstInstall" })
    assert.include(condition("ConfigApplied"), { status: "True", reason: "Applied" })
    assert.include(condition("OwnerServiceProtected"), { status: "True", reason: "AdmissionPolicyInstalled" })
    assert.strictEqual(ready.object.status?.endpoints?.http, "http://apps.example:30080")

    const up = statefulSets.seen.find(({ object }) => (object.status.readyReplicas ?? 0) > 0)?.at ?? 0
    const moments = { applied, targetUp: Math.max(up, secrets.seen[0]?.at ?? 0), ready: ready.at }
    const measured = await until("the operator's spans", () =>
      timing(spansBetween(applied, ready.at), moments),
    )
    const steps = installSteps(await operatorLog(), "team-a/one", ready.at)
    console.log(`time from apply to Ready:\n${table(measured, steps)}`)
  })

  it("is listed with its version, what is installed, its phase and age", async () => {
    const [head = "", row = ""] = (await kubectl(["get", "pi", "--namespace", "team-a"])).split("\n")
    assert.deepStrictEqual(head.trim().split(/\s+/), ["NAME", "VERSION", "INSTALLED", "PHASE", "AGE"])
    assert.deepStrictEqual(row.trim().split(/\s+/).slice(0, 4), ["one", "6.0.22", "6.0.22", "Ready"])
  })

  it("answers to its kubeconfig from the operator's namespace, and from no other", async () => {
    const kubeconfig = await readKubeconfig(key)
    assert.include(kubeconfig, `https://vcluster.${hostNamespace}.svc:443`)

    const namespaces = await withPod(operatorNamespace, programs, kubeconfig, (kubectlInPod) =>
      kubectlInPod("get", "namespaces", "-o", "name"),
    )
    assert.include(namespaces.split("\n"), "namespace/wasmcloud")

    const refused = await withPod(elsewhere, programs, kubeconfig, (kubectlInPod) =>
      kubectlInPod("get", "namespaces", "--request-timeout=5s").then(
        () => "it answered",
        (error: unknown) => String(error),
      ),
    )
    assert.match(refused, /refused|timeout|timed out|deadline/i)
  })

  it("lists what the platform created through a port-forward", () =>
    inside(key, async (context) => {
      const services = await names(...context, "services", "--namespace", "wasmcloud")
      assert.includeMembers([...services], ["wasmcloud-http", "di-platform-gateway"])
      const crds = await names(...context, "crds")
      assert.includeMembers(
        [...crds],
        ["tenants.platform.di-framework.dev", "users.platform.di-framework.dev"],
      )
      const deployments = await names(...context, "deployments", "--namespace", "wasmcloud")
      assert.include(deployments, "di-platform-controller")

      const Pods = Schema.Struct({
        items: Schema.Array(
          Schema.Struct({
            metadata: Schema.Struct({ labels: Schema.Record(Schema.String, Schema.String) }),
            status: Schema.Struct({ phase: Schema.String }),
          }),
        ),
      })
      const pods = await getJson(Pods, [...context, "pods", "--namespace", "wasmcloud"])
      const running = pods.items.filter(({ status }) => status.phase === "Running")
      assert.includeMembers(
        running.map(({ metadata }) => metadata.labels.app),
        ["wasmcloud", "di-platform-controller"],
      )
    }))

  it("keeps the platform's data under its storage root on the node", async () => {
    assert.isTrue(existsSync(fromNode(`${storageRoot}/di-framework/controller/controller`)))
    assert.include(await onNode("ls", `${storageRoot}/di-framework/controller`), "controller")
  })

  it("is gone with all that belongs to it when it is deleted, in order", async () => {
    const state = await instanceState("team-a", "one")
    assert.isTrue(existsSync(state.backend))
    const log = logDeletion(key, hostNamespace, state)
    await log.sample()
    assert.isEmpty(log.happened)
    const { uid } = (await untilReady(key)).metadata

    await kubectl(["delete", "pi", "one", "--namespace", "team-a", "--wait=false"])
    await untilTrue("the instance is gone", async () => {
      await log.sample()
      return log.happened.includes("instance gone")
    })
    await log.end()
    console.log(`deleted: ${log.happened.join(", ")}`)

    assert.isEmpty(log.violations)
    // The annotation is there for a moment only; the watch does not miss it.
    assert.includeMembers([...log.happened, "storage-cleaned"], [...deletionOrder])
    const annotated = seen.seen.some(
      ({ object }) => object.metadata.annotations?.["platform.di-framework.dev/storage-cleaned"] === uid,
    )
    assert.isTrue(annotated)
    assert.isFalse(existsSync(state.root))
    assert.isFalse(existsSync(fromNode(storageRoot)))
    assert.isTrue(existsSync(fromNode(storageRootBase)))
    await untilTrue(
      "the kubeconfig Secret is gone",
      async () => !(await exists("secret", "one-kubeconfig", "--namespace", "team-a")),
    )
  })

  it("F32: needed no right that the chart does not give without cluster-admin", async () => {
    assert.deepStrictEqual(refusals(await operatorLog()), [])
  })
})

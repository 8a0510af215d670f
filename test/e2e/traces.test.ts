// What an administrator sees in Jaeger of a life of an instance: each change one trace, what follows linked to it, and no
// secret anywhere.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { installChart } from "./support/Chart.ts"
import type { Running } from "./support/Child.ts"
import { operatorNamespace } from "./support/Cluster.ts"
import { inside, readKubeconfig } from "./support/Inside.ts"
import {
  conditionOf,
  deleteInstance,
  editInstance,
  findHostNamespace,
  getInstance,
  isReady,
  type Key,
  manifest,
  requestReconcile,
  SeenInstance,
  untilReady,
} from "./support/Instance.ts"
import { spansTo } from "./support/installation.ts"
import {
  coverageOf,
  everything,
  type JaegerTrace,
  jaegerEndpoint,
  orphansOf,
  rootOf,
  startJaeger,
  traces,
} from "./support/Jaeger.ts"
import { apply, createNamespace, kubectl } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { leader } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { until } from "./support/Until.ts"
import { type Watch, watch } from "./support/Watch.ts"

holdOperator("exclusive")
leavesNothing("traces")

const key: Key = { namespace: "traces", name: "one" }
const clientSecret = "planted-client-secret-of-the-traces"

/** The trace that the annotation names. */
const changeOf = ({ metadata }: SeenInstance): string | undefined =>
  metadata.annotations?.["platform.di-framework.dev/trace"]?.split("-")[1]

const isOurs = (trace: JaegerTrace): boolean =>
  rootOf(trace)?.tags["platforminstance.name"] === key.name &&
  rootOf(trace)?.tags["platforminstance.namespace"] === key.namespace

/**
 * The first trace that is so, once Jaeger has all of it: spans are sent as they end, some seconds later, and a pass ends
 * after the change that it has settled.
 */
const traceWhere = (what: string, is: (trace: JaegerTrace) => boolean): Promise<JaegerTrace> =>
  until(what, async () =>
    (await traces()).find((trace) => isOurs(trace) && is(trace) && orphansOf(trace).length === 0),
  )

const changeWith = (id: string | undefined): Promise<JaegerTrace> =>
  traceWhere(`trace ${id}`, (trace) => trace.id === id && rootOf(trace)?.name === "Instance.change")

const assertWholeTrace = (trace: JaegerTrace): void => {
  assert.lengthOf(
    trace.spans.filter(({ parent }) => parent === undefined),
    1,
  )
  assert.isAtMost(trace.spans.length, 2_000)
}
const namesOf = ({ spans }: JaegerTrace): ReadonlyArray<string> => spans.map(({ name }) => name)
const ours = ({ spans }: JaegerTrace) => spans.filter(({ tags }) => tags["platforminstance.engine"] !== true)

// A life of several installs, each of them minutes on a busy machine.
describe("a life of an instance in Jaeger", { timeout: 1_800_000 }, () => {
  let jaeger: Running | undefined
  let seen: Watch<SeenInstance>
  let installed = ""
  let upgraded = ""
  const secrets: Array<string> = []

  beforeAll(async () => {
    jaeger = await startJaeger()
    await installChart("--set", "repairInterval=2m", ...spansTo(jaegerEndpoint, "http/protobuf"))
    await leader()
    await createNamespace(key.namespace)
    seen = watch(
      SeenInstance,
      `/apis/platform.di-framework.dev/v1alpha1/namespaces/${key.namespace}/platforminstances?fieldSelector=metadata.name=${key.name}`,
    )
  })
  afterAll(async () => {
    await seen.end()
    await deleteInstance(key)
    await installChart()
    await jaeger?.end()
  })

  it("an install is one trace, and at least 95 % of the time from apply to Ready is told", async () => {
    const applied = Date.now()
    await apply(manifest(key))
    const instance = await untilReady(key)
    const ready = await until("the watch tells of it", () => seen.seen.find(({ object }) => isReady(object)))
    installed = changeOf(instance) ?? ""
    const trace = await changeWith(installed)
    assertWholeTrace(trace)
    const root = rootOf(trace)
    assert.strictEqual(root?.tags["platforminstance.outcome"], "Ready")
    const coverage = coverageOf(trace, applied, ready.at)
    console.log(`${trace.spans.length} spans cover ${(100 * coverage).toFixed(1)} % of the install`)
    assert.isAtLeast(coverage, 0.95)
    assert.includeMembers(
      [...namesOf(trace)],
      [
        ...["Instance.pass", "Instance.observe", "Instance.plan", "Instance.act", "Instance.report"],
        ...["Target.step", "Target.helm", "Helm.install", "Process.runChild", "Wait.controlPlane"],
        ...["Install.run", "pulumi.engine", "pulumi.up", "k8s.patch"],
      ],
    )
    // The engine has joined.
    assert.isAbove(trace.spans.length - ours(trace).length, 20)
    assert.isFalse(namesOf(trace).some((name) => name.startsWith("gocloud.dev")))
  })

  it("an upgrade is the next, linked to the install", async () => {
    await editInstance(key, { version: "6.0.21" })
    upgraded = changeOf(await untilReady(key)) ?? ""
    assert.notStrictEqual(upgraded, installed)
    const trace = await changeWith(upgraded)
    assertWholeTrace(trace)
    assert.deepStrictEqual(rootOf(trace)?.links, [installed])
  })

  it("an install that fails says why on its spans, and the retry that succeeds is linked to it", async () => {
    await editInstance(key, {
      platform: {
        tenantAuth: {
          image: `auth@sha256:${"a".repeat(64)}`,
          issuer: "https://id.example",
          clientId: "console",
          clientSecretRef: { name: "oauth", key: "secret" },
        },
      },
    })
    const failed = await until("the install fails", async () => {
      const instance = await getInstance(key)
      return conditionOf(instance, "Installed")?.reason === "TenantAuthSecretUnavailable"
        ? instance
        : undefined
    })
    const change = await changeWith(changeOf(failed))
    assertWholeTrace(change)
    const reason = { "error.type": "TenantAuthSecretUnavailable" }
    assert.deepInclude(rootOf(change)?.tags, { ...reason, "platforminstance.outcome": "Failed" })
    const span = change.spans.find(({ name }) => name === "Install.run")
    assert.deepInclude(span?.tags, reason)
    assert.strictEqual(span?.tags["otel.status_description"], conditionOf(failed, "Installed")?.message)

    await apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "oauth", namespace: key.namespace },
      stringData: { secret: clientSecret },
    })
    secrets.push(clientSecret)
    await requestReconcile(key)
    await untilReady(key)
    const retry = await traceWhere("the retry", (trace) => {
      const root = rootOf(trace)
      return root?.name === "Instance.retry" && root.tags["platforminstance.outcome"] === "Ready"
    })
    assertWholeTrace(retry)
    assert.deepStrictEqual(rootOf(retry)?.links, [change.id])
  })

  it("a repair without drift is at most 20 of the operator's spans; one with drift says what it has put back", async () => {
    const quiet = await traceWhere(
      "a repair that finds nothing",
      (trace) =>
        rootOf(trace)?.name === "Instance.repair" &&
        namesOf(trace).includes("pulumi.refresh") &&
        rootOf(trace)?.tags["platforminstance.outcome"] === "Ready" &&
        !trace.spans.some(({ tags }) => tags["platforminstance.restored.count"] !== undefined),
    )
    assertWholeTrace(quiet)
    assert.isAtMost(
      ours(quiet).length,
      20,
      ours(quiet)
        .map(({ name }) => name)
        .join(", "),
    )

    await inside(key, (context) =>
      kubectl([...context, "delete", "deployment", "wasmcloud-hosts", "--namespace", "wasmcloud"]),
    )
    const repair = await traceWhere("a repair that puts something back", (trace) =>
      trace.spans.some(({ tags }) => String(tags["platforminstance.restored.objects"]).includes("hosts")),
    )
    assertWholeTrace(repair)
    assert.strictEqual(rootOf(repair)?.name, "Instance.repair")
    assert.isNotEmpty(rootOf(repair)?.links)
  })

  it("a resync is one trace from the loss to the install that ends it", async () => {
    const host = await until("the host namespace", () => findHostNamespace(key))
    await kubectl([
      ...["delete", "service", "vcluster", "--namespace", host],
      `--as=system:serviceaccount:${operatorNamespace}:platform-operator`,
    ])
    const trace = await traceWhere("the resync", (each) => rootOf(each)?.name === "Instance.resync")
    assertWholeTrace(trace)
    assert.strictEqual(rootOf(trace)?.tags["platforminstance.outcome"], "Ready")
    assert.isTrue(trace.spans.some(({ tags }) => tags["platforminstance.reason"] === "Resync"))
    await untilReady(key)
  })

  it("a deletion is the last change, and no trace tells a secret", async () => {
    secrets.push(
      Buffer.from(
        await kubectl([
          ...["get", "secret", "platform-operator-passphrase", "--namespace", operatorNamespace],
          "--output=jsonpath={.data.passphrase}",
        ]),
        "base64",
      ).toString("utf8"),
      ...[...(await readKubeconfig(key)).matchAll(/(?:key-data|token|password): *"?([^\s"]+)/g)].map(
        ([, value = ""]) => value,
      ),
    )
    await deleteInstance(key)
    const trace = await traceWhere(
      "the deletion",
      (each) => rootOf(each)?.tags["platforminstance.outcome"] === "Deleted",
    )
    assertWholeTrace(trace)
    assert.strictEqual(rootOf(trace)?.name, "Instance.change")
    assert.includeMembers([...namesOf(trace)], ["Deletion.observe", "Deletion.step", "Helm.uninstall"])
    const told = await everything()
    assert.isAtLeast(secrets.length, 3)
    for (const secret of secrets) {
      assert.isFalse(told.includes(secret))
      assert.isFalse(told.includes(Buffer.from(secret).toString("base64")))
    }
  })
})

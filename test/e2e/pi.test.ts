// `kubectl pi` on a real instance: what it says while it comes up, fails, is retried and goes, and to whom.
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { full } from "./support/Cluster.ts"
import {
  deleteInstance,
  editInstance,
  findHostNamespace,
  getInstance,
  type Key,
  manifest,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, kubectl } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { instanceState } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { buildPlugin, developerOf, inFolder, pi, startPi } from "./support/Plugin.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("plugin")

const key: Key = { namespace: "plugin-a", name: "one" }
const here = ["-n", key.namespace]
const json = async (command: string) => JSON.parse((await pi(command, "one", ...here, "-o", "json")).out)

interface Operation {
  readonly what: string
  readonly why: string
  readonly outcome: string
  readonly version?: string
  readonly reason?: string
  readonly message?: string
  readonly startedAt: string
  readonly endedAt?: string
  readonly changed: ReadonlyArray<string>
  readonly traceId?: string
}
const operations = async (): Promise<ReadonlyArray<Operation>> => (await json("history")).operations

describe("kubectl pi", () => {
  let developer = ""
  let stranger = ""

  beforeAll(async () => {
    buildPlugin()
    await createNamespace("plugin-a")
    await createNamespace("plugin-b")
    developer = await developerOf("plugin-a")
    stranger = await developerOf("plugin-b")
  })

  it("says what is waited for while the instance comes up, and that it is Ready when it is", async () => {
    await apply(manifest(key))
    const waiting = await until("it waits for something", async () => {
      const { waitingFor } = await json("status")
      return waitingFor?.since === undefined ? undefined : waitingFor
    })
    assert.isString(waiting.reason)
    assert.isNotEmpty(waiting.message)
    const early = await pi("status", "one", ...here, "--exit-code")
    if (early.exitCode !== 0) assert.strictEqual(early.exitCode, 3)
    await untilReady(key)
    const ready = await pi("status", "one", ...here, "--exit-code")
    assert.strictEqual(ready.exitCode, 0, ready.err)
    assert.match(ready.out, /Phase: +Ready/)
    assert.strictEqual(ready.out.match(/ passed$/gm)?.length, 6, ready.out)
    assert.notInclude(ready.out, "\u001b[")
    assert.isNull((await json("status")).waitingFor)
  })

  it("history has what was done, as the state directory keeps it", async () => {
    const all = await until("the install is told of", async () => {
      const found = await operations()
      return found.some(({ what, outcome }) => what === "install" && outcome === "succeeded")
        ? found
        : undefined
    })
    const [target] = all
    assert.include(target, { what: "install vCluster", outcome: "succeeded" })
    const install = all.find(({ what }) => what === "install")
    assert.include(install, { why: "FirstInstall", outcome: "succeeded", version: "6.0.22" })
    assert.isAbove(Date.parse(install?.endedAt ?? ""), Date.parse(install?.startedAt ?? ""))
    assert.isNotEmpty(install?.changed)
    // The tests' operator traces.
    assert.match(install?.traceId ?? "", /^[0-9a-f]{32}$/)
    const state = await instanceState(key.namespace, key.name)
    const file = join(state.root, "history.json")
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    assert.deepStrictEqual(JSON.parse(readFileSync(file, "utf8")).operations.slice(0, all.length), all)
    const text = await pi("history", "one", ...here)
    assert.match(text.out, /install vCluster +.* succeeded/)
    assert.match(text.out, /install +FirstInstall +6\.0\.22 +\S+ +succeeded/)
  })

  it("events, logs and trace speak of this instance", async () => {
    const { events } = await json("events")
    assert.include(
      events.map(({ reason }: { readonly reason: string }) => reason),
      "FirstInstall",
    )
    const lines = (await pi("logs", "one", ...here, "-o", "json")).out.trim().split("\n")
    const about = lines.map((line) => JSON.parse(line))
    assert.isTrue(about.every(({ annotations }) => annotations.instance === "plugin-a/one"))
    assert.isTrue(
      about.some(({ message, annotations }) => message === "install step" && annotations.pass > 0),
    )
    assert.match((await pi("logs", "one", ...here)).out, /INFO +install step .*step=up/)
    const { traces } = await json("trace")
    const told = (await operations()).flatMap(({ traceId }) => traceId ?? [])
    for (const traceId of told) {
      assert.include(
        traces.map((each: { readonly traceId: string }) => each.traceId),
        traceId,
      )
    }
  })

  it("shows a history to who may read ConfigMaps in its namespace, and to nobody of another", async () => {
    const own = await pi("history", "one", ...here, "--kubeconfig", developer, "-o", "json")
    assert.strictEqual(own.exitCode, 0, own.err)
    assert.deepStrictEqual(JSON.parse(own.out).operations.length, (await operations()).length)
    for (const command of ["status", "history", "events", "trace", "logs"]) {
      const foreign = await pi(command, "one", ...here, "--kubeconfig", stranger)
      assert.strictEqual(foreign.exitCode, 1, command)
      assert.match(foreign.err, /forbidden/i, command)
      assert.strictEqual(foreign.out, "", command)
    }
    // Not by another way round either.
    const direct = await kubectl([
      ...["--kubeconfig", stranger, "get", "configmap", "one-history", "--namespace", key.namespace],
    ]).catch(String)
    assert.match(direct, /forbidden/i)
  })

  it("a kubeconfig goes to a file of one's own, and over a port until it is interrupted", async () => {
    const file = inFolder("one.kubeconfig")
    const written = await pi("kubeconfig", "one", ...here, "--file", file)
    assert.strictEqual(written.exitCode, 0, written.err)
    assert.strictEqual(written.out, "")
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    const host = (await findHostNamespace(key)) ?? assert.fail("it has a host namespace")
    assert.include(readFileSync(file, "utf8"), `https://vcluster.${host}.svc:443`)

    const forward = startPi("kubeconfig", "one", ...here, "--port-forward")
    const line = await until("it forwards", () => forward.lines[0])
    const temporary = line.replace("export KUBECONFIG=", "")
    assert.strictEqual(statSync(temporary).mode & 0o777, 0o600)
    assert.include(
      (await kubectl(["--kubeconfig", temporary, "get", "namespaces", "-o", "name"])).split("\n"),
      "namespace/wasmcloud",
    )
    assert.strictEqual(await forward.interrupt(), 130)
    assert.isFalse(existsSync(temporary))
  })

  // Two installs more.
  if (full)
    it("tells of a failure with its reason, and retries when it is asked to", async () => {
      await editInstance(key, { version: "6.0.99" })
      const failed = await until("the failure is told of", async () =>
        (await operations()).findLast(({ outcome }) => outcome === "failed"),
      )
      assert.include(failed, { what: "install", version: "6.0.99", reason: "InstallFailed" })
      assert.include(failed.message, "6.0.99")
      // The history is written before the status.
      await untilTrue("the status says so, too", async () => {
        const said = await pi("status", "one", ...here, "--exit-code")
        return said.exitCode === 3 && said.out.includes("Waiting for: InstallFailed")
      })
      await untilTrue("and an Event", async () =>
        (await pi("events", "one", ...here)).out.includes("InstallFailed"),
      )

      const before = (await getInstance(key)).metadata.annotations ?? {}
      const retried = await pi("retry", "one", ...here)
      assert.strictEqual(retried.exitCode, 0, retried.err)
      const name = "platform.di-framework.dev/reconcile-requested-at"
      assert.notStrictEqual((await getInstance(key)).metadata.annotations?.[name], before[name])
      await untilTrue("it is tried again", async () =>
        (await operations()).some(
          ({ startedAt, version }) => version === "6.0.99" && startedAt > failed.startedAt,
        ),
      )
      await editInstance(key, { version: "6.0.22" })
      await untilReady(key)
      await untilTrue(
        "the way back is told of",
        async () => (await operations()).at(-1)?.outcome === "succeeded",
      )
    })

  it("names the way out of each mistake, and ends with a code for it", async () => {
    const missing = await pi("status", "two", ...here)
    assert.strictEqual(missing.exitCode, 1)
    assert.match(missing.err, /not found[\s\S]*kubectl get pi --all-namespaces/)
    assert.strictEqual((await pi("status")).exitCode, 2)
    assert.strictEqual((await pi("kubeconfig", "one", ...here)).exitCode, 2)
    const help = await pi("history", "--help")
    assert.strictEqual(help.exitCode, 0)
    assert.include(help.out, "kubectl pi history")
  })

  it("the history goes with the instance", async () => {
    const state = await instanceState(key.namespace, key.name)
    await deleteInstance(key)
    await untilTrue(
      "the ConfigMap is gone",
      async () => !(await exists("configmap", "one-history", "--namespace", key.namespace)),
    )
    assert.isFalse(existsSync(state.root))
    await kubectl(["delete", "namespace", "plugin-a", "plugin-b", "--timeout=300s"])
  })
})

// The Headlamp plugin as a user has it, from an empty form to a running instance and to its end: the built bundle, in a
// browser, on the real cluster, beside the operator.
import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { KubeConfig } from "@kubernetes/client-node"
import { type Backend, startBackend } from "../headlamp-plugin/browser/Backend.ts"
import { startChromium, type User } from "../headlamp-plugin/browser/Chromium.ts"
import { installed } from "../headlamp-plugin/browser/Installed.ts"
import {
  button,
  field,
  fill,
  openCreate,
  openEdit,
  openInstance,
  picture,
} from "../headlamp-plugin/browser/Pages.ts"
import { makeUsers, removeUsers, type Tokens } from "../headlamp-plugin/browser/Users.ts"
import { untilReady } from "./support/Instance.ts"
import { exists, kubectl } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { untilTrue } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("headlamp-users")

const namespace = "headlamp-users"
const key = { namespace, name: "one" }
const path = `${namespace}/one`
const run = (args: ReadonlyArray<string>, input?: string) =>
  kubectl(args, input === undefined ? {} : { input })

let backend: Backend
let chromium: Awaited<ReturnType<typeof startChromium>>
let tokens: Tokens
const users: Array<User> = []

const signIn = async (who: keyof Tokens): Promise<User> => {
  const user = await chromium.signIn(backend.url, tokens[who])
  users.push(user)
  return user
}
const specOf = async () => JSON.parse(await kubectl(["get", "pi", "one", "-n", namespace, "-o", "json"])).spec

beforeAll(async () => {
  const plugin = installed()
  const kubeconfig = new KubeConfig()
  kubeconfig.loadFromFile(process.env.KUBECONFIG ?? "")
  tokens = await makeUsers(run, namespace)
  backend = await startBackend(plugin, kubeconfig.getCurrentCluster()?.server ?? "")
  chromium = await startChromium()
  // It may have to install and build everything first.
}, 3_600_000)

afterAll(async () => {
  await chromium?.close()
  await backend?.close()
  await kubectl(["delete", "pi", "--all", "-n", namespace, "--ignore-not-found", "--timeout=8m"])
  await removeUsers(run, namespace)
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found"])
})

describe("the Headlamp plugin beside the operator", () => {
  it("creates an instance with tenants, and shows how it becomes Ready", async () => {
    const { page } = await signIn("editor")
    await openCreate(page, backend.url)
    await fill(page, { "metadata.name": "one", "metadata.namespace": namespace, "spec.version": "6.0.22" })
    await button(page, "Add tenant").click()
    await fill(page, { "spec.platform.tenants[0].name": "acme" })
    await button(page, "Create instance").click()
    await page.getByText("Conditions").first().waitFor()
    await untilReady(key)
    await page
      .getByText(/generation 1 \(tenants: 1, users: 0\)/)
      .first()
      .waitFor()
    await page.getByText("FirstInstall").first().waitFor()
    await picture(page, "detail")
  })

  it("edits a tenant, which the operator applies", async () => {
    const { page } = await signIn("editor")
    await openEdit(page, backend.url, path)
    await field(page, "spec.platform.tenants[0]").click()
    await fill(page, { "spec.platform.tenants[0].resources.memory": "512Mi" })
    await button(page, "Save").click()
    await page
      .getByText(/generation 2 \(tenants: 1, users: 0\)/)
      .first()
      .waitFor({ timeout: 540_000 })
  })

  it("refuses to overwrite what somebody else has changed", async () => {
    const { page } = await signIn("editor")
    await openEdit(page, backend.url, path)
    await fill(page, { "spec.platform.gateway.httpEndpoint": "http://apps.example" })
    const change = '[{"op":"add","path":"/spec/platform/tenants/-","value":{"name":"globex"}}]'
    await kubectl(["patch", "pi", "one", "-n", namespace, "--type=json", "--field-manager=ann", "-p", change])
    await button(page, "Save").click()
    const notice = page.locator("#conflict")
    await notice.waitFor()
    assert.match((await notice.textContent()) ?? "", /spec\.platform\.tenants\[1\].*ann at/)
    assert.isUndefined((await specOf()).platform.gateway)
    await button(page, "Reopen with my changes on top").click()
    await notice.waitFor({ state: "hidden" })
    await button(page, "Save").click()
    await page.getByText("Conditions").first().waitFor()
    const { platform } = await specOf()
    assert.strictEqual(platform.gateway.httpEndpoint, "http://apps.example")
    assert.deepStrictEqual(
      platform.tenants.map(({ name }: { name: string }) => name),
      ["acme", "globex"],
    )
  })

  it("shows a viewer of one namespace that nothing can be changed", async () => {
    const { page } = await signIn("viewer")
    await openCreate(page, backend.url)
    await fill(page, { "metadata.name": "two", "metadata.namespace": namespace })
    await button(page, "Create instance").click()
    await page.getByText("You do not have the right to do this.").waitFor()
    assert.isFalse(await exists("pi", "two", "-n", namespace))
  })

  it("gives an administrator the kubeconfig, and an editor without Secrets none", async () => {
    const { page } = await signIn("admin")
    await openInstance(page, backend.url, path)
    await button(page, "Show").click()
    await page.locator("#kubeconfig").getByText("clusters:").waitFor()
    const download = page.waitForEvent("download")
    await button(page, "Download").click()
    const stored = await kubectl([
      "get",
      "secret",
      "one-kubeconfig",
      "-n",
      namespace,
      "-o",
      "jsonpath={.data.kubeconfig}",
    ])
    assert.isTrue(
      readFileSync(await (await download).path(), "utf8") === Buffer.from(stored, "base64").toString(),
      "what was downloaded is what the Secret holds",
    )
    const { page: other } = await signIn("editor")
    await openInstance(other, backend.url, path)
    await button(other, "Show").click()
    await other.getByText(`You may not read the Secret ${namespace}/one-kubeconfig.`).waitFor()
  })

  it("deletes it", async () => {
    const { page } = await signIn("editor")
    await openInstance(page, backend.url, path)
    await button(page, "Delete").click()
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click()
    await page.locator("#holdup").waitFor()
    await untilTrue("the instance is gone", async () => !(await exists("pi", "one", "-n", namespace)))
  })

  it("has asked nobody but the cluster, and had no error", () => {
    assert.deepStrictEqual(
      users.flatMap(({ strangers, errors }) => [...strangers, ...errors]),
      [],
    )
  })
})

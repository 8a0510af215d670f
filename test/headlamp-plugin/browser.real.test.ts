// The built plugin in a real browser, within Headlamp's own compiled library, against a real API server without a
// controller: what the operator would write is written by the test.
import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { parse } from "yaml"
import { condition, instance, namespace, ready, spec } from "./browser/Objects.ts"
import {
  button,
  field,
  fill,
  helpOf,
  openCreate,
  openEdit,
  openInstance,
  openList,
  picture,
  preview,
} from "./browser/Pages.ts"
import { crdFile, type Session, startSession } from "./browser/Session.ts"

let session: Session
let { backend, kubectl, apply, setStatus, signIn } = {} as Session

const specOf = async (name: string) =>
  JSON.parse(await kubectl(["get", "pi", name, "--namespace", namespace, "-o", "json"])).spec
const secretText = "kind: Config # planted-kubeconfig größe\n"

/** Runs in the page: types 20 letters into a field and gives the median time until each is to be seen. */
const typeLetters = async (id: string): Promise<number> => {
  const input = document.getElementById(id)
  if (!(input instanceof HTMLInputElement)) throw new Error(`there is no ${id}`)
  const setValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set
  const times: Array<number> = []
  for (let i = 0; i < 20; i++) {
    const begun = performance.now()
    setValue?.call(input, `6.0.${i}`)
    input.dispatchEvent(new Event("input", { bubbles: true }))
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
    times.push(performance.now() - begun)
    if (input.value !== `6.0.${i}`) throw new Error(`the field shows ${input.value}`)
  }
  times.sort((a, b) => a - b)
  return times[10] ?? 0
}

/** Runs in the page: milliseconds since the answer to the list of instances. */
const sinceList = (): number => {
  const [list] = performance
    .getEntriesByType("resource")
    .filter(({ name }) => name.includes("platforminstances") && !name.includes("watch"))
  if (!(list instanceof PerformanceResourceTiming)) throw new Error("nothing was listed")
  return performance.now() - list.responseEnd
}

beforeAll(async () => {
  session = await startSession()
  ;({ backend, kubectl, apply, setStatus, signIn } = session)
  // It may have to install and build everything first.
}, 3_600_000)

afterAll(() => session?.close())

describe("the plugin in a browser", () => {
  it("says that the CRD is not installed where it is not", async () => {
    const { page } = await signIn("admin")
    await openList(page, backend.url)
    await page.getByText(/the CRD platforminstances.platform.di-framework.dev is not installed/).waitFor()
    await session.installCrd()
  })

  it("creates what its form shows, once that is in order", async () => {
    const { page } = await signIn("editor")
    await openCreate(page, backend.url)
    await fill(page, { "metadata.name": "One", "metadata.namespace": namespace, "spec.version": "latest" })
    await button(page, "Create instance").click()
    await page.locator("#problems").waitFor()
    assert.match((await helpOf(page, "spec.version").textContent()) ?? "", /must be a full version/)
    assert.match((await helpOf(page, "metadata.name").textContent()) ?? "", /lower-case letters/)
    assert.notMatch(backend.passed.join("\n"), /POST .*platforminstances/)

    await fill(page, {
      "metadata.name": "one",
      "spec.version": "6.0.21",
      "spec.platform.gateway.httpNodePort": "30080",
    })
    await button(page, "Add tenant").click()
    await fill(page, {
      "spec.platform.tenants[0].name": "acme",
      "spec.platform.tenants[0].resources.cpu": "500m",
    })
    await button(page, "Add tenant").click()
    await fill(page, { "spec.platform.tenants[1].name": "globex" })
    await button(page, "Add user").click()
    await fill(page, { "spec.platform.users[0].name": "dev" })
    await button(page, "Add membership").click()
    await field(page, "spec.platform.users[0].memberships[0].role").selectOption("developer")
    await picture(page, "create")
    const shown = parse(await preview(page, "Show YAML"))
    await button(page, "Create instance").click()
    await page.getByText("Conditions").first().waitFor()

    const posted = backend.sent.find(({ request }) => /^POST .*\/platforminstances\?/.test(request))
    assert.deepStrictEqual(JSON.parse(posted?.body ?? ""), shown)
    assert.deepStrictEqual(await specOf("one"), {
      ...spec,
      platform: {
        networkPolicyEngine: "existing",
        gateway: { httpNodePort: 30080 },
        tenants: [{ name: "acme", resources: { cpu: "500m" } }, { name: "globex" }],
        users: [{ name: "dev", memberships: [{ tenant: "acme", role: "developer" }] }],
      },
    })
  })

  it("shows a new instance without a status, and each change of it as it comes", async () => {
    const { page } = await signIn("admin")
    await openList(page, backend.url)
    await page.getByRole("link", { name: "one" }).waitFor()
    assert.isAtLeast(await page.getByText("Not yet").count(), 2)
    await setStatus("one", {
      phase: "Installing",
      conditions: [condition("Ready", "False", "Installing", "")],
    })
    await page.getByText("False: Installing").waitFor()
    await setStatus("one", ready)
    await page.getByText("False: Installing").waitFor({ state: "hidden" })
    await kubectl([
      "patch",
      "pi",
      "one",
      `--namespace=${namespace}`,
      "--type=merge",
      "-p",
      '{"spec":{"version":"6.0.22"}}',
    ])
    await page.getByText("6.0.21 → 6.0.22").waitFor()
    await picture(page, "list")
    await openInstance(page, backend.url, `${namespace}/one`)
    await page.getByText("ready at 6.0.21", { exact: true }).waitFor()
    await page.getByText("generation 1 (tenants: 2, users: 1)").first().waitFor()
    await page.getByText("There is no Event about it.").waitFor()
    const uid = await kubectl([
      "get",
      "pi",
      "one",
      `--namespace=${namespace}`,
      "-o",
      "jsonpath={.metadata.uid}",
    ])
    await apply({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "one.1", namespace },
      eventTime: "2026-11-03T10:00:00.000000Z",
      type: "Normal",
      reason: "FirstInstall",
      note: "installed 6.0.21 with two tenants",
      action: "Install",
      reportingController: "platform-operator",
      reportingInstance: "x",
      regarding: {
        apiVersion: "platform.di-framework.dev/v1alpha1",
        kind: "PlatformInstance",
        name: "one",
        namespace,
        uid,
      },
    })
    await page.getByText("installed 6.0.21 with two tenants").waitFor()
    await picture(page, "detail")
  })

  it("edits by a patch of what was changed, whatever happens to the status meanwhile", async () => {
    const { page } = await signIn("editor")
    await openEdit(page, backend.url, `${namespace}/one`)
    assert.isTrue(await field(page, "spec.target.type").isDisabled())
    assert.isTrue(await field(page, "spec.platform.storageRoot").isDisabled())
    await field(page, "spec.platform.tenants[1]").click()
    await fill(page, { "spec.platform.tenants[1].runtime.replicas": "3" })
    await setStatus("one", { observedGeneration: 2 })
    const shown = JSON.parse(await preview(page, "Show patch"))
    await picture(page, "edit")
    await button(page, "Save").click()
    await page.getByText("Conditions").first().waitFor()
    const patched = backend.sent.filter(({ request }) => request.startsWith("PATCH")).at(-1)
    assert.strictEqual(patched?.type, "application/json-patch+json")
    assert.deepStrictEqual(JSON.parse(patched?.body ?? ""), shown)
    assert.deepStrictEqual(
      shown.map(({ op, path }: { op: string; path: string }) => `${op} ${path}`),
      ["test /metadata/uid", "test /metadata/generation", "add /spec/platform/tenants/1/runtime"],
    )
    assert.strictEqual((await specOf("one")).platform.tenants[1].runtime.replicas, 3)
  })

  it("overwrites nobody's change: it says what was changed and by whom, and goes on from there", async () => {
    const { page } = await signIn("editor")
    await openEdit(page, backend.url, `${namespace}/one`)
    await fill(page, { "spec.platform.gateway.httpEndpoint": "http://apps.example:30080" })
    await kubectl([
      "patch",
      "pi",
      "one",
      `--namespace=${namespace}`,
      "--field-manager=ann",
      "--type=json",
      "-p",
      '[{"op":"add","path":"/spec/platform/tenants/0/suspended","value":true}]',
    ])
    await button(page, "Save").click()
    const notice = page.locator("#conflict")
    await notice.waitFor()
    assert.match((await notice.textContent()) ?? "", /spec\.platform\.tenants\[0\]\.suspended—trueann at /)
    assert.isUndefined((await specOf("one")).platform.gateway.httpEndpoint)
    assert.strictEqual(
      await field(page, "spec.platform.gateway.httpEndpoint").inputValue(),
      "http://apps.example:30080",
    )
    await picture(page, "conflict")
    await button(page, "Reopen with my changes on top").click()
    await notice.waitFor({ state: "hidden" })
    await button(page, "Save").click()
    await page.getByText("Conditions").first().waitFor()
    const { platform } = await specOf("one")
    assert.strictEqual(platform.gateway.httpEndpoint, "http://apps.example:30080")
    assert.isTrue(platform.tenants[0].suspended)
  })

  it("shows a viewer what there is, and in the form why nothing can be changed", async () => {
    const { page } = await signIn("viewer")
    await openInstance(page, backend.url, `${namespace}/one`)
    await page.getByText("You may not see Events here.").waitFor()
    assert.strictEqual(await button(page, "Delete").count(), 0)
    assert.strictEqual(await page.getByRole("link", { name: "Edit", exact: true }).count(), 0)
    await openCreate(page, backend.url)
    await fill(page, { "metadata.name": "two", "metadata.namespace": namespace })
    await button(page, "Create instance").click()
    await page.getByText("You do not have the right to do this.").waitFor()
    assert.strictEqual(await field(page, "metadata.name").inputValue(), "two")
    await openList(page, backend.url)
    await page.getByText(/You may not list PlatformInstances in all namespaces/).waitFor()
    await picture(page, "forbidden")
    // As Headlamp's settings of the cluster write it.
    await page.evaluate(
      (allowed) => localStorage.setItem("cluster_settings.main", allowed),
      `{"allowedNamespaces":["${namespace}"]}`,
    )
    await openList(page, backend.url)
    await page.getByRole("link", { name: "one" }).waitFor()
  })

  it("shows what the server refuses beside its field: here one that it does not know", async () => {
    const older = readFileSync(crdFile, "utf8").replace(
      /\btenantHostImage:\n\s+type: string\n\s+description: What/u,
      "tenantHostPicture:\n                      type: string\n                      description: What",
    )
    assert.include(older, "tenantHostPicture")
    await kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], older)
    const { page } = await signIn("admin")
    await openCreate(page, backend.url)
    await fill(page, {
      "metadata.name": "two",
      "metadata.namespace": namespace,
      "spec.platform.tenantHostImage": "wash:2",
    })
    await button(page, "Create instance").click()
    await page.locator("#refusal").waitFor()
    assert.match((await helpOf(page, "spec.platform.tenantHostImage").textContent()) ?? "", /unknown field/)
    await picture(page, "refusal")
    await session.installCrd()
  })

  it("reads the kubeconfig only when asked, with the user's own rights, and keeps it nowhere", async () => {
    await apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "one-kubeconfig", namespace },
      data: { kubeconfig: Buffer.from(secretText).toString("base64") },
    })
    const asked = () => backend.passed.filter((request) => request.includes("/secrets"))
    const before = asked().length
    const { page } = await signIn("admin")
    await openInstance(page, backend.url, `${namespace}/one`)
    const box = page.locator("#kubeconfig")
    await box.waitFor()
    assert.strictEqual(asked().length, before)
    await button(page, "Show").click()
    await box.getByText("planted-kubeconfig größe").waitFor()
    assert.deepStrictEqual(asked().slice(before), [
      `GET /api/v1/namespaces/${namespace}/secrets/one-kubeconfig`,
    ])
    const download = page.waitForEvent("download")
    await button(page, "Download").click()
    assert.strictEqual(readFileSync(await (await download).path(), "utf8"), secretText)
    const kept = await page.evaluate(
      () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]),
      null,
    )
    assert.notInclude(kept, "planted-kubeconfig")
    await button(page, "Hide").click()
    assert.notInclude(await page.content(), "planted-kubeconfig")
    await button(page, "Show").click()
    await box.getByText("planted-kubeconfig").waitFor()
    await page.getByRole("link", { name: "Edit", exact: true }).click()
    await field(page, "spec.version").waitFor()
    await page.goBack()
    await button(page, "Show").waitFor()
    assert.notInclude(await page.content(), "planted-kubeconfig")

    const { page: other } = await signIn("editor")
    await openInstance(other, backend.url, `${namespace}/one`)
    await button(other, "Show").click()
    await other.getByText(`You may not read the Secret ${namespace}/one-kubeconfig.`).waitFor()
  })

  it("says before a deletion what goes and what stays, and while it waits how to get out", async () => {
    await kubectl([
      "patch",
      "pi",
      "one",
      `--namespace=${namespace}`,
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":["platform.di-framework.dev/instance"]}}',
    ])
    const { page } = await signIn("editor")
    await openInstance(page, backend.url, `${namespace}/one`)
    await button(page, "Delete").click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("its default storage root on the node, with all tenant data").waitFor()
    await picture(page, "delete")
    await dialog.getByRole("button", { name: "Delete", exact: true }).click()
    const holdup = page.locator("#holdup")
    await holdup.waitFor()
    await setStatus("one", {
      phase: "Deleting",
      conditions: [
        condition("Ready", "False", "WaitingForStorageCleanup", "job pi-storage-cleanup-x is running"),
      ],
    })
    await holdup.getByText("job pi-storage-cleanup-x is running").waitFor()
    await holdup.getByText(/skip-storage-cleanup=true/).waitFor()
    await picture(page, "deleting")
    await kubectl([
      "patch",
      "pi",
      "one",
      `--namespace=${namespace}`,
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":null}}',
    ])
  })

  it("does not lag behind who types in the largest form there can be", async () => {
    const tenants = Array.from({ length: 32 }, (_, i) => ({ name: `tenant-${i}` }))
    const memberships = tenants.slice(0, 16).map(({ name }) => ({ tenant: name, role: "viewer" }))
    const people = Array.from({ length: 128 }, (_, i) => ({ name: `user-${i}`, memberships }))
    await apply(instance("small"))
    await apply(instance("large", { platform: { tenants, users: people } }))
    const { page } = await signIn("editor")
    /** Milliseconds from a letter to the picture with it, in the middle of many. */
    const perLetter = async (name: string) => {
      await openEdit(page, backend.url, `${namespace}/${name}`)
      return page.evaluate(typeLetters, "spec.version")
    }
    await perLetter("small")
    const [small, large] = [await perLetter("small"), await perLetter("large")]
    const ratio = large / small
    console.log(
      `a letter takes ${small.toFixed(1)} ms in an empty form, ${large.toFixed(1)} ms in the largest: ${ratio.toFixed(2)} times as long`,
    )
    assert.isBelow(ratio, 5)
  })

  it("lists a thousand instances by one request, and not much later than a few", async () => {
    const { page, requests } = await signIn("admin")
    /** Milliseconds from the list's data to its links on the page; the better of two. */
    const afterData = async (name: RegExp) => {
      const times: Array<number> = []
      for (let i = 0; i < 2; i++) {
        const before = requests.length
        await openList(page, backend.url)
        await page.getByRole("link", { name }).first().waitFor()
        times.push(await page.evaluate(sinceList, null))
        const lists = requests
          .slice(before)
          .filter((request) => /platforminstances(\?(?!.*watch)|$)/.test(request))
        assert.lengthOf(lists, 1, lists.join("\n"))
      }
      return Math.min(...times)
    }
    const few = await afterData(/^small$/)
    const items = Array.from({ length: 1000 }, (_, i) => instance(`many-${i}`))
    await kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }))
    const many = await afterData(/^many-/)
    const ratio = many / few
    console.log(
      `a thousand instances are on the page ${many.toFixed(0)} ms after their data, two ${few.toFixed(0)} ms: ${ratio.toFixed(2)} times as long`,
    )
    assert.isBelow(ratio, 10)
  })

  it("has asked nobody but the cluster, and had no error", () => session.assertQuiet(8))
})

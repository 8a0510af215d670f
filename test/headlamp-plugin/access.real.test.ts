// The plugin for everybody: whatever the cluster has and the user may, in both colours, with a screen reader, and by the
// keyboard alone. In a browser, as in browser.real.test.ts.
import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { parse } from "yaml"
import { controlsOf, measure, nameless, tabTo, wrongFieldsOf } from "./browser/Accessible.ts"
import type { Colours, User } from "./browser/Chromium.ts"
import { condition, instance, namespace, ready } from "./browser/Objects.ts"
import {
  button,
  field,
  fill,
  openCreate,
  openEdit,
  openInstance,
  openList,
  openPath,
  picture,
} from "./browser/Pages.ts"
import { crdFile, type Session, startSession } from "./browser/Session.ts"

let session: Session
let url: string
const key = (name: string) => `${namespace}/${name}`

beforeAll(async () => {
  session = await startSession()
  url = session.backend.url
  // It may have to install and build everything first.
}, 3_600_000)

afterAll(() => session?.close())

describe("a cluster without the CRD", () => {
  it("is shown as that on the pages of one instance, and in the form", async () => {
    const { page } = await session.signIn("admin")
    const notInstalled = /CRD platforminstances.platform.di-framework.dev is not installed/
    for (const path of [`/${key("one")}`, `/${key("one")}/edit`]) {
      await openPath(page, url, path)
      await page.getByText(notInstalled).waitFor()
    }
    await openCreate(page, url)
    await fill(page, { "metadata.name": "one", "metadata.namespace": namespace })
    await button(page, "Create instance").click()
    await page.getByText(/or the cluster has no PlatformInstances/).waitFor()
  })
})

/** The CRD of another release: it lacks fields of this one, and takes a status of any shape. */
const otherCrd = () => {
  const crd = parse(readFileSync(crdFile, "utf8"))
  const { spec, status } = crd.spec.versions[0].schema.openAPIV3Schema.properties
  for (const name of ["target", "deletionPolicy"]) delete spec.properties[name]
  for (const name of ["tenantAuth", "users", "gateway"]) delete spec.properties.platform.properties[name]
  delete spec.properties.platform["x-kubernetes-validations"]
  delete spec["x-kubernetes-validations"]
  spec.required = ["version"]
  delete status.properties
  status["x-kubernetes-preserve-unknown-fields"] = true
  return crd
}

const statuses: Readonly<Record<string, object | null>> = {
  none: null,
  nothing: { conditions: null, endpoints: null, applied: null, target: null },
  later: {
    phase: "Hibernating",
    conditions: [
      condition("Ready", "False", "Asleep", "woken by a request"),
      condition("Warm", "True", "Sunny", "it is warm"),
      { type: "Bare" },
      null,
    ],
  },
  odd: { phase: 7, conditions: "none", observedGeneration: "x", endpoints: [], applied: "all of it" },
}

describe("the CRD of another release", () => {
  it("has instances of any status, each with its page and its form", async () => {
    await session.apply(otherCrd())
    await session.kubectl([
      "wait",
      "--for=condition=Established",
      "crd/platforminstances.platform.di-framework.dev",
    ])
    for (const [name, status] of Object.entries(statuses)) {
      const { spec: _, ...object } = instance(name)
      await session.apply({ ...object, spec: { version: "6.0.21" } })
      if (status === null) continue
      // Not by a merge patch, in which null takes away.
      await session.kubectl([
        "patch",
        "pi",
        name,
        `--namespace=${namespace}`,
        "--subresource=status",
        "--type=json",
        "-p",
        JSON.stringify([{ op: "add", path: "/status", value: status }]),
      ])
    }
    const stored = await session.kubectl(["get", "pi", "nothing", `--namespace=${namespace}`, "-o", "json"])
    assert.isNull(JSON.parse(stored).status.conditions)

    const { page, leave } = await session.signIn("admin")
    await openList(page, url)
    for (const name of Object.keys(statuses)) await page.getByRole("link", { name, exact: true }).waitFor()
    await page.getByText("Hibernating (unknown to this plugin)").waitFor()
    await page.getByText("False: Asleep").waitFor()
    // Not by the links: Headlamp may close a watch that is being opened, and tells of it as of an error.
    for (const name of Object.keys(statuses)) {
      await openInstance(page, url, key(name))
      await page.getByText("Kubeconfig").first().waitFor()
      if (name === "later") {
        await page.getByText("woken by a request", { exact: true }).waitFor()
        await page.getByText("it is warm", { exact: true }).waitFor()
      } else await page.getByText("The operator has reported nothing yet.").waitFor()
    }
    await openEdit(page, url, key("later"))
    await fill(page, { "spec.version": "6.0.22" })
    assert.strictEqual(await field(page, "spec.version").inputValue(), "6.0.22")
    await leave()
  })

  it("gives way to this one", async () => {
    await session.kubectl(["delete", "pi", "--all", `--namespace=${namespace}`])
    await session.kubectl(["delete", "crd", "platforminstances.platform.di-framework.dev"])
    await session.installCrd()
    await session.apply(
      instance("one", {
        platform: {
          tenants: [{ name: "acme", suspended: true }, { name: "globex" }],
          users: [{ name: "dev", memberships: [{ tenant: "acme", role: "developer" }] }],
        },
      }),
    )
    await session.setStatus("one", ready)
  })
})

describe("somebody without any right", () => {
  it("is told so on every page, and loses nothing in the form", async () => {
    const { page } = await session.signIn("stranger")
    await openList(page, url)
    await page.getByText(/You may not list PlatformInstances in all namespaces/).waitFor()
    for (const path of [`/${key("one")}`, `/${key("one")}/edit`]) {
      await openPath(page, url, path)
      await page.getByText(`You may not see the instance ${key("one")}.`).waitFor()
    }
    await openCreate(page, url)
    await fill(page, { "metadata.name": "two", "metadata.namespace": namespace })
    await button(page, "Create instance").click()
    await page.getByText("You do not have the right to do this.").waitFor()
    assert.strictEqual(await field(page, "metadata.name").inputValue(), "two")
  })

  it("and who asks for an instance that is not there, that it is not", async () => {
    const { page } = await session.signIn("viewer")
    for (const path of [`/${key("gone")}`, `/${key("gone")}/edit`]) {
      await openPath(page, url, path)
      await page.getByText(`There is no instance ${key("gone")}.`).waitFor()
    }
  })
})

/** Every text can be read, and all that can be used says what it is. */
const assertAccessible = async (user: User, what: string) => {
  const { violations, contrasts } = await measure(user.page)
  assert.deepStrictEqual(violations, [], what)
  const controls = await controlsOf(user)
  assert.deepStrictEqual(await nameless(user, controls), [], what)
  console.log(
    `${what}: ${controls.length} controls; contrast of ${contrasts.length} texts, least ${Math.min(...contrasts)}`,
  )
  assert.isAtLeast(contrasts.length, 5)
  return controls
}

describe.each<Colours>(["light", "dark"])("in %s colours", (colours) => {
  it("the list and an instance can be read, and say what is what", async () => {
    const user = await session.signIn("admin", colours)
    const { page } = user
    await openList(page, url)
    await page.getByRole("link", { name: "one", exact: true }).waitFor()
    const listed = await assertAccessible(user, `list, ${colours}`)
    assert.includeMembers(
      listed.map(({ role, name }) => `${role} ${name}`),
      ["link one", "link Create instance"],
    )
    await openInstance(page, url, key("one"))
    await button(page, "Show").waitFor()
    await page.getByText("There is no Event about it.").waitFor()
    if (colours === "dark") await picture(page, "detail-dark")
    const seen = await assertAccessible(user, `detail, ${colours}`)
    assert.includeMembers(
      seen.map(({ role, name }) => `${role} ${name}`),
      ["button Show", "button Download", "button Delete", "link Edit", "link About Ready"],
    )
    await button(page, "Delete").click()
    await page.getByRole("dialog").waitFor()
    await assertAccessible(user, `deletion, ${colours}`)
  })

  it("a form with mistakes can be read, and says what is wrong with which field", async () => {
    const user = await session.signIn("editor", colours)
    const { page } = user
    await openCreate(page, url)
    await fill(page, { "metadata.name": "One", "spec.version": "latest" })
    await button(page, "Add tenant").click()
    await fill(page, { "spec.platform.tenants[0].name": "Acme" })
    await button(page, "Add user").click()
    await button(page, "Add membership").click()
    await button(page, "Create instance").click()
    await page.locator("#problems").waitFor()
    const controls = await assertAccessible(user, `form, ${colours}`)
    const wrong = controls.filter(({ invalid }) => invalid)
    assert.includeMembers(
      wrong.map(({ name }) => name.replace(/[\s*]+$/, "")),
      ["Name", "Namespace", "Platform version"],
    )
    for (const { name, description } of wrong) assert.match(description, /\bmust\b|is required/, name)
    const fields = await wrongFieldsOf(page)
    assert.isAtLeast(fields.length, wrong.length)
    for (const { id, roles } of fields) assert.include(roles, "alert", id)
    assert.strictEqual(await page.locator("#problems[role=alert]").count(), 1)
  })

  it("what the cluster says against an edit can be read", async () => {
    const user = await session.signIn("editor", colours)
    const { page } = user
    await openEdit(page, url, key("one"))
    await fill(page, { "spec.platform.gateway.httpEndpoint": `http://${colours}.example` })
    await session.kubectl([
      "patch",
      "pi",
      "one",
      `--namespace=${namespace}`,
      "--type=merge",
      "-p",
      JSON.stringify({ spec: { version: colours === "dark" ? "6.0.20" : "6.0.22" } }),
    ])
    await button(page, "Save").click()
    await page.locator("#conflict[role=alert]").waitFor()
    await assertAccessible(user, `conflict, ${colours}`)
  })
})

describe("the keyboard alone", () => {
  it("fills in the whole form and sends it", async () => {
    const { page } = await session.signIn("editor")
    await openCreate(page, url)
    const type = async (id: string, text: string) => {
      await tabTo(page, id)
      await page.keyboard.type(text)
    }
    const push = async (name: string) => {
      await tabTo(page, name)
      await page.keyboard.press("Enter")
    }
    await type("metadata.name", "By-hand")
    await page.keyboard.press("Enter")
    // What is wrong gets the focus, to be typed over.
    await page.locator("#problems").waitFor()
    assert.strictEqual(await page.evaluate(() => document.activeElement?.id, null), "metadata.name")
    await page.keyboard.press("Control+A")
    await page.keyboard.type("by-hand")
    await type("metadata.namespace", namespace)
    await type("spec.version", "6.0.21")
    await tabTo(page, "spec.deletionPolicy")
    await page.keyboard.type("R")
    await type("spec.platform.gateway.httpNodePort", "30081")
    await push("Add tenant")
    await type("spec.platform.tenants[0].name", "acme")
    await tabTo(page, "spec.platform.tenants[0].suspended")
    await page.keyboard.press("Space")
    await push("Add user")
    await type("spec.platform.users[0].name", "dev")
    await push("Add membership")
    await page.keyboard.press("Shift+Tab")
    await push("Show YAML")
    await page.locator("#preview").waitFor()
    await page.keyboard.press("Escape")
    await page.locator("#preview").waitFor({ state: "hidden" })
    await push("Create instance")
    await page.getByText("The operator has reported nothing yet.").waitFor()
    const stored = await session.kubectl(["get", "pi", "by-hand", `--namespace=${namespace}`, "-o", "json"])
    const { version, deletionPolicy, platform } = JSON.parse(stored).spec
    assert.deepStrictEqual([version, deletionPolicy], ["6.0.21", "Retain"])
    assert.deepStrictEqual(platform.gateway, { httpNodePort: 30081 })
    assert.deepStrictEqual(platform.tenants, [{ name: "acme", suspended: true }])
    assert.deepStrictEqual(
      platform.users.map(({ name, memberships }: { name: string; memberships: Array<object> }) => [
        name,
        memberships.length,
      ]),
      [["dev", 1]],
    )
  })
})

describe("all of these pages", () => {
  it("have asked nobody but the cluster, and had no error", () => session.assertQuiet(9))
})

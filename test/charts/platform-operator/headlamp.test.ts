// Headlamp's chart inside the operator's: a stand-in of its name and version records what it is given.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { find, lint, render, renderFailure } from "../helm.ts"

const digest = `sha256:${"0123456789abcdef".repeat(4)}`
const needed = { passphrase: { existingSecret: "mine" } }
const folder = mkdtempSync(path.join(tmpdir(), "chart-"))
let archive = ""

beforeAll(() => {
  archive = execFileSync("tools/chart", [folder], {
    encoding: "utf8",
    env: { ...process.env, HEADLAMP_CHART: "test/charts/headlamp", IMAGE_DIGEST: digest },
  }).trim()
})
afterAll(() => rmSync(folder, { recursive: true }))

const valuesOf = (headlamp: object): unknown => {
  const { data } = find(render(archive, { values: { ...needed, headlamp } }), "ConfigMap", "headlamp-values")
  return JSON.parse(String(Reflect.get(Object(data), "values")))
}

describe("the packaged chart", () => {
  it("carries the digest of its image, and has nothing that the linter objects to", () => {
    const container = JSON.stringify(find(render(archive, { values: needed }), "Deployment"))
    expect(container).toContain(`ghcr.io/di-framework/platform-operator@${digest}`)
    expect(lint(archive, { ...needed, headlamp: { enabled: true } })).toBe("")
  })

  it("leaves Headlamp out until it is asked for", () => {
    const kinds = render(archive, { values: needed }).map(({ kind }) => kind)
    expect(kinds).not.toContain("ConfigMap")
  })

  it("gives Headlamp its plugin, at the operator's version, and the watch that serves it", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"))
    expect(valuesOf({ enabled: true })).toMatchObject({
      config: { watchPlugins: true },
      pluginsManager: {
        enabled: true,
        configContent: expect.stringMatching(
          new RegExp(`name: di-framework-platform\\n.*\\n +version: ${version.replaceAll(".", "\\.")}\\n`),
        ),
      },
    })
  })

  it("passes everything else on", () => {
    const given = { enabled: true, service: { type: "NodePort" }, config: { baseURL: "/ui" } }
    expect(valuesOf(given)).toMatchObject({
      service: { type: "NodePort" },
      config: { baseURL: "/ui", watchPlugins: true },
    })
  })
})

describe("a chart without Headlamp's", () => {
  it("says in one sentence what to do when Headlamp is asked for", () => {
    const values = { ...needed, image: { digest }, headlamp: { enabled: true } }
    const said = renderFailure("charts/platform-operator", { values })
    expect(said).toContain(
      "headlamp.enabled: this copy of the chart does not carry the Headlamp chart 0.46.0.",
    )
    // helm puts where it was said before it, and how to look into it after it.
    expect(said.match(/headlamp/g)).toHaveLength(1)
  })
})

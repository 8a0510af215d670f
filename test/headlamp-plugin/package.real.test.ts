// The archive that a release publishes: the same bytes each time, and such that pluginctl, as it is, installs it.
import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { parse } from "yaml"
import { type Built, build } from "./browser/Installed.ts"

const repository = join(import.meta.dirname, "../..")
const work = mkdtempSync(join(tmpdir(), "plugin-package-"))
const sha256 = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex")

let first: Built
let second: Built

beforeAll(() => {
  first = build(join(work, "first"))
  rmSync(join(repository, "headlamp-plugin/dist/.built"))
  second = build(join(work, "second"))
  // It may have to install and build everything first.
}, 3_600_000)
afterAll(() => rmSync(work, { recursive: true, force: true }))

describe("the archive", () => {
  it("has the same bytes when it is built again", () => {
    assert.match(first.sha256, /^[0-9a-f]{64}$/)
    assert.strictEqual(second.sha256, first.sha256)
    assert.strictEqual(sha256(first.archive), first.sha256)
  })

  it("is one folder with what Headlamp loads", () => {
    const files = execFileSync("tar", ["-tzf", first.archive], { encoding: "utf8" }).trim().split("\n")
    assert.sameMembers(
      files,
      ["main.js", "package.json", "locales/en/translation.json"].map(
        (file) => `di-framework-platform/${file}`,
      ),
    )
  })

  it("is of the platform's version, and described with its own checksum", () => {
    const { platformVersion } = JSON.parse(readFileSync(join(repository, "release.json"), "utf8"))
    const described = parse(readFileSync(join(work, "first/artifacthub-pkg.yml"), "utf8"))
    assert.strictEqual(described.version, platformVersion)
    assert.strictEqual(described.annotations["headlamp/plugin/archive-checksum"], `SHA256:${first.sha256}`)
    assert.strictEqual(
      described.annotations["headlamp/plugin/archive-url"],
      `https://github.com/di-framework/platform/releases/download/v${platformVersion}/di-framework-platform-${platformVersion}.tar.gz`,
    )
    assert.strictEqual(described.annotations["headlamp/plugin/version-compat"], ">=0.46")
  })

  it("asks for nothing outside of the cluster: its code names no other host but where the documentation is", () => {
    const code = execFileSync("tar", ["-xzOf", first.archive, "di-framework-platform/main.js"], {
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    })
    const hosts = new Set([...code.matchAll(/https?:\/\/([a-z0-9.-]+)/g)].map(([, host = ""]) => host))
    // Examples in the schema's words, and the documentation.
    assert.deepStrictEqual(
      [...hosts].filter((host) => !host.endsWith(".example") && host !== "apps.example").sort(),
      ["github.com"],
    )
  })
})

describe("pluginctl", () => {
  /** It ends with 0 either way: what counts is the folder. */
  const install = (archive: string, into: string) => {
    mkdirSync(into)
    const config = join(work, "plugin.yml")
    writeFileSync(
      config,
      "plugins:\n  - name: di-framework-platform\n    source: https://artifacthub.io/packages/headlamp/di-framework-platform/di-framework-platform\n    version: 6.0.22\n",
    )
    return spawnSync(
      process.execPath,
      [
        `--import=${join(import.meta.dirname, "browser/artifact-hub.mjs")}`,
        join(repository, "headlamp-plugin/node_modules/@headlamp-k8s/pluginctl/bin/pluginctl.js"),
        "install",
        "--config",
        config,
        "--folderName",
        into,
      ],
      {
        encoding: "utf8",
        env: {
          ...process.env,
          ARCHIVE: archive,
          METADATA: join(work, "first/artifacthub-pkg.yml"),
          HEADLAMP_CONFIG_DIR: work,
        },
      },
    )
  }

  it("installs it", () => {
    const into = join(work, "plugins")
    const { stdout, stderr } = install(first.archive, into)
    const folder = join(into, "di-framework-platform")
    assert.isTrue(existsSync(join(folder, "main.js")), stdout + stderr)
    assert.isTrue(existsSync(join(folder, "locales/en/translation.json")))
    const installed = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    assert.isTrue(installed.isManagedByHeadlampPlugin)
    assert.isDefined(installed.devDependencies["@kinvolk/headlamp-plugin"])
  })

  it("refuses one that was changed by a byte", () => {
    const changed = join(work, "changed.tar.gz")
    const bytes = readFileSync(first.archive)
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
    writeFileSync(changed, bytes)
    const into = join(work, "none")
    const { stdout, stderr } = install(changed, into)
    assert.match(stdout + stderr, /Checksum mismatch/)
    assert.isFalse(existsSync(join(into, "di-framework-platform")))
  })
})

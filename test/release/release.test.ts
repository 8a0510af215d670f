// What a release refuses to be made without. The making itself takes a built image: `make release`.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"

const { operatorVersion, tenantHostImageDigest, vcluster } = JSON.parse(readFileSync("release.json", "utf8"))
const release = (version: string, env: Readonly<Record<string, string>> = {}) => {
  const { status, stderr } = spawnSync("tools/release", [version], {
    encoding: "utf8",
    env: { ...process.env, HEADLAMP_CHART: "test/charts/headlamp", WAIVE: "", ...env },
  })
  return { status, said: stderr.trim().split("\n") }
}

describe("a release", () => {
  it("is of one version, everywhere", () => {
    const { status, said } = release("0.0.1", { WAIVE: "tenant-host-image,vcluster" })
    expect(status).toBe(1)
    for (const place of [
      "package.json",
      "release.json",
      "headlamp-plugin/package.json",
      "charts/platform-operator/Chart.yaml",
    ])
      expect(said).toContain(`release: ${place} says ${operatorVersion}, not 0.0.1`)
    expect(existsSync("dist/release/0.0.1")).toBe(false)
  })

  it("has all that it must have, or waives it by name", () => {
    // One of a version that is wrong is never made: here it is the rest that is looked at.
    const { said } = release("0.0.1")
    const unpinned = said.filter((line) => line.includes("WAIVE=tenant-host-image"))
    expect(unpinned).toHaveLength(tenantHostImageDigest === null ? 1 : 0)
    const module = readFileSync("tools/programs/vcluster/go.mod", "utf8")
    const ran = module.includes(`github.com/loft-sh/vcluster v${vcluster.chartVersion}`)
    expect(said.filter((line) => line.includes("WAIVE=vcluster"))).toHaveLength(ran ? 0 : 1)
    expect(said.filter((line) => line.includes("WAIVE=headlamp"))).toHaveLength(0)
    const waived = release("0.0.1", { WAIVE: "tenant-host-image,vcluster" }).said
    expect(waived.filter((line) => line.includes("(WAIVE="))).toEqual([])
  })

  it("knows what can be waived", () => {
    expect(release("0.0.1", { WAIVE: "tests" }).said).toContain("release: WAIVE: there is no tests to waive")
  })

  it("refuses a Headlamp of another version", () => {
    const { status, said } = release("0.0.1", { HEADLAMP_CHART: "charts/vcluster" })
    expect(status).toBe(1)
    expect(said.join("\n")).toMatch(/is Headlamp's chart 0\.37\.3, not 0\.46\.0/)
  })
})

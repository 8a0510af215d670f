// What the workflows are held to though none of them runs here: the order of a release, what each may do, how dependencies come.
import { execFileSync } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { parse } from "yaml"

interface Step {
  readonly name?: string
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, { readonly steps: ReadonlyArray<Step> }>>
}
const workflow = (name: string): Workflow => parse(readFileSync(`.github/workflows/${name}.yaml`, "utf8"))
const { jobs, permissions } = workflow("release")
const steps = jobs.release?.steps ?? []
const said = (step: Step) => `${step.uses ?? ""} ${step.run ?? ""}`
/** Where the steps stand that match; at least one does. */
const placesOf = (pattern: RegExp): ReadonlyArray<number> => {
  const places = steps.flatMap((step, index) => (pattern.test(said(step)) ? [index] : []))
  assert.isNotEmpty(places, String(pattern))
  return places
}
const first = (pattern: RegExp) => Math.min(...placesOf(pattern))
const last = (pattern: RegExp) => Math.max(...placesOf(pattern))

describe("the workflow of a release", () => {
  it("publishes nothing that has not been tested and scanned, nor a file before its signature", () => {
    const publishing = /skopeo copy|helm" push|gh release create/
    assert.isBelow(last(/make test/), first(publishing))
    assert.isBelow(last(/scan-action/), first(publishing))
    assert.isBelow(last(/cosign sign/), first(/gh release create/))
    assert.isBelow(last(/attest/), first(/gh release create/))
    const scan = steps[first(/scan-action/)]?.with
    assert.deepInclude(scan, { "severity-cutoff": "critical", "only-fixed": true, "fail-build": true })
  })

  it("signs and attests by digest, without a key", () => {
    for (const place of placesOf(/cosign sign /)) {
      const commands = (steps[place]?.run ?? "").split("\n").filter((line) => line.includes("cosign sign "))
      for (const command of commands)
        assert.match(command, /@\$\{\{ steps\.\w+\.outputs\.(digest|chart) \}\}/)
    }
    assert.notMatch(steps.map(said).join("\n"), /--key|COSIGN_(PRIVATE_KEY|PASSWORD)/)
    assert.strictEqual(permissions["id-token"], "write")
    assert.strictEqual(permissions.attestations, "write")
  })

  it("calls targets that there are", () => {
    const targets = new Set(
      [...readFileSync("Makefile", "utf8").matchAll(/^([a-z0-9-]+):/gm)].map(([, name]) => name),
    )
    const called = steps.flatMap(({ run = "" }) =>
      [...run.matchAll(/\bmake ([a-z-]+)/g)].map(([, name]) => name),
    )
    assert.isNotEmpty(called)
    for (const target of called) assert.isTrue(targets.has(target), target)
  })
})

const tracked = execFileSync("git", ["ls-files"], { encoding: "utf8" }).trim().split("\n")

describe("dependencies", () => {
  it("come as their locks say", () => {
    const files = tracked.filter(
      (file) => /^(\.ci|tools|\.github)\/|^Makefile$/.test(file) && !/\.(md|ts)$/.test(file),
    )
    assert.include(files, "tools/install-node")
    for (const file of files)
      assert.notMatch(readFileSync(file, "utf8"), /\bnpm (install|i|add|update)\b/, file)
  })

  it("are reviewed before a change is merged, by rights to read alone", () => {
    const { permissions: rights, jobs: review } = workflow("dependencies")
    assert.deepStrictEqual(rights, { contents: "read" })
    assert.match(review.review?.steps.map(said).join("\n") ?? "", /dependency-review-action/)
  })

  it("of each lock are looked for in new versions", () => {
    const { updates } = parse(readFileSync(".github/dependabot.yml", "utf8")) as {
      readonly updates: ReadonlyArray<Readonly<Record<string, unknown>>>
    }
    const folders = (ecosystem: string) =>
      updates
        .filter((update) => update["package-ecosystem"] === ecosystem)
        .flatMap(({ directories = [] }) => directories as ReadonlyArray<string>)
    for (const [ecosystem, lock] of [
      ["npm", "package-lock.json"],
      ["gomod", "go.mod"],
    ] as const) {
      const locks = globSync(`{,headlamp-plugin/,tools/**/}${lock}`, { exclude: ["**/node_modules/**"] })
      const covered = folders(ecosystem).flatMap((folder) => globSync(join(folder.slice(1), lock)))
      assert.deepStrictEqual(covered.toSorted(), locks.toSorted())
    }
  })
})

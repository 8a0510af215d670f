// The pages say what is so: links lead somewhere, generated parts are current, and nobody meets a reason, an annotation
// or a value that no page explains.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { describe, expect, it } from "vitest"
import { reasonUrl } from "../../src/cli/Documentation.ts"
import { conditionTypes, eventOnlyReasons, reasons } from "../../src/schema/Conditions.ts"
import * as Names from "../../src/schema/Names.ts"
import { Phase } from "../../src/schema/PlatformStatus.ts"
import { metricRows } from "../../src/services/Metrics/Table.ts"
import { generatedPartsOf } from "../../tools/docs/Markdown.ts"
import { currentPages, generatedParts } from "../../tools/docs/pages.ts"
import { pages } from "./Pages.ts"

const root = join(import.meta.dirname, "../..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** What a page says outside of its code. */
const prose = (page: string): string => read(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, "")

const linksOf = (page: string): ReadonlyArray<string> =>
  [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target)

/** As GitHub makes them of headings. */
const anchorsOf = (page: string): ReadonlySet<string> =>
  new Set(
    [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replaceAll(" ", "-"),
    ),
  )

/** Why a link leads nowhere, or nothing. Links out of the repository are not followed. */
const linkProblem = (page: string, link: string): string | undefined => {
  if (/^[a-z]+:/.test(link)) return undefined
  const [path = "", anchor] = link.split("#")
  const target = path === "" ? page : relative(root, join(root, dirname(page), path))
  if (!existsSync(join(root, target))) return `${page}: ${link}: there is no ${target}`
  if (anchor === undefined) return undefined
  return anchorsOf(target).has(anchor) ? undefined : `${page}: ${link}: ${target} has no such heading`
}

describe("a page", () => {
  it("links only to what is there", () => {
    expect(pages).toContain("docs/operate.md")
    expect(pages.flatMap((page) => linksOf(page).flatMap((link) => linkProblem(page, link) ?? []))).toEqual(
      [],
    )
  })

  it("names only files that are there", () => {
    const areas = ["src", "test", "tools", "charts", "crd", "docs", "examples", "headlamp-plugin"]
    const inPages = pages.filter((page) => !page.startsWith("headlamp-plugin/"))
    const named = inPages.flatMap((page) =>
      [...prose(page).matchAll(/`([\w./-]+)`/g)].flatMap(([, path = ""]) =>
        areas.includes(path.split("/")[0] ?? "") && path.includes("/") ? [[page, path] as const] : [],
      ),
    )
    expect(named.length).toBeGreaterThan(50)
    const places = (page: string, path: string) => [path, join(dirname(page), path)]
    expect(
      named.filter(([page, path]) => !places(page, path).some((place) => existsSync(join(root, place)))),
    ).toEqual([])
  })

  it("is read from the front page on", () => {
    const linked = new Set(
      pages.flatMap((page) => linksOf(page).map((link) => relative(root, join(root, dirname(page), link)))),
    )
    const docs = pages.filter((page) => page.startsWith("docs/"))
    expect(docs.filter((page) => ![...linked].some((link) => link.split("#")[0] === page))).toEqual([])
  })

  it("has its generated parts as they are now (npm run generate)", async () => {
    for (const [path, content] of await currentPages(root)) expect(read(path), path).toBe(content)
  })

  it("shows every part that is generated, once", async () => {
    const shown = [...(await currentPages(root)).values()].flatMap(generatedPartsOf)
    expect(shown.toSorted()).toEqual([...(await generatedParts(root)).keys()].toSorted())
  })
})

describe("what a user meets is explained:", () => {
  const reference = read("docs/reference.md")

  const sections = new Map(
    read("docs/reasons.md")
      .split(/^### /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf("\n")), section]),
  )
  const all = new Set<string>([
    ...conditionTypes.flatMap(
      (type): ReadonlyArray<string> => [...reasons[type].True, ...reasons[type].False],
    ),
    ...eventOnlyReasons,
  ])

  it.each([...all])("%s: what it means, what the operator does meanwhile, what to do", (reason) => {
    for (const part of ["Means", "The operator", "You"]) {
      expect(sections.get(reason)).toMatch(new RegExp(`^\\* \\*\\*${part}:\\*\\* \\S`, "m"))
    }
  })

  it("each step at which an install can fail", () => {
    const sources = ["src/services/Pulumi", "src/actors/instance"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).flatMap((path) =>
        path.endsWith(".ts") && !path.startsWith("trace") ? [read(join(folder, path))] : [],
      ),
    )
    const steps = new Set(
      sources.flatMap((text) =>
        [...text.matchAll(/(?:\bbegin\(|\binstallFailed\(|\bstep: )"([a-z][a-z ]+)"/g)].map(
          ([, step = ""]) => step,
        ),
      ),
    )
    expect(steps.size).toBeGreaterThan(15)
    const section = sections.get("InstallFailed") ?? ""
    expect([...steps].filter((step) => !section.includes(`\`${step}\``))).toEqual([])
  })

  it("each step at which a target can fail", () => {
    const folder = "src/actors/instance/target"
    const steps = readdirSync(join(root, folder)).flatMap((path) =>
      [...read(join(folder, path)).matchAll(/\b(?:failing|targetError)\([`"]([a-z ]+[a-z])/g)].map(
        ([, step = ""]) => step,
      ),
    )
    expect(steps.length).toBeGreaterThan(8)
    const section = sections.get("TargetError") ?? ""
    expect(steps.filter((step) => !section.includes(`\`${step}`))).toEqual([])
  })

  it("and no reason that there is not", () => {
    expect([...sections.keys()].filter((reason) => !all.has(reason))).toEqual([])
  })

  it.each([...all])("the section of %s is where kubectl pi says", (reason) => {
    const url = reasonUrl(reason) ?? ""
    expect(
      linkProblem("docs/reference.md", url.slice(url.indexOf("/docs/") + "/docs/".length)),
    ).toBeUndefined()
  })

  it.each([...new Set(conditionTypes.flatMap((type) => [...reasons[type].True, ...reasons[type].False]))])(
    "the reason %s",
    (reason) => {
      expect(reference).toContain(`\`${reason}\``)
    },
  )

  it.each(Phase.literals)("the phase %s", (phase) => {
    expect(reference).toContain(`| \`${phase}\` |`)
  })

  it.each(
    Object.entries(Names).flatMap(([name, value]) =>
      /^(ANNOTATION|LABEL|FINALIZER)/.test(name) && typeof value === "string" ? [value] : [],
    ),
  )("the mark %s", (name) => {
    expect(reference).toContain(`\`${name}\``)
  })

  const policies = [
    Names.VCLUSTER_POLICY_NAME,
    Names.POD_POLICY_NAME,
    Names.SERVICE_POLICY_NAME,
    Names.INSTANCE_POLICY_NAME,
  ]
  it.each(policies)("the admission policy %s, and how it is removed", (name) => {
    expect(reference).toContain(`\`${name}\``)
    for (const page of ["docs/install.md", "docs/operate.md"])
      expect(read(page)).toMatch(
        new RegExp(`^\\$ kubectl delete validatingadmissionpolicy .*${name}\\b`, "m"),
      )
  })

  it("the metrics, all of which stand in the one table", () => {
    const page = read("docs/metrics.md")
    expect(metricRows.filter(([name]) => !page.includes(`| \`${name}\` |`))).toEqual([])
    const others = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter(
      (path) =>
        path.endsWith(".ts") &&
        path !== join("services", "Metrics", "Metrics.ts") &&
        /Metric\.(counter|gauge|histogram|summary|frequency|timer)\b/.test(read(join("src", path))),
    )
    expect(others).toEqual([])
  })
})

describe("a folder", () => {
  const areas = ["src", "src/services", "src/actors"].flatMap((area) =>
    readdirSync(join(root, area)).map((name) => join(area, name)),
  )
  // `kit` and `instance` are in the text of src/actors.
  const folders = [
    ...areas.filter((path) => statSync(join(root, path)).isDirectory() && !path.startsWith("src/actors/")),
    ...["charts", "crd", "examples", "test", "tools"],
  ].filter((path) => path !== "src/services")

  it.each(folders)("%s begins with a text about what belongs in it", (folder) => {
    expect(existsSync(join(root, folder, "README.md"))).toBe(true)
  })
})

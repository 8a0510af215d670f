// Commands that a page shows are run by a test, or say what they need and which test does the same; manifests and values
// are what the API server and helm take.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { parseAllDocuments } from "yaml"
import { decodeManifest } from "../../src/schema/Manifest.ts"
import { render } from "../charts/helm.ts"
import {
  type Block,
  blocksOf,
  commandsOf,
  filledIn,
  isCommands,
  markerOf,
  needs,
  pagesWithBlocks,
  told,
} from "./Blocks.ts"

const root = join(import.meta.dirname, "../..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")

const blocks = pagesWithBlocks.flatMap(blocksOf)
const named = (some: ReadonlyArray<Block>) => some.map((block) => [block.at, block] as const)

const targets = new Set([...read("Makefile").matchAll(/^([a-z0-9-]+):.*## /gm)].map(([, name]) => name))

/** Why somebody who types it gets neither a target of the Makefile nor tests. */
const strangenessOf = (line: string): string | undefined => {
  const tests = /^(?:[A-Z]+=\S+ )*npx vitest run (?:--[a-z-]+ )*--project unit (test\/\S+)/.exec(line)?.[1]
  if (tests !== undefined) return existsSync(join(root, tests)) ? undefined : `${line}: there is no ${tests}`
  return targets.has(/^make ([a-z0-9-]+)/.exec(line)?.[1] ?? "")
    ? undefined
    : `${line}: not a target of the Makefile`
}

/** Why a comment in front of a block says nothing that holds, or nothing. */
const problemOf = (block: Block): string | undefined => {
  if (block.comment === undefined) return undefined
  const marker = markerOf(block.comment)
  if (marker === undefined) return `${block.comment} is not of the form of test/docs/Blocks.ts`
  const { need, where, words = "" } = marker
  if (!needs.some((known) => known === need)) return `needs: ${need} is none of ${needs.join(", ")}`
  if (need === "machine") {
    return commandsOf(block).flatMap(({ line }) => strangenessOf(line) ?? [])[0]
  }
  if (where === undefined) return need === "internet" ? undefined : `needs: ${need} names no test`
  if (where === "unconfirmed") {
    return read("docs/unconfirmed.md").includes(`| ${words}`)
      ? undefined
      : `docs/unconfirmed.md has no ${words}`
  }
  if (!/^test\/.*\.test\.ts$/.test(where)) return `${where} is no file of tests`
  const titles = [...read(where).matchAll(/\b(?:it|test|describe)(?:\.\w+)*\(\s*["`]([^"`]+)/g)].map(
    ([, title = ""]) => title,
  )
  return titles.some((title) => title.startsWith(words)) ? undefined : `${where} has no test "${words}"`
}

describe("a block of commands", () => {
  it("is found", () => {
    expect(blocks.filter(isCommands).length).toBeGreaterThan(20)
    expect(
      pagesWithBlocks.flatMap((page) => read(page).match(/^ *```(console|sh|bash|shell)$/gm) ?? []),
    ).toHaveLength(blocks.filter(isCommands).length)
  })

  it.each(named(blocks.filter(({ comment }) => comment !== undefined)))(
    "%s says what it needs",
    (_, block) => {
      expect(problemOf(block)).toBeUndefined()
    },
  )

  it.each(named(blocks.filter(isCommands)))("%s says to its reader where it runs", (_, block) => {
    const needed = told[markerOf(block.comment ?? "")?.need ?? ""]
    if (needed === undefined) expect(Object.values(told)).not.toContain(block.before)
    else expect(block.before).toBe(needed)
  })

  // `blocks.real.test.ts` runs it.
  it.each(named(blocks.filter((block) => isCommands(block) && block.comment === undefined)))(
    "%s can be run as it stands",
    (_, block) => {
      const commands = commandsOf(block)
      expect(commands.length).toBeGreaterThan(0)
      for (const { line } of commands) {
        filledIn(line)
        expect(line).toMatch(/^(kubectl|helm template|find) /)
        // These need somebody who does it: a controller, a kubelet.
        expect(line).not.toMatch(/^kubectl pi| (logs|exec|port-forward|rollout|wait) /)
      }
    },
  )

  it("that claims what is not so is found out", () => {
    const block = (comment: string, text = "make nothing"): Block => ({
      at: "",
      page: "",
      language: "sh",
      text,
      comment,
      before: "",
    })
    expect(problemOf(block("needs: luck"))).toContain("none of")
    expect(problemOf(block("needs: cluster"))).toContain("names no test")
    expect(
      problemOf(block('needs: cluster; test/e2e/chart.test.ts "is upgraded in the middle of a dream"')),
    ).toContain("has no test")
    expect(problemOf(block("needs: machine"))).toContain("not a target")
    expect(problemOf(block("needs: machine", "SEED=1 npx vitest run --project unit test/dreams"))).toContain(
      "there is no test/dreams",
    )
    expect(problemOf(block('needs: cluster; unconfirmed "that pigs fly"'))).toContain("has no that pigs fly")
  })
})

const documentsOf = (text: string): ReadonlyArray<unknown> =>
  parseAllDocuments(text).map((document): unknown => {
    if (document.errors.length > 0) throw document.errors[0]
    return document.toJS()
  })
const kindOf = (document: unknown): unknown =>
  typeof document === "object" && document !== null && "kind" in document ? document.kind : undefined

describe("a manifest of a PlatformInstance", () => {
  const examples = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".yaml"))
  const shown = [
    ...examples.map((name) => [`examples/${name}`, read(`examples/${name}`)] as const),
    ...blocks
      .filter(({ language }) => language === "yaml")
      .map(({ at, text }) => [at, filledIn(text)] as const),
  ].flatMap(([at, text]) =>
    documentsOf(text).flatMap((document) =>
      kindOf(document) === "PlatformInstance" ? [[at, document] as const] : [],
    ),
  )

  it("is in every example", () => {
    expect(examples.length).toBeGreaterThan(0)
    expect(shown.filter(([at]) => at.startsWith("examples/")).length).toBeGreaterThanOrEqual(examples.length)
  })

  // The decoder judges as the API server does: test/schema/crd-table.
  it.each(shown)("%s is one that the API server takes", async (_, document) => {
    await Effect.runPromise(decodeManifest(document))
  })
})

describe("values of the chart", () => {
  const image = { digest: `sha256:${"0".repeat(64)}` }
  const values = blocks
    .filter(({ language, comment }) => language === "yaml" && comment === undefined)
    .flatMap(({ at, text }) =>
      documentsOf(filledIn(text)).flatMap((document) =>
        typeof document === "object" && document !== null && kindOf(document) === undefined
          ? [[at, document] as const]
          : [],
      ),
    )

  it("are found", () => {
    expect(values.length).toBeGreaterThan(2)
  })

  it.each(values)("%s are values that helm takes", (_, shown) => {
    const all = { passphrase: { existingSecret: "mine" }, ...shown }
    const given = "image" in shown && typeof shown.image === "object" ? { ...image, ...shown.image } : image
    expect(render("charts/platform-operator", { values: { ...all, image: given } }).length).toBeGreaterThan(5)
  })
})

// The fenced blocks of the pages, and what a comment in front of one says about it:
//
//   <!-- needs: cluster; test/e2e/chart.test.ts "is rolled back" -->
//
// A block of commands without such a comment is run as it stands by `blocks.real.test.ts`. What cannot be run there says what
// it needs: `internet`, a `cluster`, the `playground`, or the whole `machine` (a target of the Makefile, or a run of tests). With a cluster or
// the playground, the test that does the same is named by its file and the beginning of its title, or, where there is none,
// the beginning of the claim in docs/unconfirmed.md. The comment is nothing that a reader sees: what needs the internet or a
// cluster says so in the line before it, too, and everything else runs in the playground.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { pages } from "./Pages.ts"

const root = join(import.meta.dirname, "../..")

export const needs = ["internet", "cluster", "playground", "machine"] as const

export interface Marker {
  readonly need: string
  /** A file of tests, or `unconfirmed`. */
  readonly where: string | undefined
  readonly words: string | undefined
}

export interface Block {
  /** `docs/install.md:56`, for whoever has to mend it. */
  readonly at: string
  readonly page: string
  readonly language: string
  readonly text: string
  /** What stands in the comment in front of it, when that says `needs`. */
  readonly comment: string | undefined
  /** The line in front of all that. */
  readonly before: string
}

/** What the reader of a block is told of it, where it does not run in the playground. */
export const told: Readonly<Record<string, string>> = {
  cluster: "*Needs a real cluster:*",
  internet: "*Needs the internet:*",
}

/** What makes the namespace that the others have comes first, then what a reader begins with. */
const first = ["examples/README.md", "README.md", "CONTRIBUTING.md"]

/** The pages whose commands are held, in the order in which they are run: all but those of fixtures. */
export const pagesWithBlocks: ReadonlyArray<string> = [
  ...first,
  ...pages.filter((page) => !first.includes(page) && !page.startsWith("test/fixtures/")),
]

const fence = /^(?:<!-- (needs: [^\n]*?) -->\n\n?)?( *)```(\w*)\n([\s\S]*?)^\2```$/gm

export const blocksOf = (page: string): ReadonlyArray<Block> => {
  const text = readFileSync(join(root, page), "utf8")
  return [...text.matchAll(fence)].map((match) => {
    const [, comment, indent = "", language = "", inside = ""] = match
    const lines = text.slice(0, match.index).split("\n")
    return {
      at: `${page}:${lines.length}`,
      page,
      language,
      text: inside.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      comment,
      before: lines.at(-2) ?? "",
    }
  })
}

export const isCommands = ({ language }: Block): boolean =>
  ["console", "sh", "bash", "shell"].includes(language)

/** Nothing when the comment is not of the form above. */
export const markerOf = (comment: string): Marker | undefined => {
  const found = /^needs: (\w+)(?:; (\S+) "([^"]+)")?$/.exec(comment)
  if (found === null) return undefined
  const [, need = "", where, words] = found
  return { need, where, words }
}

export interface Command {
  readonly line: string
  /** The first line that the page shows of what it prints. */
  readonly printed: string | undefined
}

/** In a console a command begins with `$ `, and what follows without it was printed; elsewhere every line is one. */
export const commandsOf = ({ language, text }: Block): ReadonlyArray<Command> => {
  const prompted = language === "console" && /^\$ /m.test(text)
  const lines = text.replaceAll(/\\\n\s*/g, "").split("\n")
  const commands: Array<{ line: string; printed: string | undefined }> = []
  for (const line of lines) {
    if (line.trim() === "" || (!prompted && line.startsWith("#"))) continue
    const last = commands.at(-1)
    if (!prompted || line.startsWith("$ "))
      commands.push({ line: line.replace(/^\$ /, ""), printed: undefined })
    else if (last !== undefined) last.printed ??= line
  }
  return commands
}

const examples: Readonly<Record<string, string>> = {
  version: "6.0.21",
  "64 hex": "0".repeat(64),
  digest: "0".repeat(64),
  "cleanup namespace": "platform-operator",
  pod: "stuck",
  "the console's OAuth client secret": "hush",
}

/** What a page leaves for the reader to fill in, filled in. Throws at what nobody has an example of. */
export const filledIn = (text: string): string =>
  text.replaceAll(/<([a-z0-9][a-zA-Z0-9' ]*)>/g, (place, name: string) => {
    const example = examples[name]
    if (example === undefined) throw new Error(`there is no example of ${place}`)
    return example
  })

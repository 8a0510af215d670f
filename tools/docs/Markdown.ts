// Tables and generated parts of a page.

/** A text as a table's cell: one line, no bar that would end it, and no `<name>` that would be taken for HTML. */
const cell = (text: string): string =>
  text
    .replaceAll("|", "\\|")
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll(/(`[^`]*`)|</g, (less, span: string | undefined) => span ?? `\\${less}`)

export const code = (text: string): string => `\`${text}\``

export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n")

const generatedPart = /(<!-- generated: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g

/** The page with its generated parts as they are now. Throws when it names a part nobody makes. */
export const withGeneratedParts = (page: string, parts: ReadonlyMap<string, string>): string =>
  page.replaceAll(generatedPart, (_, begin: string, name: string, end: string) => {
    const part = parts.get(name)
    if (part === undefined) throw new Error(`no generated part is called ${name}`)
    return `${begin}\n${part}\n\n${end}`
  })

/** The names of the generated parts that a page has. */
export const generatedPartsOf = (page: string): ReadonlyArray<string> =>
  [...page.matchAll(generatedPart)].map(([, , name = ""]) => name)

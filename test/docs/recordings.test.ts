// The terminals that pages show: of what is typed in them, all stands in a page, and the picture is that of the recording.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { type Cast, commandsIn, formatCast, parseCast } from "../../tools/docs/Cast.ts"
import { pictures } from "../../tools/docs/pictures.ts"
import { recordingPath, recordings } from "../../tools/docs/Recordings.ts"
import { terminalSvg } from "../../tools/docs/TerminalSvg.ts"
import { blocksOf, commandsOf, filledIn, isCommands, pagesWithBlocks } from "./Blocks.ts"

const root = join(import.meta.dirname, "../..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** Without what a page says beside it. */
const bare = (command: string): string => command.replace(/\s+# .*$/, "")

const inPages = new Set(
  pagesWithBlocks
    .flatMap(blocksOf)
    .filter(isCommands)
    .flatMap((block) => commandsOf(block).flatMap(({ line }) => filled(bare(line)))),
)

/** With an example of what the reader fills in, where there is one. */
function filled(line: string): ReadonlyArray<string> {
  try {
    return [filledIn(line)]
  } catch {
    return [line]
  }
}

const textOf = ({ outputs }: Cast): string => outputs.map(({ text }) => text).join("")

describe.each(recordings.map((recording) => [recording.name, recording] as const))(
  "the recording %s",
  (name, recording) => {
    const cast = parseCast(read(recordingPath(name, "cast")))

    it("shows commands that the pages have", () => {
      expect(
        recording.steps.map(({ command }) => command).filter((command) => !inPages.has(command)),
      ).toEqual([])
    })

    it("is one of what it is to be of, and came to its end", () => {
      expect(cast.header.title).toBe(recording.title)
      expect(commandsIn(cast)).toEqual(recording.steps.map(({ command }) => command))
      for (const { until } of recording.steps) if (until !== undefined) expect(textOf(cast)).toMatch(until)
    })

    it("goes on in time, and has nothing of the machine it was made on", () => {
      const times = cast.outputs.map(({ time }) => time)
      expect(times).toEqual(times.toSorted((one, other) => one - other))
      const text = textOf(cast)
      expect(text).not.toMatch(/\/(root|home|tmp|work|Users|usr|var)\//)
      expect([...text.matchAll(/127\.0\.0\.1:(\d+)/g)].filter(([, port]) => port !== "16400")).toEqual([])
      expect(
        [...text.matchAll(/\d{4}-\d\d-\d\dT\d\d/g)].filter(([hour]) => hour !== "2026-01-01T12"),
      ).toEqual([])
    })

    it("is shown as it is (npm run generate), and by a page", () => {
      const picture = recordingPath(name, "svg")
      expect(read(picture)).toBe(new Map(pictures(root)).get(picture))
      const shown = ["README.md", "docs/operate.md"].filter((page) =>
        read(page).includes(`recordings/${name}.svg)`),
      )
      expect(shown).toHaveLength(1)
    })
  },
)

describe("a picture of a terminal", () => {
  const cast: Cast = {
    header: { version: 2, width: 10, height: 24, title: "A & B" },
    outputs: [
      { time: 1, text: "$ l" },
      { time: 1.5, text: "s <a>\r\n" },
      { time: 2, text: "0123456789abc\r\n\r\n" },
      ...Array.from({ length: 30 }, (_, row) => ({ time: 3 + row, text: `row ${row}\r\n` })),
    ],
  }
  const svg = terminalSvg(cast)

  it("breaks lines where the terminal does, and takes nothing in them for its own", () => {
    expect(svg).toContain('class="c">$ ls &lt;a&gt;</text>')
    expect(svg).toContain(">0123456789</text>")
    expect(svg).toContain(">abc</text>")
    expect(svg).toContain('aria-label="A &amp; B"')
  })

  it("ends, and is for whoever wants no motion, at the last lines", () => {
    // 34 lines in 22 rows of 19 pixels.
    expect(svg).toContain(`.s{transform:translateY(-${12 * 19}px)`)
    expect(svg).toContain("@media (prefers-reduced-motion:reduce){g{animation:none}}")
  })

  it("is of a recording that can be kept and read again", () => {
    expect(parseCast(formatCast(cast))).toEqual(cast)
    expect(() => parseCast(`${JSON.stringify(cast.header)}\n[1,"i","x"]\n`)).toThrow("no output")
  })
})

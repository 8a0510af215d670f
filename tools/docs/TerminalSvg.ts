// A recording as a picture that moves by itself where a page shows it: no script, no font, no address in it. Whoever has asked
// for less motion sees the end of it.
import { type Cast, PROMPT } from "./Cast.ts"

interface Line {
  readonly text: string
  /** Seconds since the beginning: when it is whole. */
  readonly time: number
}

const ROWS = 22
const LINE_HEIGHT = 19
const COLUMN = 8.43
const PADDING = 14
/** So long the end stays, in seconds. */
const REST = 6

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** As the terminal breaks them at its width. */
const linesOf = ({ header, outputs }: Cast): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  let open = ""
  const add = (text: string, time: number) => {
    for (let from = 0; from === 0 || from < text.length; from += header.width)
      lines.push({ text: text.slice(from, from + header.width), time })
  }
  for (const { text, time } of outputs) {
    const parts = (open + text).split("\r\n")
    open = parts.pop() ?? ""
    for (const part of parts) add(part, time)
  }
  if (open !== "") add(open, outputs.at(-1)?.time ?? 0)
  return lines
}

const styleOf = (text: string): string => {
  if (text.startsWith(PROMPT)) return "c"
  return text.startsWith("# ") ? "n" : ""
}

/** The text of an SVG file, the same for the same recording. */
export const terminalSvg = (cast: Cast): string => {
  const lines = linesOf(cast)
  const rows = Math.min(ROWS, lines.length)
  const width = Math.ceil(cast.header.width * COLUMN + 2 * PADDING)
  const height = rows * LINE_HEIGHT + 2 * PADDING
  const total = (lines.at(-1)?.time ?? 0) + REST
  const percent = (time: number) => `${((time / total) * 100).toFixed(2)}%`
  const times = [...new Set(lines.map(({ time }) => time))]
  const shift = (shown: number) => -Math.max(0, shown - rows) * LINE_HEIGHT
  const appear = times.map(
    (time, index) =>
      `@keyframes a${index}{0%,${percent(time)}{visibility:hidden}${percent(time + 0.01)},to{visibility:visible}}.a${index}{animation-name:a${index}}`,
  )
  const scroll = times.map((time) => {
    const shown = lines.filter((line) => line.time <= time).length
    return `${percent(time + 0.01)}{transform:translateY(${shift(shown)}px)}`
  })
  const drawn = times.map((time, index) => {
    const texts = lines.flatMap((line, row) => {
      if (line.time !== time || line.text === "") return []
      const style = styleOf(line.text)
      return [
        `<text y="${(row + 1) * LINE_HEIGHT - 5}"${style === "" ? "" : ` class="${style}"`}>${escaped(line.text)}</text>`,
      ]
    })
    return `<g class="a${index}">${texts.join("")}</g>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(cast.header.title)}">
<title>${escaped(cast.header.title)}</title>
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d0d7de;white-space:pre}
.c{fill:#fff;font-weight:600}.n{fill:#8b949e}
g{animation:0s step-end infinite;animation-duration:${total.toFixed(2)}s}
.s{transform:translateY(${shift(lines.length)}px);animation-name:s}
@keyframes s{0%{transform:translateY(0)}${scroll.join("")}}
${appear.join("\n")}
@media (prefers-reduced-motion:reduce){g{animation:none}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="#161b22"/>
<svg x="${PADDING}" y="${PADDING}" width="${width - 2 * PADDING}" height="${rows * LINE_HEIGHT}"><g class="s">
${drawn.join("\n")}
</g></svg>
</svg>
`
}
